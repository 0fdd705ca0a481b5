// The journal's families over a real database: what is written, frozen, dropped, replayed.
#include "storage/journal.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "storage/keyspace.h"
#include "storage/store.h"
#include "tests/storage/temp_store.h"
#include "tests/support/fault_fs.h"

namespace cistern {
namespace {

class JournalTest : public ::testing::Test {
 protected:
  struct Replayed {
    uint64_t sequence = 0;
    std::string record;
    bool new_family = false;
    friend bool operator==(const Replayed&, const Replayed&) = default;
  };

  void SetUp() override { Open(); }
  void Open() {
    RecoveryReport report;
    auto opened = Store::Open(temp_.config, &report);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    store_ = *std::move(opened);
  }
  void Reopen() {
    store_.reset();
    Open();
  }
  Journal& journal() { return store_->journal(); }

  void Prepare() {
    const auto id = store_->NextSequence();
    ASSERT_TRUE(id.ok());
    ASSERT_TRUE(journal().PrepareNext(*id).ok());
  }
  // What maintenance does at open: a family to write, and the next one.
  void PrepareAll() {
    while (!journal().writable() || !journal().next_ready()) Prepare();
  }
  static std::string RecordOf(uint64_t sequence) {
    return "record " + std::to_string(sequence) + std::string(sequence % 300, '\0');
  }
  void Append(uint64_t first, uint64_t last) {
    for (uint64_t s = first; s <= last; ++s) {
      ASSERT_TRUE(journal().Append(s, RecordOf(s), s % 10 == 0).ok());
    }
  }
  std::vector<Replayed> Replay() {
    std::vector<Replayed> out;
    const Status s = journal().Replay([&](uint64_t sequence, std::string_view record, bool fresh) {
      out.push_back({sequence, std::string(record), fresh});
      return Status::Ok();
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    return out;
  }
  // The records first..last; families begin at the given ones.
  static std::vector<Replayed> Records(uint64_t first, uint64_t last,
                                       const std::vector<uint64_t>& begins) {
    std::vector<Replayed> out;
    for (uint64_t s = first; s <= last; ++s) {
      out.push_back({s, RecordOf(s), std::find(begins.begin(), begins.end(), s) != begins.end()});
    }
    return out;
  }

  TempStore temp_;
  std::unique_ptr<Store> store_;
};

TEST_F(JournalTest, ANewStoreHasNoFamilyToWriteUntilOneIsPrepared) {
  EXPECT_FALSE(journal().writable());
  EXPECT_FALSE(journal().next_ready());
  EXPECT_EQ(journal().family_count(), 0u);
  Prepare();
  EXPECT_TRUE(journal().writable());
  EXPECT_FALSE(journal().next_ready());
  Prepare();
  EXPECT_TRUE(journal().next_ready());
  EXPECT_EQ(journal().family_count(), 2u);
  EXPECT_TRUE(Replay().empty());
}

TEST_F(JournalTest, RecordsComeBackInOrderByteForByte) {
  PrepareAll();
  Append(1, 700);  // sequences whose bytes would sort otherwise as text or little-endian
  EXPECT_EQ(Replay(), Records(1, 700, {1}));
  ASSERT_TRUE(journal().Sync().ok());
  Reopen();
  EXPECT_EQ(Replay(), Records(1, 700, {1}));
}

TEST_F(JournalTest, EachOpenWritesAFamilyOfItsOwnSoThatCodersBeginAnew) {
  PrepareAll();
  Append(1, 5);
  Reopen();
  PrepareAll();
  Append(6, 7);
  Reopen();
  PrepareAll();
  Append(8, 9);
  const auto all = Records(1, 9, {1, 6, 8});
  EXPECT_EQ(Replay(), all);
  EXPECT_EQ(journal().active_count(), 3u);
  EXPECT_FALSE(journal().has_frozen());
  Reopen();
  EXPECT_EQ(Replay(), all);
}

TEST_F(JournalTest, EmptyFamiliesDoNotPileUpOverOpens) {
  for (int i = 0; i < 5; ++i) {
    PrepareAll();
    EXPECT_LE(journal().family_count(), 2u);
    Reopen();
  }
  PrepareAll();
  Append(1, 3);
  EXPECT_EQ(Replay(), Records(1, 3, {1}));
}

TEST_F(JournalTest, SwitchFreezesWhatWasWrittenAndDropForgetsIt) {
  PrepareAll();
  Append(1, 4);
  EXPECT_GT(journal().active_bytes(), 4 * 8u);
  journal().Switch();
  EXPECT_EQ(journal().active_bytes(), 0u);
  EXPECT_TRUE(journal().writable());
  EXPECT_TRUE(journal().has_frozen());
  EXPECT_FALSE(journal().next_ready());
  Append(5, 6);
  EXPECT_EQ(Replay(), Records(1, 6, {1, 5}));
  Prepare();
  ASSERT_TRUE(journal().DropFrozen().ok());
  EXPECT_FALSE(journal().has_frozen());
  EXPECT_TRUE(journal().next_ready());
  EXPECT_EQ(journal().family_count(), 2u);
  EXPECT_EQ(Replay(), Records(5, 6, {5}));
  Reopen();
  EXPECT_EQ(Replay(), Records(5, 6, {5}));
}

TEST_F(JournalTest, FrozenFamiliesThatWereNotDroppedAreActiveAfterAReopen) {
  PrepareAll();
  Append(1, 4);
  journal().Switch();
  Append(5, 6);
  Reopen();
  EXPECT_FALSE(journal().has_frozen());
  EXPECT_EQ(journal().active_count() - (journal().writable() ? 1 : 0), 2u);
  EXPECT_EQ(Replay(), Records(1, 6, {1, 5}));
  PrepareAll();
  journal().Switch();  // all of them are one generation
  ASSERT_TRUE(journal().DropFrozen().ok());
  EXPECT_TRUE(Replay().empty());
  Reopen();
  EXPECT_TRUE(Replay().empty());
}

TEST_F(JournalTest, AReaderSeesTheRecordsAndDropsNothing) {
  PrepareAll();
  Append(1, 4);
  ASSERT_TRUE(journal().Sync().ok());
  const size_t families = journal().family_count();
  store_.reset();
  temp_.config.read_only = true;
  for (int i = 0; i < 2; ++i) {
    Open();
    EXPECT_EQ(Replay(), Records(1, 4, {1}));
    store_.reset();
  }
  temp_.config.read_only = false;
  Open();
  EXPECT_EQ(journal().family_count(), families);
}

TEST_F(JournalTest, TheVisitorsErrorEndsTheReplay) {
  PrepareAll();
  Append(1, 4);
  int visited = 0;
  const Status s = journal().Replay([&](uint64_t, std::string_view, bool) {
    return ++visited == 2 ? Status::Busy("enough") : Status::Ok();
  });
  EXPECT_EQ(s.code(), StatusCode::kBusy);
  EXPECT_EQ(visited, 2);
}

TEST_F(JournalTest, AKeyThatIsNoSequenceIsCorruption) {
  PrepareAll();
  Append(1, 2);
  store_.reset();
  {
    auto opened = temp_.Open();
    ASSERT_TRUE(opened.ok());
    for (const auto& [name, handle] : opened->families) {
      if (FamilyKindOf(name) != FamilyKind::kJournal) continue;
      ASSERT_TRUE(opened->db->Put({}, handle, "zz", "what").ok());
    }
    ASSERT_TRUE(opened->Close().ok());
  }
  Open();
  const Status s =
      journal().Replay([](uint64_t, std::string_view, bool) { return Status::Ok(); });
  EXPECT_EQ(s.code(), StatusCode::kCorruption);
}

TEST_F(JournalTest, ARecordThatFailedIsWholeOrNotThereAfterAReopen) {
  store_.reset();
  auto disk = std::make_shared<FaultFileSystem>();
  temp_.config.base_fs = disk;
  for (const FaultOp op : {FaultOp::kWrite, FaultOp::kSync}) {
    Open();
    PrepareAll();
    const uint64_t before = Replay().size();
    ASSERT_TRUE(journal().Append(before + 1, RecordOf(before + 1), true).ok());
    disk->Arm({.op = op, .kind = FileKind::kWal});
    const Status failed = journal().Append(before + 2, RecordOf(before + 2), true);
    EXPECT_EQ(failed.code(), StatusCode::kIoError) << failed.ToString();
    disk->Disarm();
    Reopen();
    const auto found = Replay();
    ASSERT_GE(found.size(), before + 1);
    ASSERT_LE(found.size(), before + 2);
    for (const Replayed& r : found) EXPECT_EQ(r.record, RecordOf(r.sequence));
    store_.reset();
  }
}

// An empty family that is of no use waits for an open with room for the record of its drop.
TEST_F(JournalTest, NothingIsDroppedOnAFullDisk) {
  constexpr uint64_t kDiskBytes = 64 << 20;
  constexpr uint64_t kLittleBytes = 300 * 1024;
  store_.reset();
  auto disk = std::make_shared<FaultFileSystem>();
  disk->SetDiskBytes(kDiskBytes);
  temp_.config.base_fs = disk;
  const auto fill = [&] {
    disk->SetForeignBytes(kDiskBytes - disk->used_bytes() - kLittleBytes);
  };
  const auto families = [this] {
    std::vector<std::string> names;
    EXPECT_TRUE(rocksdb::DB::ListColumnFamilies({}, temp_.config.directory, &names).ok());
    return names.size();
  };
  Open();
  store_.reset();
  fill();
  Open();  // it releases the ballast
  PrepareAll();
  journal().Switch();  // the first family is empty, and the second will not be
  Append(1, 2);
  Prepare();
  store_.reset();
  const size_t before = families();
  fill();
  Open();
  EXPECT_EQ(Replay(), Records(1, 2, {1}));
  EXPECT_TRUE(journal().writable());
  store_.reset();
  EXPECT_EQ(families(), before);
  disk->SetForeignBytes(0);
  Open();
  EXPECT_EQ(Replay(), Records(1, 2, {1}));
  store_.reset();
  EXPECT_EQ(families(), before - 1);
}

// Behind a gap nothing can be decoded, so a drop that fails must leave no gap.
TEST_F(JournalTest, ADropThatFailsLeavesASuffix) {
  store_.reset();
  auto disk = std::make_shared<FaultFileSystem>();
  temp_.config.base_fs = disk;
  bool dropped_all = false;
  for (uint64_t nth = 1; !dropped_all && nth < 20; ++nth) {
    std::filesystem::remove_all(temp_.config.directory);
    Open();
    for (uint64_t first = 1; first <= 7; first += 3) {  // three families of three records
      PrepareAll();
      Append(first, first + 2);
      if (first < 7) Reopen();
    }
    PrepareAll();
    journal().Switch();
    Append(10, 10);
    ASSERT_TRUE(journal().Sync().ok());
    disk->Arm({.op = FaultOp::kAnyChange, .kind = FileKind::kManifest, .nth = nth});
    dropped_all = journal().DropFrozen().ok();
    disk->Disarm();
    Reopen();
    const auto found = Replay();
    ASSERT_FALSE(found.empty());
    const uint64_t first = found.front().sequence;
    EXPECT_EQ(first % 3, 1u) << nth;
    EXPECT_EQ(found, Records(first, 10, {1, 4, 7, 10})) << nth;
    if (dropped_all) {
      EXPECT_EQ(first, 10u);
    }
    store_.reset();
  }
  EXPECT_TRUE(dropped_all);
}

}  // namespace
}  // namespace cistern
