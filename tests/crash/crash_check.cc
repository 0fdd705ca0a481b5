// What a life left behind, compared with what it was promised.
#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/crash/crash_tables.h"
#include "tests/crash/crash_workload.h"

namespace cistern::testing {

namespace {

// Rows of one writer as the store holds them, every value compared.
std::string ReadWriter(Engine* engine, const TableSchema& schema, size_t writer,
                       std::vector<uint64_t>* numbers) {
  for (uint64_t which = 0; which < kEntitiesOfWriter; ++which) {
    const std::string name = EntityName(writer, which);
    const std::string_view parts[] = {name};
    auto entity = EntityFromText(schema, parts);
    if (!entity.ok()) return "EntityFromText: " + entity.status().ToString();
    ScanRequest request;
    request.table = "crash.rows";
    request.entity = *entity;
    request.from = 0;
    request.to = kFirstTimeMs * 4;
    request.columns = {"ts", "number", "a", "b", "c"};
    auto cursor = engine->Scan(request);
    if (!cursor.ok()) return "Scan: " + cursor.status().ToString();
    ResultBatch batch;
    while ((*cursor)->Next(&batch)) {
      for (size_t i = 0; i < batch.row_count; ++i) {
        const auto n = static_cast<uint64_t>(batch.columns[1].fixed[i]);
        const RowValues v = ValuesOfRow(writer, n);
        if (n % kEntitiesOfWriter != which || batch.columns[0].fixed[i] != TimeOfRow(n) ||
            std::bit_cast<int64_t>(v.a) != batch.columns[2].fixed[i] ||
            v.b != batch.columns[3].fixed[i] || v.c != batch.columns[4].bytes(i)) {
          return "writer " + std::to_string(writer) + ": row " + std::to_string(n) +
                 " holds other values than were written";
        }
        numbers->push_back(n);
      }
    }
    if (!(*cursor)->status().ok()) return "scan: " + (*cursor)->status().ToString();
  }
  std::sort(numbers->begin(), numbers->end());
  return "";
}

// The table has one of its two declarations, and a row has of both what was written.
std::string CheckChanging(Engine* engine) {
  const auto schema = engine->FindTable("crash.changing");
  if (schema.status().code() == StatusCode::kNotFound) return "";
  if (!schema.ok()) return "FindTable: " + schema.status().ToString();
  const std::string_view parts[] = {"x"};
  ScanRequest request;
  request.table = "crash.changing";
  request.entity = *EntityFromText(**schema, parts);
  request.from = 0;
  request.to = kFirstTimeMs * 4;
  request.columns = {"ts", "a"};
  request.columns.emplace_back((*schema)->FindColumn("d") ? "c" : "b");
  auto cursor = engine->Scan(request);
  if (!cursor.ok()) return "Scan: " + cursor.status().ToString();
  ResultBatch batch;
  while ((*cursor)->Next(&batch)) {
    for (size_t i = 0; i < batch.row_count; ++i) {
      const int64_t n = batch.columns[0].fixed[i] - kFirstTimeMs;
      const bool has_text = batch.columns[2].state(i) == CellState::kValue;
      if (batch.columns[1].fixed[i] != n ||
          (has_text && batch.columns[2].bytes(i) != std::to_string(n))) {
        return "row " + std::to_string(n) + " of the table that changes holds other values";
      }
    }
  }
  return (*cursor)->status().ok() ? "" : "scan: " + (*cursor)->status().ToString();
}

// Whatever was merged: every row that was promised is there, once, and nothing else.
std::string CheckSpread(Engine* engine, const ExpectedState& state) {
  const auto schema = engine->FindTable("crash.spread");
  if (schema.status().code() == StatusCode::kNotFound) return "";
  if (!schema.ok()) return "FindTable: " + schema.status().ToString();
  const std::string_view parts[] = {"s"};
  ScanRequest request;
  request.table = "crash.spread";
  request.entity = *EntityFromText(**schema, parts);
  request.from = 0;
  request.to = kFirstTimeMs * 4;
  request.columns = {"ts", "number"};
  auto cursor = engine->Scan(request);
  if (!cursor.ok()) return "Scan: " + cursor.status().ToString();
  std::map<int64_t, uint64_t> expected;  // a later row of the same millisecond overwrites
  for (uint64_t n = 0; n < state.spread_acknowledged; ++n) expected[state.spread_times_ms[n]] = n;
  ResultBatch batch;
  while ((*cursor)->Next(&batch)) {
    for (size_t i = 0; i < batch.row_count; ++i) {
      const int64_t time_ms = batch.columns[0].fixed[i];
      const auto n = static_cast<uint64_t>(batch.columns[1].fixed[i]);
      if (n >= state.spread_attempted || state.spread_times_ms[n] != time_ms) {
        return "spread row " + std::to_string(n) + " was not written like that";
      }
      const auto at = expected.find(time_ms);
      if (at != expected.end() && n < at->second) {
        return "spread row " + std::to_string(at->second) + " was lost, an older one is there";
      }
      if (at != expected.end()) expected.erase(at);
    }
  }
  if (!(*cursor)->status().ok()) return "scan: " + (*cursor)->status().ToString();
  return expected.empty() ? ""
                          : "lost acknowledged rows: spread row " +
                                std::to_string(expected.begin()->second) + " and " +
                                std::to_string(expected.size() - 1) + " more";
}

std::string CheckCounters(Engine* engine, uint64_t rows, const ExpectedState& state) {
  const uint64_t repeated = state.repeated_rows;
  const Metrics metrics = engine->GetMetrics();
  const auto text = [](const char* name, uint64_t value) {
    return std::string(" ") + name + "=" + std::to_string(value);
  };
  if (metrics.versions_written < rows || metrics.versions_written > rows + repeated ||
      metrics.versions_written !=
          metrics.versions_open + metrics.versions_sealed + metrics.versions_superseded +
              metrics.versions_expired) {
    return "counters do not reconcile:" + text("rows", rows) + text("repeated", repeated) +
           text("written", metrics.versions_written) + text("open", metrics.versions_open) +
           text("sealed", metrics.versions_sealed) +
           text("superseded", metrics.versions_superseded) +
           text("expired", metrics.versions_expired);
  }
  if (metrics.versions_sealed !=
      metrics.versions_waiting + metrics.versions_parked + metrics.versions_confirmed) {
    return "what is sealed does not reconcile:" + text("sealed", metrics.versions_sealed) +
           text("waiting", metrics.versions_waiting) + text("parked", metrics.versions_parked) +
           text("confirmed", metrics.versions_confirmed);
  }
  if (metrics.versions_confirmed_by_count + metrics.versions_confirmed_by_rows >
      metrics.versions_confirmed) {
    return "what is confirmed does not reconcile:" +
           text("confirmed", metrics.versions_confirmed) +
           text("by count", metrics.versions_confirmed_by_count) +
           text("by rows", metrics.versions_confirmed_by_rows);
  }
  if (metrics.versions_sealed + metrics.versions_expired < state.settled_versions) {
    return "what was said to be sealed is not:" + text("said", state.settled_versions) +
           text("sealed", metrics.versions_sealed) + text("expired", metrics.versions_expired);
  }
  uint64_t listed = 0;
  const Status s = engine->ListBuckets([&](const BucketInfo& bucket) {
    listed += bucket.versions;
    return true;
  });
  if (!s.ok()) return "ListBuckets: " + s.ToString();
  if (listed != metrics.versions_open + metrics.versions_sealed) {
    return "the inventory does not reconcile:" + text("listed", listed) +
           text("open", metrics.versions_open);
  }
  return "";
}

// After whatever it was: all that is open can be sealed, and then there is no more to do.
std::string CheckDrains(Engine* engine, ExpectedState* state) {
  const auto sealed = engine->Seal({.due_only = false});
  if (!sealed.ok()) return "Seal after all: " + sealed.status().ToString();
  if (!sealed->problems.empty()) return "Seal after all: " + sealed->problems.front();
  if (std::string problem = ComeToRest(engine, state); !problem.empty()) return problem;
  const uint64_t open = engine->GetMetrics().versions_open;
  return open == 0 ? "" : std::to_string(open) + " row versions stay open though all was sealed";
}

std::string CheckOpenStore(Engine* engine, const SurvivalCheck& check, ExpectedState* state) {
  const RecoveryReport recovery = engine->Recovery();
  if (recovery.recovered_with_loss && check.promise == Promise::kAcknowledged) {
    return "the store says that it lost acknowledged records";
  }
  if (check.no_alarm && !recovery.clean) {
    std::string notes = "the opening raises an alarm:";
    for (const std::string& note : recovery.notes) notes += " " + note + ";";
    return notes;
  }
  SurvivingRows present(check.writer_count);
  const auto schema = engine->FindTable("crash.rows");
  if (schema.ok()) {
    for (size_t w = 0; w < check.writer_count; ++w) {
      const std::string problem = ReadWriter(engine, **schema, w, &present[w]);
      if (!problem.empty()) return problem;
    }
  } else if (schema.status().code() != StatusCode::kNotFound) {
    return "FindTable: " + schema.status().ToString();
  }
  std::string problem = CompareSurvivors(*state, present, check.promise, BatchEnd);
  uint64_t rows = 0;
  for (const auto& numbers : present) rows += numbers.size();
  if (problem.empty()) problem = CheckChanging(engine);
  if (problem.empty()) problem = CheckSpread(engine, *state);
  if (problem.empty()) problem = CheckCounters(engine, rows, *state);
  if (problem.empty() && check.verify) {
    const auto report = engine->Verify();
    if (!report.ok()) return "Verify: " + report.status().ToString();
    if (!report->problems.empty()) return "Verify: " + report->problems.front();
  }
  if (problem.empty() && check.drains) problem = CheckDrains(engine, state);
  if (!problem.empty()) return problem;
  for (size_t w = 0; w < present.size(); ++w) {
    ExpectedWriter& writer = state->writers[w];
    writer.attempted = writer.acknowledged = writer.durable = present[w].size();
  }
  return "";
}

}  // namespace

std::string CheckSurvivors(const OpenStore& open, const SurvivalCheck& check,
                           ExpectedState* state) {
  EngineOptions options = check.options;
  options.background_threads = false;
  options.clock = std::make_shared<ForwardClock>(state);
  auto opened = open(options);
  if (!opened.ok()) return "the store does not open: " + opened.status().ToString();
  const std::unique_ptr<Engine> engine = std::move(opened).value();
  const std::string problem = CheckOpenStore(engine.get(), check, state);
  const Status closed = engine->Close();
  if (!problem.empty()) return problem;
  return closed.ok() ? "" : "Close: " + closed.ToString();
}

}  // namespace cistern::testing
