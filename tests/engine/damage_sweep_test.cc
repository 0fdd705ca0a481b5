// One flipped bit anywhere, a file cut or gone: the store opens or says which file keeps it
// from that, answers no wrong row, and lacks no row without saying so.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>

#include "storage/file_kind.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

class DamageSweepTest : public EngineFixture {
 protected:
  static constexpr int64_t kDays = 3;

  DamageSweepTest() { options_.seal_when_due = false; }

  // Two sealed days and one that is spilled in two rotations, with a delete and overwritten
  // rows, and rows in the journal alone.
  void MakeStore() {
    for (int64_t day = 0; day < kDays; ++day) {
      for (int half = 0; half < 2; ++half) {
        for (const char* sensor : {"a", "b", "c"}) {
          RowBatch batch(schema_);
          for (int64_t i = 0; i < 40; ++i) {
            const int64_t ts = kStartMs + day * kDayMs + (half * 40 + i) * 60'000;
            AddRow(&batch, sensor, ts, static_cast<double>(day * 100 + i));
          }
          ASSERT_TRUE(engine_->Append(batch).ok());
        }
        Rotate();
      }
      clock_->AdvanceSeconds(86'400);
      if (day < 2) Seal();
    }
    MustAppend("a", kStartMs + 5, 7);  // an amendment to come
    Rotate();
    Seal();
    MustAppend("b", kStartMs + kDays * kDayMs, 8);
    for (const char* sensor : {"a", "b", "c"}) expected_[sensor] = Read(sensor, nullptr);
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
  }
  void Seal() {
    SealRequest request;
    const auto report = engine_->Seal(request);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
  }
  Rows Read(const std::string& sensor, std::unique_ptr<Cursor>* out) {
    Rows rows;
    auto cursor = engine_->Scan(Request(sensor, kStartMs - kDayMs, kStartMs + 9 * kDayMs));
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    if (!cursor.ok()) return rows;
    ResultBatch batch;
    while ((*cursor)->Next(&batch)) AddRows(batch, &rows);
    if (out != nullptr) *out = *std::move(cursor);
    return rows;
  }
  std::vector<std::string> Files() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory())) {
      if (entry.is_regular_file() && entry.file_size() > 0) {
        names.push_back(entry.path().filename().string());
      }
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  // A copy of the store is what the engine opens from here on.
  void Copy() {
    engine_.reset();
    if (!directory_.empty()) fs::remove_all(directory_);
    directory_.clear();
    const std::string copy = fs::path(temp_.path()) / "copy";
    fs::remove_all(copy);
    fs::copy(directory(), copy, fs::copy_options::recursive);
    directory_ = copy;
  }

  // Opens what was damaged and looks at everything.
  void ExpectHonest(const std::string& name, bool read_only) {
    told_ = false;
    EngineOptions options = options_;
    options.read_only = read_only;
    auto opened = TryOpen(options);
    if (!opened.ok()) {
      ++shut_;
      const StatusCode code = opened.status().code();
      EXPECT_TRUE(code == StatusCode::kCorruption || code == StatusCode::kTooNew ||
                  code == StatusCode::kInvalidArgument || code == StatusCode::kNotFound ||
                  code == StatusCode::kIoError)
          << opened.status().ToString();
      EXPECT_NE(FileKindOf(name), FileKind::kWal) << opened.status().ToString();
      if (FileKindOf(name) == FileKind::kSst) {
        EXPECT_NE(opened.status().message().find(name), std::string::npos)
            << opened.status().ToString();
      }
      return;
    }
    engine_ = *std::move(opened);
    schema_ = engine_->ListTables().front();
    ExpectReadsHonest();
    const auto report = engine_->Verify();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    const Metrics m = engine_->GetMetrics();
    EXPECT_EQ(m.versions_written, m.versions_open + m.versions_sealed + m.versions_superseded +
                                      m.versions_quarantined);
    if (m.versions_quarantined > 0) {
      EXPECT_FALSE(report->problems.empty());
    }
    if (!read_only) ExpectGoesOn();
    engine_.reset();
  }
  void ExpectReadsHonest() {
    // What a log lost is told once, by the opening that gave it up.
    told_ = told_ || engine_->Recovery().recovered_with_loss || !engine_->Recovery().clean;
    for (const auto& [sensor, expected] : expected_) {
      std::unique_ptr<Cursor> cursor;
      const Rows rows = Read(sensor, &cursor);
      ASSERT_NE(cursor, nullptr);
      EXPECT_TRUE(std::includes(expected.begin(), expected.end(), rows.begin(), rows.end()))
          << "rows that were never written";
      if (rows.size() == expected.size()) continue;
      ++with_gaps_;
      if (!cursor->status().ok()) {
        EXPECT_EQ(cursor->status().code(), StatusCode::kCorruption);
        EXPECT_FALSE(cursor->status().message().empty());
        continue;
      }
      EXPECT_TRUE(told_) << "a scan that lacks " << expected.size() - rows.size()
                        << " rows ends OK";
    }
  }
  // The rest takes rows, rotates, seals, and is the same after another opening.
  void ExpectGoesOn() {
    const int64_t ts = kStartMs + kDays * kDayMs;
    const Status appended = Append("z", ts, 1);
    ASSERT_TRUE(appended.ok()) << appended.ToString();
    Rotate();
    SealRequest request;
    request.due_only = false;
    request.table = schema_->name;
    request.entity = Entity("z");
    const auto sealed = engine_->Seal(request);
    ASSERT_TRUE(sealed.ok()) << sealed.status().ToString();
    EXPECT_EQ(sealed->buckets, 1u) << (sealed->problems.empty() ? "" : sealed->problems.front());
    ASSERT_TRUE(engine_->Close().ok());
    auto again = TryOpen(options_);
    ASSERT_TRUE(again.ok()) << again.status().ToString();
    engine_ = *std::move(again);
    EXPECT_EQ(Scan("z", ts, ts + 1), (Rows{{ts, 1}}));
    ExpectReadsHonest();
  }

  std::map<std::string, Rows> expected_;
  bool told_ = false;  // an opening said that something is amiss
  size_t shut_ = 0;
  size_t with_gaps_ = 0;
};

