// Clocks that lie: boots in 1970, steps back, days, months and years ahead, for moments or for
// days. Whatever the clock says,
//
//   rows stay as they were written, and the later write wins,
//   no row that upstream has not confirmed goes before its true time,
//   and once the clock is right it is trusted within clock_dwell_s, and what is due is sealed.
//
// In half of the histories something outside of the machine, or a person, confirms true times now
// and then. A row that a clock behind has stamped may lose there as much of its life as that was
// behind. CISTERN_CLOCK_HISTORIES says how many histories; CISTERN_SEED replays.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cistern/cistern.h"
#include "tests/support/cell.h"
#include "tests/support/fake_clock.h"
#include "tests/support/model.h"
#include "tests/support/random_options.h"
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

// Rows that live for a day, each written once.
constexpr const char* kBriefTable =
    "CREATE TABLE k.brief (s text, day date, ts timestamp, a bigint,"
    " PRIMARY KEY ((s, day), ts)) WITH default_time_to_live = 86400";
constexpr int64_t kBriefLifeUs = 86'400 * kSecond;
constexpr int64_t kHourUs = 3'600 * kSecond;
constexpr int64_t kDayUs = 24 * kHourUs;
constexpr int64_t kKeepUnconfirmedS = 365 * 86'400;  // no history lasts as long

// One machine through many boots. Real time passes underneath whatever its clock shows.
class ClockHistory {
 public:
  ClockHistory(uint64_t seed, std::string directory)
      : rng_(Mix(seed)),
        directory_(std::move(directory)),
        is_vouched_(rng_.OneIn(2)),
        refuses_future_(rng_.OneIn(2)),
        options_(DrawOptions(&rng_)) {}

  std::string Run() {
    if (std::string problem = Open(); !problem.empty()) return problem;
    for (int op = 0; op < 120; ++op) {
      Pass(rng_.Between(1, 20) * 1000);
      std::string problem = Step();
      if (!problem.empty()) return "operation " + std::to_string(op) + ": " + problem;
    }
    // At last the clock is right, and stays so over a restart.
    SetWall(true_us_);
    if (std::string problem = ComeBack(); !problem.empty()) return problem;
    if (std::string problem = Compare(); !problem.empty()) return "with the right time: " + problem;
    if (std::string problem = Reopen(); !problem.empty()) return problem;
    if (std::string problem = Compare(); !problem.empty()) return "after all: " + problem;
    return CheckCounters();
  }

