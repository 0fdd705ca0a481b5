// Clocks that lie: boots in 1970, steps back, years ahead. Whatever the clock says,
// rows stay as they were written and the later write wins. CISTERN_CLOCK_HISTORIES says
// how many histories; CISTERN_SEED replays.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cistern/cistern.h"
#include "tests/support/cell.h"
#include "tests/support/fake_clock.h"
#include "tests/support/model.h"
#include "tests/support/rng.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kTrue_us = 1'748'736'000 * kSecond;  // 2025-06-01
constexpr int64_t kFloor_s = kTrue_us / kSecond - 30 * 86400;
constexpr int64_t kEvents_ms = kTrue_us / 1000 - 86'400'000;
constexpr const char* kTable =
    "CREATE TABLE k.rows (s text, day date, ts timestamp, a bigint, b text,"
    " PRIMARY KEY ((s, day), ts))";

// One machine through many boots. Real time passes underneath whatever its clock shows.
class ClockHistory {
 public:
  ClockHistory(uint64_t seed, std::string directory)
      : rng_(Mix(seed)), directory_(std::move(directory)) {}

  std::string Run() {
    if (std::string problem = Open(); !problem.empty()) return problem;
    for (int op = 0; op < 120; ++op) {
      Pass(rng_.Between(1, 20) * 1000);
      std::string problem = Step();
      if (!problem.empty()) return "operation " + std::to_string(op) + ": " + problem;
    }
    // At last the clock is right, and stays so over a restart.
    clock_->SetWallMicros(true_us_);
    if (std::string problem = Drain(); !problem.empty()) return problem;
    if (std::string problem = Compare(); !problem.empty()) return "with the right time: " + problem;
    if (std::string problem = Reopen(); !problem.empty()) return problem;
    if (std::string problem = Compare(); !problem.empty()) return "after all: " + problem;
    return CheckCounters();
  }

 private:
  void Pass(int64_t us) {
    true_us_ += us;
    clock_->AdvanceMicros(us);
  }

  std::string Open() {
    EngineOptions options;
    options.clock = clock_;
    options.clock_floor_s = kFloor_s;
    options.background_threads = false;
    options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
    auto opened = Engine::Open(directory_, options);
    if (!opened.ok()) return "Open: " + opened.status().ToString();
    engine_ = std::move(opened).value();
    if (const Status s = engine_->CreateTable(kTable); !s.ok()) return s.ToString();
    if (model_ == nullptr) model_ = std::make_unique<ModelTable>(*engine_->FindTable("k.rows"));
    return "";
  }
  std::string Reopen() {
    if (const Status s = engine_->Close(); !s.ok()) return "Close: " + s.ToString();
    engine_.reset();
    return Open();
  }

  int64_t LyingTime() {
    switch (rng_.Below(5)) {
      case 0: return rng_.Between(0, 86400) * kSecond;          // 1970
      case 1: return kFloor_s * kSecond - rng_.Between(1, 999) * kSecond;
      case 2: return true_us_ + 60ll * 365 * 86400 * kSecond;   // far ahead
      case 3: return true_us_ - rng_.Between(1, 3600) * kSecond;  // a step back, believable
      default: return true_us_ + rng_.Between(1, 3600) * kSecond;
    }
  }

  std::string Step() {
    const uint64_t dice = rng_.Below(100);
    if (dice < 55) return Write();
    if (dice < 62) {
      clock_->SetWallMicros(rng_.OneIn(2) ? true_us_ : LyingTime());
      return "";
    }
    if (dice < 68) {
      // A new boot, often without knowing the time.
      if (const Status s = engine_->Close(); !s.ok()) return "Close: " + s.ToString();
      engine_.reset();
      clock_->Reboot("boot-" + std::to_string(rng_.Next()), rng_.OneIn(3) ? true_us_ : LyingTime());
      return Open();
    }
    if (dice < 71) return Reopen();  // the same boot
    if (dice < 76) {
      const Status s = engine_->Rotate();
      return s.ok() ? "" : "Rotate: " + s.ToString();
    }
    if (dice < 84) return Drain();
    if (dice < 88) return DeleteRange();
    return Compare();
  }

  std::string Drain() {
    for (int i = 0; i < 50; ++i) {
      const auto report = engine_->Tick();
      if (!report.ok()) return "Tick: " + report.status().ToString();
      if (!report->more_due) return "";
    }
    return "Tick never has enough";
  }