// CISTERN_SWEEP_STRIDE=1 flips a bit of every byte.
TEST_F(DamageSweepTest, AFlippedBitAnywhere) {
  MakeStore();
  const char* text = std::getenv("CISTERN_SWEEP_STRIDE");
  const uint64_t stride = text == nullptr ? 127 : std::max(1ULL, std::strtoull(text, nullptr, 10));
  size_t flips = 0;
  for (const std::string& name : Files()) {
    const uint64_t size = fs::file_size(fs::path(directory()) / name);
    if (name == "RESERVE" || name == "LOG" || name == "LOCK") continue;
    for (uint64_t offset = 0; offset < std::min<uint64_t>(size, 16384); offset += stride) {
      SCOPED_TRACE(name + " at " + std::to_string(offset));
      for (const bool read_only : {false, true}) {
        if (read_only && offset % 2 == 1) continue;
        Copy();
        FlipBit(fs::path(directory()) / name, static_cast<int64_t>(offset),
                static_cast<int>(offset % 8));
        ExpectHonest(name, read_only);
        directory_.clear();
      }
      ++flips;
      if (HasFatalFailure()) return;
    }
  }
  RecordProperty("flips", static_cast<int>(flips));
  std::printf("%zu flips, %zu kept the store shut, %zu scans with gaps\n", flips, shut_,
              with_gaps_);
}

TEST_F(DamageSweepTest, ATableThatIsCutOrGone) {
  MakeStore();
  for (const std::string& name : Files()) {
    if (FileKindOf(name) != FileKind::kSst) continue;
    const uint64_t size = fs::file_size(fs::path(directory()) / name);
    for (const uint64_t keep : {size, size - 1, size / 2, uint64_t{0}}) {
      SCOPED_TRACE(name + " cut to " + std::to_string(keep));
      for (const bool read_only : {false, true}) {
        Copy();
        const fs::path path = fs::path(directory()) / name;
        keep == size ? (void)fs::remove(path) : fs::resize_file(path, keep);
        ExpectHonest(name, read_only);
        directory_.clear();
        if (HasFatalFailure()) return;
      }
    }
  }
  std::printf("%zu kept the store shut, %zu scans with gaps\n", shut_, with_gaps_);
}

}  // namespace
}  // namespace cistern::testing
