// Many small rotations over a real store: files stay few, and rewriting costs little.
#include <rocksdb/db.h>

#include <cstdio>
#include <vector>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr uint64_t kFilesMax = 100;

class GatherTest : public EngineFixture {
 protected:
  // Those that RocksDB still has: when it removes the others is a matter of its threads.
  uint64_t Files() {
    std::vector<rocksdb::LiveFileMetaData> files;
    Core()->store().db().db()->GetLiveFilesMetaData(&files);
    return files.size();
  }
  uint64_t SstBytes() { return Core()->store().db().opened().fs->bytes_written().sst; }
  void NoteFiles() { files_max_ = std::max(files_max_, Files()); }
  void Print(const char* what) {
    const Metrics m = engine_->GetMetrics();
    std::printf(
        "%s: at most %llu SST files, %llu at the end in %llu spill families; %.2f bytes rewritten "
        "for each of %llu ingested, %llu bytes of SST\n",
        what, static_cast<unsigned long long>(files_max_),
        static_cast<unsigned long long>(Files()),
        static_cast<unsigned long long>(m.spill_families), Amplification(),
        static_cast<unsigned long long>(m.spill_bytes),
        static_cast<unsigned long long>(SstBytes()));
  }
  // As Crash(), where files that go meanwhile cannot be copied: a failed committer neither
  // syncs nor writes the beacon when the engine is closed.
  void Kill() {
    Core()->committer().Fail(Status::Internal("the process is killed here"));
    engine_.reset();
    Open();
  }
  double Amplification() {
    const Metrics m = engine_->GetMetrics();
    return static_cast<double>(m.respill_bytes) / static_cast<double>(m.spill_bytes);
  }

  uint64_t files_max_ = 0;
};

// A few rows a minute, and a head that may be a minute old.
TEST_F(GatherTest, ALightDay) {
  options_.head_age_us_max = 60'000'000;
  Reopen();
  Rows a;
  for (int minute = 0; minute < 1440; ++minute) {
    for (int i = 0; i < 3; ++i) {
      const int64_t ts = kStartMs + minute * 60'000 + i * 20'000;
      MustAppend("a", ts, i);
      MustAppend("b", ts, minute);
      a.emplace_back(ts, i);
    }
    clock_->AdvanceSeconds(60);
    ASSERT_TRUE(engine_->Tick({100}).ok());
    NoteFiles();
  }
  Print("a light day");
  EXPECT_GE(engine_->GetMetrics().rotations, 1400u);
  EXPECT_LE(files_max_, kFilesMax);
  EXPECT_LE(Amplification(), 2.0);
  EXPECT_LE(engine_->GetMetrics().spill_families, 4u);
  EXPECT_EQ(ScanAll("a"), a);
  EXPECT_EQ(ScanAll("b").size(), a.size());
  ExpectSound();
  Kill();
  EXPECT_EQ(ScanAll("a"), a);
  ExpectSound();
}

// Nobody ticks: whoever rotates gathers. Opened anew now and then, as a host restarts.
// More than two tiers of 32 take.
TEST_F(GatherTest, TwoThousandRotationsByHand) {
  constexpr int kRotations = 2'000;
  options_.memory_budget_bytes = 8 << 20;
  Reopen();
  double amplification_max = 0;
  for (int i = 0; i < kRotations; ++i) {
    MustAppend("a", kStartMs + i % 100, i, {Durability::kLog});  // overwritten twenty times
    MustAppend("b", kStartMs + i, i, {Durability::kLog});
    Rotate();
    NoteFiles();
    if (i % 997 != 996) continue;
    amplification_max = std::max(amplification_max, Amplification());
    Print("by hand, one opening");
    Reopen();
  }
  EXPECT_LE(files_max_, kFilesMax);
  EXPECT_LE(amplification_max, 2.0);
  EXPECT_EQ(ScanAll("a").size(), 100u);
  EXPECT_EQ(ScanAll("b").size(), size_t{kRotations});
  EXPECT_GT(engine_->GetMetrics().versions_superseded, 500u);
  ExpectSound();
}

// The process may end between any two steps of a gathering.
TEST_F(GatherTest, EveryStepMayBeTheLastOne) {
  uint64_t written = 0;
  Rows b;
  bool done = false;
  for (int steps = 0; !done; ++steps) {
    ASSERT_LT(steps, 100);
    do {
      MustAppend("a", kStartMs, steps, {Durability::kLog});
      MustAppend("b", b.empty() ? kStartMs : b.back().first + 1, steps, {Durability::kLog});
      b.emplace_back(b.empty() ? kStartMs : b.back().first + 1, steps);
      written += 2;
      Rotate();
    } while (RotationTarget(StatsOf(*Core()->store().spills().view()), {}));
    const Metrics before = engine_->GetMetrics();
    MustAppend("a", kStartMs + 1, steps);
    ++written;
    (void)Core()->committer().Freeze();
    for (int i = 0; i < steps; ++i) {
      const auto report = engine_->Tick({1});
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      done = !report->more_due;
    }
    const bool gathered = engine_->GetMetrics().respill_bytes > before.respill_bytes;
    EXPECT_TRUE(gathered || !done) << "what is cut short is no gathering";
    Kill();
    EXPECT_EQ(engine_->GetMetrics().versions_written, written) << steps;
    EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, steps}, {kStartMs + 1, steps}})) << steps;
    EXPECT_EQ(ScanAll("b"), b) << steps;
    EXPECT_LE(Files(), kFilesMax) << steps;
    ExpectSound();
  }
}

}  // namespace
}  // namespace cistern::testing
