// What is damaged is named, counted and passed over; the rest answers, seals and is saved.
#include <algorithm>

#include "storage/meta_merge.h"
#include "storage/seal_reader.h"
#include "tests/engine/quarantine_fixture.h"
#include "tests/support/fault_fs.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

class QuarantineTest : public QuarantineFixture {
 protected:
  uint64_t SealAll() {
    SealRequest request;
    request.due_only = false;
    const auto report = engine_->Seal(request);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    if (!report.ok()) return 0;
    EXPECT_TRUE(report->problems.empty()) << report->problems.front();
    return report->buckets;
  }
  struct Answer {
    Rows rows;
    std::vector<ScanGap> gaps;
    StatusCode code = StatusCode::kOk;
  };
  Answer Read(ScanRequest request) {
    Answer answer;
    auto cursor = engine_->Scan(request);
    EXPECT_TRUE(cursor.ok());
    Drain(cursor->get(), &answer.rows);
    answer.gaps = (*cursor)->gaps();
    answer.code = (*cursor)->status().code();
    return answer;
  }
  ScanRequest Whole(const std::string& sensor) {
    return Request(sensor, kStartMs, kStartMs + 30 * kDayMs);
  }
  void ExpectReconciled(uint64_t quarantined) {
    const Metrics m = engine_->GetMetrics();
    EXPECT_EQ(m.versions_quarantined, quarantined);
    EXPECT_EQ(m.versions_written,
              m.versions_open + m.versions_sealed + m.versions_superseded + quarantined);
  }
  // Content hashes of all seals, by bucket.
  std::map<std::string, uint64_t> Hashes(Engine* engine) {
    std::map<std::string, uint64_t> out;
    const auto core = *EngineImpl::Of(engine)->core();
    ManifestWalker walker(core->store().spills().view(), "");
    while (true) {
      const auto item = walker.Next();
      EXPECT_TRUE(item.ok());
      if (!item.ok() || !*item) return out;
      out[EncodeBucketKey((*item)->bucket)] += (*item)->manifest.content_hash;
    }
  }
};

TEST_F(QuarantineTest, ADamagedPageCostsItsTimesAndNoMore) {
  for (int i = 0; i < 3; ++i) Fill("ab");
  EXPECT_EQ(SealAll(), 2u);
  const auto tables = Tables("window-");
  ASSERT_FALSE(tables.empty());
  Shut();
  std::string bytes = ReadFile(tables.front());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  WriteFile(tables.front(), bytes);
  Open();
  EXPECT_TRUE(engine_->Recovery().clean) << "pages are not read by an opening";
  uint64_t lost = 0;
  for (const char* sensor : {"a", "b"}) {
    const Answer answer = Read(Whole(sensor));
    Rows kept = expected_[sensor];
    for (const ScanGap& gap : answer.gaps) {
      EXPECT_TRUE(gap.located);
      EXPECT_TRUE(gap.what.starts_with(std::string("plant.pumps ") + sensor + " 2027-01-15: "))
          << gap.what;
      const size_t erased = std::erase_if(kept, [&gap](const auto& row) {
        return row.first >= gap.first_time && row.first <= gap.last_time;
      });
      EXPECT_EQ(erased, gap.versions);
      lost += erased;
      // Around it everything is complete, and says so.
      EXPECT_EQ(Read(Request(sensor, kStartMs, gap.first_time)).code, StatusCode::kOk);
      EXPECT_EQ(Read(Request(sensor, gap.last_time + 1, kStartMs + kDayMs)).code, StatusCode::kOk);
    }
    EXPECT_EQ(answer.rows, kept);
    EXPECT_EQ(answer.code, answer.gaps.empty() ? StatusCode::kOk : StatusCode::kCorruption);
    ScanRequest down = Whole(sensor);
    std::swap(down.from, down.to);
    Answer backward = Read(down);
    std::reverse(backward.rows.begin(), backward.rows.end());
    EXPECT_EQ(backward.rows, kept);
  }
  EXPECT_GT(lost, 0u);
  EXPECT_LT(lost, 150u) << "some pages of one bucket";
  ExpectReconciled(lost);
  const auto report = engine_->Verify();
  ASSERT_TRUE(report.ok());
  ASSERT_FALSE(report->problems.empty());
  EXPECT_NE(report->problems[0].find(" 2027-01-15, page "), std::string::npos)
      << report->problems[0];
  EXPECT_EQ(report->versions + lost, engine_->GetMetrics().versions_written);
  size_t quarantined = 0;
  ASSERT_TRUE(engine_->ListBuckets([&](const BucketInfo& b) {
                       quarantined += b.state == "quarantined" ? 1 : 0;
                       return true;
                     }).ok());
  EXPECT_GE(quarantined, 1u);
}

