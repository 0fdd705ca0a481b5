// What of the outbox waits or is parked, and how it is made to wait again: of the store alone.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "engine/bucketing/bucket_value.h"
#include "engine/bucketing/bucketer.h"
#include "engine/engine_impl.h"
#include "engine/open_rows.h"
#include "engine/replication_service.h"
#include "lib/base/concat.h"
#include "lib/cql/value_text.h"
#include "storage/outbox.h"
#include "storage/push_records.h"
#include "storage/seal_reader.h"

namespace cistern {

namespace {

// The tables that a request names: all of them, or one.
Result<std::optional<uint32_t>> NumberOf(EngineCore& core,
                                         const std::optional<std::string>& table) {
  if (!table) return std::optional<uint32_t>();
  CISTERN_ASSIGN_OR_RETURN(const TablePtr found, core.tables().Find(*table));
  return std::optional(found->id);
}

// In these seconds since 1970 begin exactly the buckets that hold an event time of the range.
std::pair<int64_t, int64_t> BeginsOf(const TableSchema& schema, TimeRange range) {
  const Bucketer bucketer(schema);
  const auto in_range = [&bucketer](int64_t ticks) {
    return std::clamp(ticks, bucketer.min_ticks(), bucketer.max_ticks());
  };
  return {bucketer.StartOf(in_range(range.from)), bucketer.StartOf(in_range(range.to - 1)) + 1};
}

ParkedSeal ToParkedSeal(const TableSchema& schema, uint64_t seal, const PushRecord& record) {
  ParkedSeal parked;
  parked.table = schema.QualifiedName();
  parked.entity = EntityToText(schema, record.bucket.entity);
  const CellValue value = BucketValue(schema, record.bucket.start_s);
  FormatValueText(schema.columns[schema.bucket_column].type, value.fixed, value.bytes,
                  &parked.bucket);
  parked.split = record.bucket.split;
  parked.seal = seal;
  parked.versions = record.version_count;
  parked.parked_us = record.parked_us;
  parked.attempts = record.attempts;
  parked.error_code = record.error_code;
  parked.words = record.words;
  return parked;
}

// What the window has in the outbox, and of bytes in all. What is confirmed is told by its sums,
// without a look at its seals.
Status CountWindow(EngineCore& core, const std::shared_ptr<const SpillView>& view,
                   const WindowFamily& window, const std::map<uint64_t, PushRecord>& pushes,
                   OutboxStatus* status) {
  const WindowRecord& record = window.record;
  uint64_t listed = 0;
  uint64_t listed_bytes = 0;  // of those that wait, by their manifests
  uint64_t parked_bytes = 0;
  OutboxWalker walker(view, window.id);
  while (WaitingCount(record) > 0) {
    CISTERN_ASSIGN_OR_RETURN(const std::optional<OutboxEntry> entry, walker.Next());
    if (!entry) break;
    ++listed;
    const auto push = pushes.find(entry->seal);
    const bool is_parked = push != pushes.end() && push->second.state == PushState::kParked;
    ++(is_parked ? status->seals_parked : status->seals_waiting);
    // Where none is confirmed the sums tell the rest.
    if (is_parked || record.confirmed_count > 0) {
      const auto manifest = ReadManifest(view->meta, window.id, entry->bucket, entry->seal);
      (is_parked ? parked_bytes : listed_bytes) +=
          manifest.ok() ? manifest->byte_count : 0;
    }
    const TablePtr table = core.tables().FindById(entry->bucket.table_id);
    if (!table) continue;
    const int64_t end_s = NextBucketStart(*table->schema, entry->bucket.start_s);
    status->oldest_end_s = std::min(status->oldest_end_s.value_or(end_s), end_s);
  }
  status->seals_unlisted += WaitingCount(record) - std::min(WaitingCount(record), listed);
  const uint64_t parked = std::min(parked_bytes, record.byte_count);
  const uint64_t waiting = record.confirmed_count == 0
                               ? record.byte_count - parked
                               : std::min(listed_bytes, record.byte_count - parked);
  status->bytes_parked += parked;
  status->bytes_waiting += waiting;
  status->bytes_confirmed += record.byte_count - parked - waiting;
  return Status::Ok();
}

}  // namespace

Result<std::vector<ParkedSeal>> ListParked(Engine* engine) {
  CISTERN_ASSIGN_OR_RETURN(const auto core, EngineImpl::Of(engine)->core());
  std::map<uint64_t, PushRecord> records = core->store().pushes();
  std::vector<std::pair<uint64_t, const PushRecord*>> parked;
  for (const auto& [seal, record] : records) {
    if (record.state == PushState::kParked) parked.emplace_back(seal, &record);
  }
  std::sort(parked.begin(), parked.end(), [](const auto& a, const auto& b) {
    const auto bucket = [](const auto& p) {
      const BucketKey& key = p.second->bucket;
      return std::tie(key.start_s, key.table_id, key.entity, key.split, p.first);
    };
    return bucket(a) < bucket(b);
  });
  std::vector<ParkedSeal> out;
  for (const auto& [seal, record] : parked) {
    const TablePtr table = core->tables().FindById(record->bucket.table_id);
    if (table) out.push_back(ToParkedSeal(*table->schema, seal, *record));
  }
  return out;
}

Result<uint64_t> RetryParked(Engine* engine, const std::optional<std::string>& table) {
  CISTERN_ASSIGN_OR_RETURN(const auto core, EngineImpl::Of(engine)->writable_core());
  CISTERN_ASSIGN_OR_RETURN(const auto number, NumberOf(*core, table));
  std::vector<uint64_t> seals;
  for (const auto& [seal, record] : core->store().pushes()) {
    const bool is_asked = !number || record.bucket.table_id == *number;
    if (record.state == PushState::kParked && is_asked) seals.push_back(seal);
  }
  CISTERN_RETURN_IF_ERROR(core->maintenance().ErasePushes(seals));
  return seals.size();
}

Result<uint64_t> Resend(Engine* engine, const std::string& table, TimeRange range,
                        SealResend* done) {
  CISTERN_ASSIGN_OR_RETURN(const auto core, EngineImpl::Of(engine)->writable_core());
  CISTERN_ASSIGN_OR_RETURN(const TablePtr found, core->tables().Find(table));
  if (range.from >= range.to) {
    return Status::InvalidArgument(Concat({"the range of event times to send once more is empty: "
        "from ", range.from, " to ", range.to}));
  }
  const auto [from_s, to_s] = BeginsOf(*found->schema, range);
  SealResend resend{found->id, from_s, to_s};
  Result<bool> more = true;
  while (more.ok() && *more) more = core->maintenance().Resend(&resend);
  if (done != nullptr) *done = resend;
  if (!more.ok()) return more.status();
  return resend.seal_count;
}

Result<OutboxStatus> GetOutboxStatus(Engine* engine) {
  EngineImpl* const impl = EngineImpl::Of(engine);
  CISTERN_ASSIGN_OR_RETURN(const auto core, impl->core());
  OutboxStatus status;
  JournalTimes times;
  status.open = FindOpenRows(core.get(), impl->options(), &times);
  const auto pushes = core->store().pushes();
  const auto view = core->store().spills().view();
  for (const auto& window : view->windows) {
    CISTERN_RETURN_IF_ERROR(CountWindow(*core, view, *window, pushes, &status));
  }
  status.seals_waiting += status.seals_unlisted;
  const Metrics metrics = core->GetMetrics();
  status.versions_waiting = metrics.versions_waiting;
  status.versions_parked = metrics.versions_parked;
  status.versions_confirmed = metrics.versions_confirmed;
  status.versions_confirmed_by_count = metrics.versions_confirmed_by_count;
  status.versions_confirmed_by_rows = metrics.versions_confirmed_by_rows;
  return status;
}

}  // namespace cistern
