#include "engine/query/inventory.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "cistern/entity.h"
#include "engine/bucketing/bucket_value.h"
#include "engine/bucketing/bucketer.h"
#include "lib/cql/value_text.h"
#include "storage/spill_reader.h"

namespace cistern {

namespace {

void Widen(BucketSummary* summary, int64_t first, int64_t last) {
  summary->first_time = summary->has_rows ? std::min(summary->first_time, first) : first;
  summary->last_time = summary->has_rows ? std::max(summary->last_time, last) : last;
  summary->has_rows = true;
}

// The buckets of both head generations, by encoded key.
std::map<std::string, BucketSummary> HeadBuckets(const HeadSet& heads) {
  std::map<std::string, BucketSummary> out;
  for (const Head* head : {heads.active.get(), heads.frozen.get()}) {
    if (head == nullptr) continue;
    for (const HeadBucket* b : head->SortedBuckets()) {
      BucketKey key{b->table_id(), std::string(b->entity()), b->start_s(), b->split()};
      BucketSummary& summary = out[EncodeBucketKey(key)];
      summary.key = std::move(key);
      summary.versions += b->row_count() + head->deletes(*b).size();
      if (b->row_count() > 0) Widen(&summary, b->first_time(), b->last_time());
    }
  }
  return out;
}

}  // namespace

Status VisitBuckets(const QueryContext& context,
                    const std::function<bool(const BucketSummary&)>& visit) {
  std::map<std::string, BucketSummary> in_head;
  std::shared_ptr<const SpillView> view;
  {
    const std::shared_lock lock(context.heads->mutex);
    in_head = HeadBuckets(*context.heads);
    view = context.store->spills().view();
  }
  bool go_on = true;
  std::string current_key;
  BucketSummary current;
  // Gives out the bucket gathered so far, after the head's buckets that come before it.
  const auto give_out = [&](bool at_end) {
    while (go_on && !in_head.empty() && (at_end || in_head.begin()->first <= current_key)) {
      auto node = in_head.extract(in_head.begin());
      if (!at_end && node.key() == current_key) {
        current.versions += node.mapped().versions;
        if (node.mapped().has_rows) {
          Widen(&current, node.mapped().first_time, node.mapped().last_time);
        }
        break;
      }
      go_on = visit(node.mapped());
    }
    if (go_on && !at_end) go_on = visit(current);
  };
  CISTERN_RETURN_IF_ERROR(
      VisitSegments(view, "", [&](const BucketKey& key, SegmentRef segment) -> Result<bool> {
        std::string encoded = EncodeBucketKey(key);
        if (encoded != current_key) {
          if (!current_key.empty()) give_out(false);
          current = BucketSummary{};
          current.key = key;
          current_key = std::move(encoded);
        }
        const SegmentHeader& h = segment.header;
        current.versions += h.row_count + h.deletes.size();
        current.bytes += h.byte_count();
        ++current.segments;
        if (h.row_count > 0) Widen(&current, h.first_time, h.last_time);
        return go_on;
      }));
  if (!current_key.empty() && go_on) give_out(false);
  if (go_on) give_out(true);
  return Status::Ok();
}

BucketInfo ToBucketInfo(const TableSchema& schema, const BucketSummary& summary) {
  BucketInfo info;
  info.table = schema.name;
  info.entity = EntityToText(schema, summary.key.entity);
  const CellValue value = BucketValue(schema, summary.key.start_s);
  FormatValueText(schema.columns[schema.bucket_column].type, value.fixed, value.bytes,
                  &info.bucket);
  info.split = summary.key.split;
  info.state = "open";
  info.versions = summary.versions;
  info.segments = summary.segments;
  info.bytes = summary.bytes;
  info.first_time = summary.first_time;
  info.last_time = summary.last_time;
  info.bucket_start = TicksFromSeconds(schema.time_unit, summary.key.start_s);
  return info;
}

}  // namespace cistern