// A token leads over a gap; each page that met it says so.
TEST_F(QuarantineTest, PagesOfAScanGoOnBehindAGap) {
  for (int i = 0; i < 3; ++i) Fill("a");
  SealAll();
  const auto tables = Tables("window-");
  Shut();
  std::string bytes = ReadFile(tables.front());
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  WriteFile(tables.front(), bytes);
  Open();
  const Answer whole = Read(Whole("a"));
  ASSERT_FALSE(whole.gaps.empty());
  Rows rows;
  size_t with_gaps = 0;
  ScanRequest request = Whole("a");
  do {
    request.limit += 20;
    auto cursor = engine_->Scan(request);
    ASSERT_TRUE(cursor.ok());
    Drain(cursor->get(), &rows);
    with_gaps += (*cursor)->gaps().empty() ? 0 : 1;
    EXPECT_EQ((*cursor)->status().ok(), (*cursor)->gaps().empty());
    request.token = (*cursor)->Token();
  } while (!request.token.empty() && request.limit < 1000);
  EXPECT_EQ(rows, whole.rows);
  EXPECT_GE(with_gaps, 1u);
  EXPECT_LE(with_gaps, 3u);
}

TEST_F(QuarantineTest, ALostSpillFileIsCountedAndTheRestGoesOn) {
  FillSmall();
  next_ts_ = kStartMs + 5 * kDayMs;
  clock_->AdvanceSeconds(5 * 86'400);
  const auto first_day = Tables("spill-");
  ASSERT_EQ(first_day.size(), 1u);
  FillSmall();
  Shut();
  std::map<fs::path, std::string> whole;
  for (const fs::path& path : first_day) {
    whole[path] = ReadFile(path);
    fs::remove(path);
  }
  const auto later = [this](const std::string& sensor) {
    return Request(sensor, kStartMs + kDayMs, kStartMs + 30 * kDayMs);
  };
  for (int opened = 0; opened < 2; ++opened) {
    Open();
    const RecoveryReport recovery = engine_->Recovery();
    EXPECT_EQ(recovery.files_damaged, first_day.size());
    EXPECT_EQ(recovery.versions_quarantined, 100u);
    ASSERT_EQ(recovery.notes.size(), 1u);
    EXPECT_NE(recovery.notes[0].find(first_day[0].filename().string()), std::string::npos);
    EXPECT_NE(recovery.notes[0].find("100 row versions, of buckets that start from 2027-01-15 to "
                                     "2027-01-15"),
              std::string::npos)
        << recovery.notes[0];
    EXPECT_NE(recovery.notes[0].find("`cistern salvage --store " + directory() + " --to NEW`"),
              std::string::npos)
        << recovery.notes[0];
    const auto report = engine_->Verify();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->problems, recovery.notes) << "one loss, told in the same words";
    ExpectReconciled(100);
    const Answer answer = Read(Whole("a"));
    EXPECT_EQ(answer.code, StatusCode::kCorruption);
    ASSERT_EQ(answer.gaps.size(), 1u);
    EXPECT_FALSE(answer.gaps[0].located);
    EXPECT_EQ(answer.rows, (Rows{expected_["a"].begin() + 50, expected_["a"].end()}));
    EXPECT_EQ(Read(later("a")).code, StatusCode::kOk) << "of other days nothing is lost";
    if (opened == 0) {
      EXPECT_EQ(SealAll(), 2u);
      MustAppend("c", next_ts_++, 3);
      Rotate();
    }
    TickUntilIdle();
    ExpectReconciled(100);
    EXPECT_EQ(Read(later("a")).rows.size(), 50u);
    Shut();
  }
  for (const auto& [path, bytes] : whole) WriteFile(path, bytes);
  Open();
  EXPECT_TRUE(engine_->Recovery().clean);
  ExpectAllBut("");
  ExpectSound();
}

// RocksDB opens files of level 0 to compact them, and writes no more when one is damaged. The
// store that is opened anew then lets files rest, or it would end so again and again.
TEST_F(QuarantineTest, ACompactionThatMeetsDamageIsNotBegunAgain) {
  const auto seal = [this] {
    SealRequest request;
    request.due_only = false;
    request.table = "pumps";
    request.entity = Entity("a");
    return engine_->Seal(request).status();
  };
  // More files than RocksDB opens when it opens a store.
  for (int i = 0; i < 24; ++i) {
    MustAppend("z", next_ts_++, i);
    Rotate();
  }
  for (int i = 0; i < 3; ++i) {
    FillSmall();
    ASSERT_TRUE(seal().ok());
  }
  const auto tables = Tables("window-");
  ASSERT_EQ(tables.size(), 3u);
  Shut();
  std::string bytes = ReadFile(tables.front());
  bytes[bytes.size() - 400] = static_cast<char>(bytes[bytes.size() - 400] ^ 4);  // its properties
  WriteFile(tables.front(), bytes);
  Open();
  EXPECT_TRUE(engine_->Recovery().clean);
  // Files of meta are merged: with so many beside it RocksDB would not open the file that it moves.
  ASSERT_TRUE(engine_->Tick().ok());
  rocksdb::DB* db = Core()->store().db().db();
  ASSERT_TRUE(db->PauseBackgroundWork().ok() && db->ContinueBackgroundWork().ok());
  const auto add_and_seal = [&](int64_t ts) {
    Status s = Append("a", ts, 1);
    if (s.ok()) s = engine_->Rotate();
    return s.ok() ? seal() : s;
  };
  int failures = 0;
  for (int i = 0; i < 12 && failures < 10; ++i) {
    for (Status s = add_and_seal(next_ts_); !s.ok() && ++failures < 10;
         s = add_and_seal(next_ts_)) {
      clock_->AdvanceSeconds(61);  // beyond the pause before it is opened anew
      (void)engine_->Tick();
    }
    ++next_ts_;
  }
  EXPECT_GE(failures, 1) << "it was not met: nothing is shown";
  EXPECT_LE(failures, 2);
  EXPECT_TRUE(engine_->Health().ok());
}