 private:
  static EngineOptions DrawOptions(Rng* rng) {
    EngineOptions options = RandomOptions(rng);
    options.clock_floor_s = kFloor_s;
    options.clock_dwell_s = rng->Between(3'600, 86'400);
    options.clock_boot_ahead_s = RandomSeconds(60 * 86'400, rng);
    options.background_threads = false;
    options.head_age_us_max = limits::kHeadAgeUsMax;
    options.keep_unconfirmed_s = kKeepUnconfirmedS;
    options.seal_when_due = true;
    // A history waits so long in its end for all buckets.
    options.seal_grace_s = RandomSeconds(4 * 3'600, rng);
    options.seal_idle_s = RandomSeconds(4 * 3'600, rng);
    return options;
  }

  void Pass(int64_t us) {
    true_us_ += us;
    clock_->AdvanceMicros(us);
  }
  // What is outside of the machine knows the time: it does not vouch for another one.
  void SetWall(int64_t us) {
    clock_->SetWallMicros(us);
    const bool is_true = us == true_us_;
    clock_->SetSync(is_vouched_ && is_true && rng_.OneIn(2) ? ClockSync::kYes : ClockSync::kNo);
  }

  // The clock is right from now on.
  std::string ComeBack() {
    const int64_t dwell_us = options_.clock_dwell_s * kSecond;
    for (int64_t us = 0; us <= dwell_us + kHourUs; us += kHourUs / 2) {
      if (std::string problem = Drain(); !problem.empty()) return problem;
      if (engine_->GetMetrics().clock_trusted) break;
      if (us >= dwell_us) return "the right time is not trusted within clock_dwell_s";
      Pass(kHourUs / 2);
    }
    // Then every bucket ends, and every row rests.
    for (int64_t us = 0; us < 36 * kHourUs; us += kHourUs / 2) {
      Pass(kHourUs / 2);
      if (std::string problem = Drain(); !problem.empty()) return problem;
    }
    const uint64_t open = engine_->GetMetrics().versions_open;
    if (open != 0) {
      return std::to_string(open) + " row versions are not sealed: " + OpenBuckets() + ClockText();
    }
    return CheckBrief();
  }

  std::string Open() {
    EngineOptions options = options_;
    options.clock = clock_;
    if (!refuses_future_) options.event_future_s_max = limits::kFutureSecondsMax;
    auto opened = Engine::Open(directory_, options);
    if (!opened.ok()) return "Open: " + opened.status().ToString();
    engine_ = std::move(opened).value();
    for (const char* table : {kTable, kBriefTable}) {
      if (const Status s = engine_->CreateTable(table); !s.ok()) return s.ToString();
    }
    if (model_ == nullptr) model_ = std::make_unique<ModelTable>(*engine_->FindTable("k.rows"));
    return "";
  }
  std::string Reopen() {
    if (const Status s = engine_->Close(); !s.ok()) return "Close: " + s.ToString();
    engine_.reset();
    return Open();
  }

  int64_t LyingTime() {
    switch (rng_.Below(10)) {
      case 0: return rng_.Between(0, 86400) * kSecond;          // 1970
      case 1: return kFloor_s * kSecond - rng_.Between(1, 999) * kSecond;
      case 2: return true_us_ + 60ll * 365 * 86400 * kSecond;   // far ahead
      case 3: return true_us_ - rng_.Between(1, 3600) * kSecond;  // a step back
      case 4: return true_us_ + 5 * 365 * kDayUs;
      case 5: return true_us_ + 60 * kDayUs;
      case 6: return true_us_ + kDayUs * 365 / 100;  // 3.65 days
      case 7: return true_us_ - kDayUs * 365 / 100;
      case 8: return true_us_ + rng_.Between(-300, 300) * kSecond;
      default: return true_us_ + rng_.Between(1, 3600) * kSecond;
    }
  }

  std::string Step() {
    const uint64_t dice = rng_.Below(100);
    if (dice < 34) return Write();
    if (dice < 46) return WriteBrief();
    if (dice < 55) {
      // Hours and days go by, with their maintenance or without.
      Pass(rng_.Between(kHourUs / 6, 18 * kHourUs));
      const std::string problem = rng_.OneIn(4) ? "" : Drain();
      return problem.empty() ? CheckBrief() : problem;
    }
    if (dice < 62) {
      SetWall(rng_.OneIn(2) ? true_us_ : LyingTime());
      return "";
    }
    if (dice < 68) return Boot();
    if (dice == 68) return Confirm();
    if (dice < 71) return Reopen();  // the same boot
    if (dice < 76) {
      const Status s = engine_->Rotate();
      return s.ok() ? "" : "Rotate: " + s.ToString();
    }
    if (dice < 81) return Drain();
    if (dice < 86) return SealAndExpire();
    if (dice < 90) return DeleteRange();
    return Compare();
  }

  // A new boot, often without knowing the time.
  std::string Boot() {
    if (const Status s = engine_->Close(); !s.ok()) return "Close: " + s.ToString();
    engine_.reset();
    if (rng_.OneIn(3)) true_us_ += rng_.Between(0, 2 * kDayUs);  // it was off
    clock_->Reboot("boot-" + std::to_string(rng_.Next()), true_us_);
    SetWall(rng_.OneIn(3) ? true_us_ : LyingTime());
    return Open();
  }

  // A person who looks at another clock first.
  std::string Confirm() {
    if (!is_vouched_ || clock_->WallMicros() != true_us_) return "";
    const auto report = engine_->ConfirmClock();
    if (!report.ok()) return "ConfirmClock: " + report.status().ToString();
    return report->trusted && report->certain_us == true_us_ ? "" : "a person is not believed";
  }

  std::string SealAndExpire() {
    const auto sealed = engine_->Seal({.due_only = false});
    if (!sealed.ok() && sealed.status().code() != StatusCode::kBusy) {
      return "Seal: " + sealed.status().ToString();
    }
    const auto expired = engine_->Expire();
    if (!expired.ok() && expired.status().code() != StatusCode::kBusy) {
      return "Expire: " + expired.status().ToString();
    }
    return CheckBrief();
  }

  std::string WriteBrief() {
    RowBatch batch(*engine_->FindTable("k.brief"));
    brief_ms_ = std::max(brief_ms_ + 1, true_us_ / 1000);
    batch.BeginRow();
    if (!batch.SetBytes(0, "x").ok() || !batch.SetInt(2, brief_ms_).ok() ||
        !batch.SetInt(3, brief_ms_).ok() || !batch.EndRow().ok()) {
      return "a row of k.brief is refused";
    }
    const auto answer = engine_->Append(batch, {Durability::kLog, BackPressure::kWait});
    if (answer.status().code() == StatusCode::kOutOfRange && refuses_future_) return "";
    if (!answer.ok()) return "Append: " + answer.status().ToString();
    const auto clock = engine_->GetClock();
    if (!clock.ok()) return "GetClock: " + clock.status().ToString();
    const int64_t behind_us = is_vouched_ ? std::max<int64_t>(true_us_ - clock->now_us, 0) : 0;
    brief_ends_us_.push_back(true_us_ + kBriefLifeUs - behind_us);
    return "";
  }

  // Every row whose true time is not over is there: those of k.rows never expire.
  std::string CheckBrief() {
    const Metrics m = engine_->GetMetrics();
    const uint64_t gone = m.versions_expired + m.versions_shed;
    const auto over = static_cast<uint64_t>(
        std::count_if(brief_ends_us_.begin(), brief_ends_us_.end(),
                      [&](int64_t end_us) { return end_us <= true_us_ + kSecond; }));
    if (gone <= over && m.versions_shed == 0) return "";
    return std::to_string(gone) + " row versions are gone, " + std::to_string(m.versions_shed) +
           " of them shed, and the time of " + std::to_string(over) + " is over; " + ClockText();
  }

  std::string OpenBuckets() {
    std::string text;
    const Status listed = engine_->ListBuckets([&](const BucketInfo& bucket) {
      if (bucket.state != "open") return true;
      text += bucket.table + " " + bucket.entity + " " + bucket.bucket + ", ";
      return true;
    });
    return listed.ok() ? text : listed.ToString();
  }

  std::string ClockText() {
    const auto clock = engine_->GetClock();
    return "truly " + std::to_string(true_us_ / kSecond) + " s, the wall clock at " +
           std::to_string(clock_->WallMicros() / kSecond) + " s, certain " +
           (clock.ok() ? std::to_string(clock->certain_us / kSecond) + " s, " + clock->why : "");
  }

  std::string Drain() {
    for (int i = 0; i < 500; ++i) {
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
      // Ahead of what a late clock allows that is trusted: refused, and nothing was stored.
      if (answer.status().code() == StatusCode::kOutOfRange && refuses_future_) return "";
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
        return diff + "  " + ClockText();
      }
    }
    return "";
  }

  std::string CheckCounters() {
    const Metrics m = engine_->GetMetrics();
    if (m.versions_written < model_->versions() + brief_ends_us_.size() ||
        m.versions_written != m.versions_open + m.versions_sealed + m.versions_superseded +
                                  m.versions_expired + m.versions_shed) {
      return "the counters do not reconcile";
    }
    if (!m.clock_trusted) return "the right time is not trusted";
    return "";
  }

  Rng rng_;
  const std::string directory_;
  const bool is_vouched_;      // something knows the true time, now and then
  const bool refuses_future_;  // event times far ahead of the clock
  const EngineOptions options_;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>(kTrue_us);
  int64_t true_us_ = kTrue_us;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ModelTable> model_;
  int64_t value_ = 0;
  int64_t brief_ms_ = 0;
  std::vector<int64_t> brief_ends_us_;  // true times
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
