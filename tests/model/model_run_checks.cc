// ModelRun: what the engine answers to questions, compared with the model.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "tests/model/model_run.h"

namespace cistern::testing {

VisibleRow RowOfBatch(const TableSchema& schema, const std::vector<size_t>& columns,
                      const ResultBatch& batch, size_t i) {
  VisibleRow row(schema.columns.size(), Cell::Null());
  for (size_t k = 0; k < columns.size(); ++k) {
    const ColumnData& data = batch.columns[k];
    if (data.state(i) != CellState::kValue) {
      row[columns[k]] = {data.state(i), 0, {}};
    } else if (data.lane == Lane::kFixed) {
      row[columns[k]] = Cell::Fixed(data.fixed[i]);
    } else {
      row[columns[k]] = Cell::Bytes(std::string(data.bytes(i)));
    }
  }
  return row;
}

namespace {

std::string CheckShape(const TableSchema& schema, const std::vector<size_t>& columns,
                       const ResultBatch& batch, size_t rows_max) {
  if (batch.row_count > rows_max) return "a batch has more rows than batch_rows_max";
  if (batch.columns.size() != columns.size()) return "a batch has another number of columns";
  for (size_t k = 0; k < columns.size(); ++k) {
    if (batch.columns[k].lane != schema.columns[columns[k]].type.lane() ||
        batch.columns[k].size() != batch.row_count) {
      return "column " + schema.columns[columns[k]].name + " of a batch has another lane or size";
    }
    if (columns[k] == schema.split_column.value_or(SIZE_MAX)) {
      for (size_t i = 0; i < batch.row_count; ++i) {
        const int64_t split = batch.columns[k].fixed[i];
        if (split < 0 || split >= int64_t{schema.split.count}) return "a split is out of range";
      }
    }
  }
  return "";
}

}  // namespace

std::string ModelRun::Scan(Rng* rng) {
  const Table& table = PickTable(rng);
  const TableSchema& schema = table.random->schema();
  ScanRequest request;
  request.table = table.name;
  request.entity.bytes = EntityBytes(schema, table.random->RandomEntity(rng));
  request.from = table.random->RandomTime(NowSeconds(), rng);
  request.to = table.random->RandomTime(NowSeconds(), rng);
  if (request.from == request.to) ++request.to;
  if (rng->OneIn(3)) request.limit = 1 + rng->Below(rng->OneIn(2) ? 5 : 200);
  if (rng->OneIn(10)) {
    // Everything there is, either way; unbounded needs a limit.
    if (request.limit == 0) request.limit = 1'000'000;
    request.from = INT64_MIN;
    request.to = INT64_MAX;
    if (rng->OneIn(2)) std::swap(request.from, request.to);
  }
  request.batch_rows_max = rng->OneIn(2) ? 1 + rng->Below(40) : limits::kScanBatchRowsDefault;
  request.buckets_ahead = 1 + rng->Below(limits::kScanBucketsAheadMax);
  const bool legs = rng->OneIn(3);
  if (!legs && rng->OneIn(2)) {
    std::vector<std::string> names;
    for (const ColumnSpec& column : schema.columns) names.push_back(column.name);
    for (size_t i = names.size(); i-- > 1;) std::swap(names[i], names[rng->Below(i + 1)]);
    names.resize(1 + rng->Below(names.size()));
    request.columns = names;
  }
  ClusteringKey after;
  uint64_t returned = 0;
  bool done = false;
  Rng leg_rng(legs ? rng->Next() : 0);
  while (!done) {
    std::string problem =
        ScanLeg(table, &request, &after, &returned, legs ? &leg_rng : nullptr, &done);
    if (!problem.empty()) {
      return "scan of " + table.name + " from " + std::to_string(request.from) + " to " +
             std::to_string(request.to) + " limit " + std::to_string(request.limit) + " batch " +
             std::to_string(request.batch_rows_max) + (request.token.empty() ? "" : " by token") +
             ": " + problem;
    }
    if (done) break;
    // Between two legs the world changes.
    if (config_.rotations && leg_rng.OneIn(12)) {
      if (const Status s = engine_->Rotate(); !s.ok()) return "Rotate: " + s.ToString();
    }
    if (config_.reopens && leg_rng.OneIn(30)) problem = Reopen();
    if (problem.empty() && config_.alters && leg_rng.OneIn(20)) problem = Alter(&leg_rng);
    if (problem.empty() && leg_rng.OneIn(4)) problem = Write(&leg_rng);
    if (!problem.empty()) return problem;
  }
  return "";
}

// All rows of the entity, by one cursor.
std::string ModelRun::ScanWhole(const Table& table, const std::string& entity) {
  ScanRequest request;
  request.table = table.name;
  request.entity.bytes = entity;
  request.limit = 1'000'000;
  ClusteringKey after;
  uint64_t returned = 0;
  bool done = false;
  const std::string problem = ScanLeg(table, &request, &after, &returned, nullptr, &done);
  return problem.empty() ? "" : "scan of the whole entity: " + problem;
}

std::string ModelRun::ScanLeg(const Table& table, ScanRequest* request, ClusteringKey* after,
                              uint64_t* returned, Rng* rng, bool* done) {
  const TableSchema& schema = table.random->schema();
  std::vector<VisibleRow> expected =
      table.model->Scan(request->entity.bytes, request->from, request->to, NowSeconds(),
                        after->empty() ? nullptr : after);
  const uint64_t left = request->limit == 0 ? UINT64_MAX : request->limit - *returned;
  if (expected.size() > left) expected.resize(left);

  auto cursor = engine_->Scan(*request);
  if (!cursor.ok()) return "Scan: " + cursor.status().ToString();
  std::vector<size_t> wanted;
  for (const std::string& name : request->columns) wanted.push_back(*schema.FindColumn(name));
  for (size_t c = 0; request->columns.empty() && c < schema.columns.size(); ++c) {
    wanted.push_back(c);
  }
  if ((*cursor)->columns() != wanted) return "the cursor's columns are not those asked for";
  std::vector<VisibleRow> actual;
  ResultBatch batch;
  bool more = true;
  while (more && !(rng != nullptr && rng->OneIn(3))) {
    // A rotation under an open cursor must not show.
    if (rng != nullptr && config_.rotations && rng->OneIn(40)) {
      if (const Status s = engine_->Rotate(); !s.ok()) return "Rotate: " + s.ToString();
    }
    more = (*cursor)->Next(&batch);
    if (!more) break;
    std::string problem = CheckShape(schema, wanted, batch, request->batch_rows_max);
    if (!problem.empty()) return problem;
    for (size_t i = 0; i < batch.row_count; ++i) {
      actual.push_back(RowOfBatch(schema, wanted, batch, i));
    }
  }
  if (!(*cursor)->status().ok()) return "cursor: " + (*cursor)->status().ToString();
  rows_compared_ += actual.size();
  if (more && actual.size() < expected.size()) expected.resize(actual.size());
  std::string diff = DiffRows(schema, wanted, expected, actual);
  if (!diff.empty()) return diff;
  *returned += actual.size();
  const std::string token = (*cursor)->Token();
  if (request->limit != 0 && *returned == request->limit) {
    *done = true;
    return token.empty() ? "the token is empty though the limit ended the scan" : "";
  }
  if (!more) {
    *done = true;
    return token.empty() ? "" : "the token is not empty though the range is exhausted";
  }
  if (actual.empty() && token != request->token) return "the token moved without rows";
  if (!actual.empty()) {
    *after = table.model->KeyOf(actual.back());
    // The range may be exhausted with the rows that came; then nothing may be left.
    if (token.empty()) {
      *done = true;
      const bool left_over = !table.model
                                  ->Scan(request->entity.bytes, request->from, request->to,
                                         NowSeconds(), after)
                                  .empty();
      return left_over ? "the token is empty although rows are left" : "";
    }
  }
  request->token = token;
  return "";
}

std::string ModelRun::CheckInventory() {
  const Metrics metrics = engine_->GetMetrics();
  if (metrics.versions_written != versions_written_ ||
      metrics.versions_written != metrics.versions_open + metrics.versions_sealed +
                                      metrics.versions_superseded +
                                      metrics.versions_expired ||
      metrics.versions_head > metrics.versions_open) {
    return "counters: wrote " + std::to_string(versions_written_) +
           ", the engine says written=" + std::to_string(metrics.versions_written) +
           " open=" + std::to_string(metrics.versions_open) +
           " superseded=" + std::to_string(metrics.versions_superseded) +
           " expired=" + std::to_string(metrics.versions_expired) +
           " head=" + std::to_string(metrics.versions_head);
  }
  uint64_t listed = 0;
  std::string problem;
  std::set<std::tuple<std::string, std::string, std::string, uint32_t>> seen;
  const Status s = engine_->ListBuckets([&](const BucketInfo& bucket) {
    listed += bucket.versions;
    if (!seen.emplace(bucket.table, bucket.entity, bucket.bucket, bucket.split).second) {
      problem = "a bucket is listed twice: " + bucket.entity + " " + bucket.bucket;
    }
    const bool is_sealed = bucket.state == "sealed";
    if (!is_sealed && bucket.state != "open") problem = "a bucket is " + bucket.state;
    if (is_sealed && (bucket.seals == 0 || bucket.seal_sequence == 0)) {
      problem = "a sealed bucket without a seal";
    }
    return problem.empty();
  });
  if (!s.ok()) return "ListBuckets: " + s.ToString();
  if (!problem.empty()) return problem;
  if (listed != metrics.versions_open + metrics.versions_sealed) {
    return "the buckets list " + std::to_string(listed) + " versions, the counters say " +
           std::to_string(metrics.versions_open + metrics.versions_sealed);
  }
  return "";
}

std::string ModelRun::CheckEntities(Rng* rng) {
  const Table& table = PickTable(rng);
  std::map<std::string, bool> expected = table.model->Entities(NowSeconds());
  std::string last;
  std::string problem;
  const Status s = engine_->ListEntities(table.name, [&](const EntityKey& entity) {
    if (!last.empty() && entity.bytes <= last) problem = "entities are not in order";
    last = entity.bytes;
    if (expected.erase(entity.bytes) == 0) problem = "an entity that was never written";
    return true;
  });
  if (!s.ok()) return "ListEntities: " + s.ToString();
  for (const auto& [bytes, visible] : expected) {
    if (visible) problem = "an entity with rows is not listed";
  }
  return problem;
}

std::string ModelRun::CheckVerify() {
  const auto report = engine_->Verify();
  if (!report.ok()) return "Verify: " + report.status().ToString();
  return report->problems.empty() ? "" : "Verify: " + report->problems.front();
}

std::string ModelRun::OpenBuckets() {
  std::string text;
  const Status listed = engine_->ListBuckets([&](const BucketInfo& bucket) {
    if (bucket.state == "open") {
      text += bucket.table + " " + bucket.entity + " " + bucket.bucket + " with " +
              std::to_string(bucket.versions) + ", ";
    }
    return true;
  });
  const auto clock = engine_->GetClock();
  return text + (listed.ok() ? "" : listed.ToString()) +
         (clock.ok() ? "the clock: " + clock->why : clock.status().ToString());
}

// Ticks until no more is due, within a bound of steps.
std::string ModelRun::TickToRest() {
  constexpr size_t kTicksMax = 5'000;
  for (size_t tick = 0; tick < kTicksMax; ++tick) {
    const auto report = engine_->Tick();
    if (!report.ok()) return "Tick at the end: " + report.status().ToString();
    if (!report->more_due) return "";
  }
  return "the engine has not come to rest after all its steps";
}

// The head grows old and rotates; then grace and idle time pass for every bucket, the widest too.
// What is spilled counts as idle since it was first seen there.
std::string ModelRun::CheckDrains() {
  constexpr int64_t kWidestBucketS = 366 * 86'400;
  constexpr int64_t kLookS = 61;  // what may be due is looked for once a minute
  const EngineOptions& o = config_.options;
  for (const int64_t pass_s : {int64_t{0}, o.head_age_us_max / 1'000'000, kLookS,
                               o.seal_grace_s + o.seal_idle_s + kWidestBucketS, kLookS, kLookS}) {
    clock_->AdvanceSeconds(pass_s);
    if (std::string problem = TickToRest(); !problem.empty()) return problem;
  }
  if (const Status s = engine_->Health(); !s.ok()) return "Health at the end: " + s.ToString();
  if (!o.seal_when_due) {
    const auto sealed = engine_->Seal({.due_only = false});
    if (!sealed.ok()) return "Seal at the end: " + sealed.status().ToString();
    if (!sealed->problems.empty()) return "Seal at the end: " + sealed->problems.front();
  }
  const uint64_t open = engine_->GetMetrics().versions_open;
  if (open != 0) {
    return std::to_string(open) +
           " row versions are not sealed though all are due: " + OpenBuckets();
  }
  for (const Table& table : tables_) {
    for (const auto& [entity, visible] : table.model->Entities(NowSeconds())) {
      std::string problem = ScanWhole(table, entity);
      if (!problem.empty()) return "at the end: " + problem;
    }
  }
  return CheckInventory();
}

}  // namespace cistern::testing