// Families of segments rest then. Rotations go on, and each leaves a file of meta.
TEST_F(QuarantineTest, TheCatalogIsMergedBesideSegmentsThatRest) {
  for (const bool is_damaged : {false, true}) {
    FillSmall();
    const auto spilled = Tables("spill-");
    ASSERT_FALSE(spilled.empty());
    Shut();
    fs::remove(spilled.front());
    Open();
    ASSERT_TRUE(Core()->store().db().opened().config.segments_rest);
    while (Tables("meta").size() < 4) FillSmall();
    ASSERT_FALSE(MetaMergesAllowed(Core()->store()));
    if (is_damaged) {
      ASSERT_NO_FATAL_FAILURE(FlipBit(Tables("meta").front(), 20));
    }
    for (int i = 0; i < 6; ++i) {
      clock_->AdvanceSeconds(2);
      FillSmall();
    }
    EXPECT_EQ(MetaMergesAllowed(Core()->store()), !is_damaged);
    EXPECT_TRUE(engine_->Health().ok());
  }
}

// Or it would be read again each second, for as long as the process runs.
TEST_F(QuarantineTest, ABadSectorOfTheCatalogIsDamageWhereverItLies) {
  const auto faults = std::make_shared<FaultFileSystem>();
  Shut();
  fs_ = faults;
  Open();
  FillSmall();
  FillSmall();
  faults->Arm({.op = FaultOp::kRead, .kind = FileKind::kSst, .nth = UINT64_MAX});
  ASSERT_TRUE(CheckMetaFiles(Core()->store()).ok());
  const uint64_t reads = faults->matched();
  ASSERT_GT(reads, 4u);
  for (uint64_t nth = 1; nth <= reads; ++nth) {
    faults->Arm({.op = FaultOp::kRead, .kind = FileKind::kSst, .nth = nth, .forever = true});
    const Status s = CheckMetaFiles(Core()->store());
    EXPECT_EQ(s.code(), StatusCode::kCorruption) << "read " << nth << ": " << s.ToString();
  }
  faults->Disarm();
}

// The versions of the new store are those of the old one, bit for bit.
TEST_F(QuarantineTest, SalvageKeepsVersionsAsTheyAre) {
  for (int64_t i = 0; i < 50; ++i) MustAppend("a", kStartMs + i, static_cast<double>(i));
  SealAll();
  for (int64_t i = 0; i < 50; i += 7) MustAppend("a", kStartMs + i, -1.0);
  ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("a"), {kStartMs + 20, kStartMs + 30}).ok());
  Rotate();
  RowBatch batch(schema_);
  AddRow(&batch, "b", kStartMs, 5, RowKind::kInsert, 1000);
  AddRow(&batch, "b", kStartMs + 1, 0, RowKind::kDeleteRow);
  ASSERT_TRUE(engine_->Append(batch).ok());  // in the journal alone
  const Rows a = ScanAll("a");
  Shut();
  const std::string to = fs::path(temp_.path()) / "new";
  SalvageOptions options;
  options.clock = clock_;
  const auto report = Salvage(directory(), to, options);
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  EXPECT_TRUE(report->complete());
  ASSERT_EQ(report->tables.size(), 1u);
  EXPECT_EQ(report->tables[0].buckets, 2u);
  EXPECT_EQ(Salvage(directory(), to, options).status().code(), StatusCode::kAlreadyExists);
  Open();
  const auto sealed_versions = [&] {
    SealAll();
    return Hashes(engine_.get());
  };
  const std::map<std::string, uint64_t> before = sealed_versions();
  const uint64_t b_before = before.rbegin()->second;
  Shut();
  directory_ = to;
  Open();
  EXPECT_EQ(ScanAll("a"), a);
  EXPECT_EQ(ScanAll("b"), (Rows{{kStartMs, 5}}));
  ExpectSound();
  const std::map<std::string, uint64_t> after = sealed_versions();
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(after.rbegin()->second, b_before);
  // What is written next is newer than all that was saved.
  MustAppend("a", kStartMs + 1, 99);
  EXPECT_EQ(Scan("a", kStartMs + 1, kStartMs + 2), (Rows{{kStartMs + 1, 99}}));
  clock_->AdvanceSeconds(2000);
  EXPECT_TRUE(ScanAll("b").empty()) << "expiry is what it was";
}

}  // namespace
}  // namespace cistern::testing
