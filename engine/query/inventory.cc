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
#include "storage/seal_reader.h"
#include "storage/segment_walker.h"

namespace cistern {

namespace {

void Widen(BucketSummary* summary, int64_t first, int64_t last) {
  summary->first_time = summary->has_rows ? std::min(summary->first_time, first) : first;
  summary->last_time = summary->has_rows ? std::max(summary->last_time, last) : last;
  summary->has_rows = true;
}

// What the keys of the scope's buckets begin with.
std::string PrefixOf(const BucketScope& scope) {
  if (!scope.table_id) return "";
  return scope.entity ? EntityPrefix(*scope.table_id, *scope.entity) : TablePrefix(*scope.table_id);
}

// The buckets of both head generations whose keys begin with the prefix and are not before `from`,
// by encoded key.
std::map<std::string, BucketSummary> HeadBuckets(const HeadSet& heads, const std::string& prefix,
                                                 const std::string& from) {
  std::map<std::string, BucketSummary> out;
  for (const Head* head : {heads.active.get(), heads.frozen.get()}) {
    if (head == nullptr) continue;
    for (const HeadBucket* b : head->SortedBuckets()) {
      BucketKey key{b->table_id(), std::string(b->entity()), b->start_s(), b->split()};
      std::string encoded = EncodeBucketKey(key);
      if (!encoded.starts_with(prefix) || encoded < from) continue;
      BucketSummary& summary = out[std::move(encoded)];
      summary.key = std::move(key);
      summary.versions += b->row_count() + head->deletes(*b).size();
      if (b->row_count() > 0) Widen(&summary, b->first_time(), b->last_time());
    }
  }
  return out;
}

}  // namespace

namespace {

// The buckets of head, spill families and windows as one run in key order.
class BucketRun {
 public:
  BucketRun(std::map<std::string, BucketSummary> in_head,
            const std::shared_ptr<const SpillView>& view, std::string prefix,
            std::string_view from, const Damage* damage)
      : in_head_(std::move(in_head)),
        prefix_(std::move(prefix)),
        spilled_(view, from),
        sealed_(view, from),
        damage_(damage) {}

  [[nodiscard]] Status Begin() {
    CISTERN_RETURN_IF_ERROR(NextSpilled());
    return NextSealed();
  }

  // The next bucket; false at the end.
  [[nodiscard]] Result<bool> Next(BucketSummary* out) {
    const std::string* least = nullptr;
    const auto consider = [&least](const std::string& key) {
      if (least == nullptr || key < *least) least = &key;
    };
    if (!in_head_.empty()) consider(in_head_.begin()->first);
    if (spill_) consider(spill_key_);
    if (seal_) consider(seal_key_);
    if (least == nullptr || !least->starts_with(prefix_)) return false;
    const std::string key = *least;
    *out = BucketSummary{};
    if (!in_head_.empty() && in_head_.begin()->first == key) {
      *out = in_head_.extract(in_head_.begin()).mapped();
      out->is_open = true;
    }
    while (spill_ && spill_key_ == key) {
      AddSegment(spill_->bucket, spill_->segment.header, out);
      NoteDamage(spill_->segment.family->id, spill_->segment.id, out);
      CISTERN_RETURN_IF_ERROR(NextSpilled());
    }
    while (seal_ && seal_key_ == key) {
      AddSeal(*seal_, out);
      NoteDamage(seal_->window->id, seal_->seal, out);
      CISTERN_RETURN_IF_ERROR(NextSealed());
    }
    return true;
  }

 private:
  static void AddSegment(const BucketKey& key, const SegmentHeader& header, BucketSummary* out) {
    out->key = key;
    out->is_open = true;
    out->versions += header.row_count + header.deletes.size();
    out->bytes += header.byte_count();
    ++out->segments;
    if (header.row_count > 0) Widen(out, header.first_time, header.last_time);
  }
  static void AddSeal(const ManifestWalker::Item& item, BucketSummary* out) {
    const Manifest& m = item.manifest;
    out->key = item.bucket;
    out->versions += m.version_count();
    out->bytes += m.byte_count;
    ++out->segments;
    ++out->seals;
    out->seal_sequence = std::max(out->seal_sequence, item.seal);
    if (m.row_count > 0) Widen(out, m.first_time, m.last_time);
  }
  void NoteDamage(uint64_t family_id, uint64_t segment, BucketSummary* out) const {
    out->is_damaged = out->is_damaged || damage_->Touches(family_id, segment);
  }
  [[nodiscard]] Status NextSpilled() {
    CISTERN_ASSIGN_OR_RETURN(spill_, spilled_.Next());
    if (spill_) spill_key_ = EncodeBucketKey(spill_->bucket);
    return Status::Ok();
  }
  [[nodiscard]] Status NextSealed() {
    CISTERN_ASSIGN_OR_RETURN(seal_, sealed_.Next());
    if (seal_) seal_key_ = EncodeBucketKey(seal_->bucket);
    return Status::Ok();
  }

  std::map<std::string, BucketSummary> in_head_;
  const std::string prefix_;  // of the keys
  SegmentWalker spilled_;
  ManifestWalker sealed_;
  const Damage* const damage_;
  std::optional<SegmentWalker::Item> spill_;
  std::optional<ManifestWalker::Item> seal_;
  std::string spill_key_;
  std::string seal_key_;
};

}  // namespace

Status VisitBuckets(const QueryContext& context, const BucketScope& scope,
                    const std::function<bool(const BucketSummary&)>& visit) {
  const std::string prefix = PrefixOf(scope);
  const std::string from = std::max(prefix, scope.from);
  std::map<std::string, BucketSummary> in_head;
  std::shared_ptr<const SpillView> view;
  {
    const std::shared_lock lock(context.heads->mutex);
    in_head = HeadBuckets(*context.heads, prefix, from);
    view = context.store->spills().view();
  }
  BucketRun run(std::move(in_head), view, prefix, from, &context.store->damage());
  CISTERN_RETURN_IF_ERROR(run.Begin());
  BucketSummary summary;
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(const bool more, run.Next(&summary));
    if (!more || !visit(summary)) return Status::Ok();
  }
}

BucketInfo ToBucketInfo(const TableSchema& schema, const BucketSummary& summary) {
  BucketInfo info;
  info.table = schema.QualifiedName();
  info.entity = EntityToText(schema, summary.key.entity);
  const CellValue value = BucketValue(schema, summary.key.start_s);
  FormatValueText(schema.columns[schema.bucket_column].type, value.fixed, value.bytes,
                  &info.bucket);
  info.split = summary.key.split;
  info.state = summary.is_damaged ? "quarantined" : summary.is_open ? "open" : "sealed";
  info.seals = summary.seals;
  info.seal_sequence = summary.seal_sequence;
  info.versions = summary.versions;
  info.segments = summary.segments;
  info.bytes = summary.bytes;
  if (summary.has_rows) {
    info.first_time = summary.first_time;
    info.last_time = summary.last_time;
  }
  info.bucket_start = TicksFromSeconds(schema.time_unit, summary.key.start_s);
  info.bucket_end =
      TicksFromSeconds(schema.time_unit, NextBucketStart(schema, summary.key.start_s));
  return info;
}

}  // namespace cistern