  std::string Write() {
    RowBatch batch(model_->shared_schema());
    std::vector<WriteRow> rows;
    const size_t count = 1 + rng_.Below(5);
    for (size_t i = 0; i < count; ++i) {
      WriteRow row;
      row.kind = rng_.OneIn(4) ? RowKind::kUpdate : RowKind::kInsert;
      if (rng_.OneIn(10)) row.kind = RowKind::kDeleteRow;
      row.cells = {Cell::Bytes(rng_.OneIn(2) ? "x" : "y"), Cell::Absent(),
                   Cell::Fixed(kEvents_ms + rng_.Between(0, 30) * 3'600'000), Cell::Absent(),
                   Cell::Absent()};
      if (row.kind != RowKind::kDeleteRow) {
        if (!rng_.OneIn(3)) row.cells[3] = Cell::Fixed(++value_);
        if (!rng_.OneIn(3)) row.cells[4] = Cell::Bytes(std::to_string(++value_));
        if (row.cells[3].state == CellState::kAbsent) row.cells[3] = Cell::Fixed(++value_);
      }
      if (const Status s = AddRow(row, &batch); !s.ok()) return s.ToString();
      rows.push_back(std::move(row));
    }
    const auto durability = rng_.OneIn(2) ? Durability::kLog : Durability::kSynced;
    const auto answer = engine_->Append(batch, {durability, BackPressure::kWait});
    if (!answer.ok()) {
      // Ahead of what a trusted, late clock allows: refused, and nothing was stored.
      if (answer.status().code() == StatusCode::kOutOfRange &&
          clock_->WallMicros() / 1000 < kEvents_ms + 30 * 3'600'000) {
        return "";
      }
      return "Append: " + answer.status().ToString();
    }
    for (const WriteRow& row : rows) model_->Write(row, 0);
    return "";
  }

  std::string DeleteRange() {
    const std::string entity = Entity(rng_.OneIn(2) ? "x" : "y");
    const int64_t from = kEvents_ms + rng_.Between(0, 30) * 3'600'000;
    const int64_t to = from + rng_.Between(1, 6) * 3'600'000;
    const auto answer = engine_->DeleteRange("k.rows", EntityKey{entity}, {from, to},
                                             {Durability::kLog, BackPressure::kWait});
    if (!answer.ok()) return "DeleteRange: " + answer.status().ToString();
    model_->DeleteRange(entity, from, to);
    return "";
  }

  static std::string Entity(const char* name) { return std::string("\0\1", 2) + name; }

  std::string Compare() {
    const TableSchema& schema = model_->schema();
    for (const char* name : {"x", "y"}) {
      ScanRequest request;
      request.table = "k.rows";
      request.entity.bytes = Entity(name);
      request.from = kEvents_ms;
      request.to = kEvents_ms * 2;
      auto cursor = engine_->Scan(request);
      if (!cursor.ok()) return "Scan: " + cursor.status().ToString();
      std::vector<VisibleRow> actual;
      ResultBatch batch;
      while ((*cursor)->Next(&batch)) {
        for (size_t i = 0; i < batch.row_count; ++i) {
          VisibleRow row(schema.columns.size(), Cell::Null());
          for (size_t c = 0; c < row.size(); ++c) {
            const ColumnData& data = batch.columns[c];
            if (data.state(i) != CellState::kValue) continue;
            row[c] = data.lane == Lane::kFixed ? Cell::Fixed(data.fixed[i])
                                               : Cell::Bytes(std::string(data.bytes(i)));
          }
          actual.push_back(std::move(row));
        }
      }
      if (!(*cursor)->status().ok()) return (*cursor)->status().ToString();
      const std::string diff =
          DiffRows(schema, {0, 1, 2, 3, 4},
                   model_->Scan(request.entity.bytes, request.from, request.to, 0), actual);
      if (!diff.empty()) {
        return diff + "  with the wall clock at " +
               std::to_string(clock_->WallMicros() / kSecond) + " s, truly " +
               std::to_string(true_us_ / kSecond) + " s";
      }
    }
    return "";
  }

  std::string CheckCounters() {
    const Metrics m = engine_->GetMetrics();
    if (m.versions_written < model_->versions() ||
        m.versions_written != m.versions_open + m.versions_sealed + m.versions_superseded +
                                  m.versions_expired) {
      return "the counters do not reconcile";
    }
    if (!m.clock_trusted) return "the right time is not trusted";
    return "";
  }

  Rng rng_;
  const std::string directory_;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(kTrue_us);
  int64_t true_us_ = kTrue_us;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ModelTable> model_;
  int64_t value_ = 0;
};

TEST(ClockModel, WritesKeepTheirOrderWhateverTheClockSays) {
  const uint64_t histories = EnvNumber("CISTERN_CLOCK_HISTORIES", 150);
  const uint64_t seed = SeedFromEnv();
  std::printf("CISTERN_SEED=%llu, %llu histories\n", static_cast<unsigned long long>(seed),
              static_cast<unsigned long long>(histories));
  std::fflush(stdout);
  const TempDir root("cistern-clock");
  for (uint64_t i = 0; i < histories; ++i) {
    const std::string directory = root.path() + "/store";
    std::filesystem::remove_all(directory);
    ClockHistory history(seed + i, directory);
    ASSERT_EQ(history.Run(), "") << "CISTERN_SEED=" << seed + i;
  }
}

}  // namespace
}  // namespace cistern::testing
