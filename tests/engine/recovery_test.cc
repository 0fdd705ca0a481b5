// Opening again: what the journal gives back, what damage costs, and that it is said.
#include <rocksdb/db.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "storage/keyspace.h"
#include "storage/meta_records.h"
#include "storage/store.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

class RecoveryTest : public EngineFixture {
 protected:
  // Changes the newest journal family that has records, behind the engine's back.
  using Change = std::function<void(rocksdb::DB*, rocksdb::ColumnFamilyHandle*)>;
  void ChangeJournal(const Change& change) {
    StoreConfig config;
    config.directory = directory();
    config.clock = clock_;
    auto opened = OpenStore(config);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    rocksdb::ColumnFamilyHandle* found = nullptr;
    for (const auto& [name, handle] : opened->families) {
      if (FamilyKindOf(name) != FamilyKind::kJournal) continue;
      std::unique_ptr<rocksdb::Iterator> it(opened->db->NewIterator({}, handle));
      it->SeekToFirst();
      if (it->Valid()) found = handle;
    }
    ASSERT_NE(found, nullptr);
    change(opened->db.get(), found);
    ASSERT_TRUE(opened->Close().ok());
  }
  void DamageRecord(uint64_t sequence) {
    ChangeJournal([sequence](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) {
      std::string value;
      ASSERT_TRUE(db->Get({}, family, JournalKey(sequence), &value).ok());
      value[value.size() / 2] = static_cast<char>(value[value.size() / 2] ^ 1);
      ASSERT_TRUE(db->Put({}, family, JournalKey(sequence), value).ok());
    });
  }
  // How often the store's LOG has the words.
  [[nodiscard]] size_t CountInLog(const std::string& words) const {
    std::ifstream file(directory() + "/LOG");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    size_t count = 0;
    for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
      ++count;
    }
    return count;
  }
  void Shut() {
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
  }
};

TEST_F(RecoveryTest, EntitiesThatReplayBroughtBackGoOnInAnyOrder) {
  for (const char* sensor : {"a", "b", "c"}) MustAppend(sensor, kStartMs, 1);
  Reopen();
  MustAppend("c", kStartMs + 1, 2);
  MustAppend("new", kStartMs + 1, 3);
  MustAppend("a", kStartMs + 1, 4);
  MustAppend("c", kStartMs + 2, 5);
  Reopen();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}, {kStartMs + 1, 4}}));
  EXPECT_EQ(ScanAll("b"), (Rows{{kStartMs, 1}}));
  EXPECT_EQ(ScanAll("c"), (Rows{{kStartMs, 1}, {kStartMs + 1, 2}, {kStartMs + 2, 5}}));
  EXPECT_EQ(ScanAll("new"), (Rows{{kStartMs + 1, 3}}));
  ExpectSound();
}

TEST_F(RecoveryTest, RowsWrittenAfterADamagedJournalAreNotLostAtTheNextOpen) {
  for (int i = 0; i < 5; ++i) MustAppend("a", kStartMs + i, i);
  Shut();
  DamageRecord(3);
  Open();
  RecoveryReport report = engine_->Recovery();
  EXPECT_TRUE(report.recovered_with_loss);
  EXPECT_EQ(report.lost_sequence_first, 3u);
  EXPECT_EQ(report.lost_sequence_last, 5u);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 0}, {kStartMs + 1, 1}}));
  MustAppend("a", kStartMs + 100, 100);
  Crash();
  EXPECT_FALSE(engine_->Recovery().recovered_with_loss);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 0}, {kStartMs + 1, 1}, {kStartMs + 100, 100}}));
  EXPECT_EQ(engine_->GetMetrics().versions_written, 3u);
  ExpectSound();
}

TEST_F(RecoveryTest, OnlyTheDamagedFamilyIsGivenUp) {
  for (int i = 0; i < 3; ++i) MustAppend("a", kStartMs + i, i);  // records 1 to 3
  Shut();
  DamageRecord(2);
  {
    // A second family, as a process that does not know of the damage would have written it.
    Open();
    Shut();
  }
  Open();
  MustAppend("a", kStartMs + 50, 50);
  Crash();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 0}, {kStartMs + 50, 50}}));
}

TEST_F(RecoveryTest, AMissingRecordIsSaid) {
  for (int i = 0; i < 4; ++i) MustAppend("a", kStartMs + i, i);
  Shut();
  ChangeJournal([](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) {
    ASSERT_TRUE(db->Delete({}, family, JournalKey(1)).ok());
  });
  Open();
  const RecoveryReport report = engine_->Recovery();
  EXPECT_TRUE(report.recovered_with_loss);
  EXPECT_EQ(report.lost_sequence_first, 1u);
  EXPECT_GE(report.lost_sequence_last, 1u);
  EXPECT_EQ(CountInLog("acknowledged rows are missing: journal sequences 1 to "), 1u);
  EXPECT_EQ(CountInLog("error journal record 1 is missing"), 1u);
  ExpectSound();
}

TEST_F(RecoveryTest, WhatTheBeaconRemembersAndTheJournalLacksIsSaidOnce) {
  for (int i = 0; i < 4; ++i) MustAppend("a", kStartMs + i, i);
  Shut();  // the beacon says 4
  ChangeJournal([](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) {
    ASSERT_TRUE(db->Delete({}, family, JournalKey(3)).ok());
    ASSERT_TRUE(db->Delete({}, family, JournalKey(4)).ok());
  });
  Open();
  RecoveryReport report = engine_->Recovery();
  EXPECT_TRUE(report.recovered_with_loss);
  EXPECT_EQ(report.lost_sequence_first, 3u);
  EXPECT_EQ(report.lost_sequence_last, 4u);
  EXPECT_EQ(report.lost_record_count, 2u);
  const auto written = engine_->Append(Row("a", kStartMs + 9, 9));
  ASSERT_TRUE(written.ok());
  EXPECT_GT(written->sequence, 4u);  // never a sequence that was answered before
  Crash();
  EXPECT_EQ(CountInLog("error acknowledged rows are missing: journal sequences 3 to 4"), 1u);
  EXPECT_EQ(CountInLog("error the log has journal records up to 2, where those up to 4 were "
                       "acknowledged"), 1u);
  EXPECT_FALSE(engine_->Recovery().recovered_with_loss);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 0}, {kStartMs + 1, 1}, {kStartMs + 9, 9}}));
  ExpectSound();
}

TEST_F(RecoveryTest, ALostEndIsSaidToReadersToo) {
  for (int i = 0; i < 4; ++i) MustAppend("a", kStartMs + i, i);
  Shut();
  ChangeJournal([](rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family) {
    ASSERT_TRUE(db->Delete({}, family, JournalKey(4)).ok());
  });
  options_.read_only = true;
  Open();
  EXPECT_TRUE(engine_->Recovery().recovered_with_loss);
  EXPECT_EQ(engine_->Recovery().lost_sequence_first, 4u);
  EXPECT_EQ(engine_->Recovery().lost_sequence_last, 4u);
}

TEST_F(RecoveryTest, ADamagedJournalOpensForReadingAndNothingIsWritten) {
  for (int i = 0; i < 3; ++i) MustAppend("a", kStartMs + i, i);
  Shut();
  DamageRecord(2);
  options_.read_only = true;
  Open();
  ASSERT_NE(engine_, nullptr);
  EXPECT_TRUE(engine_->Recovery().recovered_with_loss);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 0}}));
}

TEST_F(RecoveryTest, DeletesOfAnEntityOfAnotherShapeAreRefusedNotJournaled) {
  MustAppend("a", kStartMs, 1);
  for (const std::string& bytes :
       {std::string("garbage"), std::string("\0\1a\0\1b", 6), std::string("\0\2a", 3)}) {
    const auto refused =
        engine_->DeleteRange("pumps", EntityKey{bytes}, {kStartMs, kStartMs + 10});
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(engine_->DeleteBucket("pumps", EntityKey{bytes}, kStartMs).status().code(),
              StatusCode::kInvalidArgument);
  }
  MustAppend("a", kStartMs + 1, 2);
  Reopen();
  EXPECT_FALSE(engine_->Recovery().recovered_with_loss);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}, {kStartMs + 1, 2}}));
}

// Its record is in meta and in the copy of the catalog: either is enough.
TEST_F(RecoveryTest, ARecordOfAnUnknownBootIsDamageNotTheEnd) {
  clock_->SetWallMicros(0);  // untrusted: the record names boot 1
  MustAppend("a", kStartMs, 1);
  for (const bool has_copy : {true, false}) {
    Shut();
    StoreConfig config;
    config.directory = directory();
    config.clock = clock_;
    {
      auto opened = OpenStore(config);
      ASSERT_TRUE(opened.ok());
      ASSERT_TRUE(opened->db->Delete({}, opened->families["meta"], BootKey(1)).ok());
      ASSERT_TRUE(opened->Close().ok());
    }
    for (const char* name : {"/CATALOG-1", "/CATALOG-2"}) {
      if (!has_copy) std::filesystem::remove(directory() + name);
    }
    Open();
    ASSERT_NE(engine_, nullptr);
    EXPECT_EQ(engine_->Recovery().recovered_with_loss, !has_copy);
    ExpectSound();
  }
}

TEST_F(RecoveryTest, ALargeJournalGoesIntoSegmentsWhileItIsRead) {
  options_.memory_budget_bytes = 64 << 20;
  Reopen();
  RowBatch batch(schema_);
  int64_t ts = kStartMs;
  uint64_t written = 0;
  for (int i = 0; i < 40; ++i) {
    batch.Clear();
    for (int k = 0; k < 2000; ++k) {
      AddRow(&batch, std::string(1, static_cast<char>('A' + k % 50)), ++ts, k);
    }
    ASSERT_TRUE(engine_->Append(batch, {Durability::kLog}).ok());
    written += batch.row_count();
  }
  options_.memory_budget_bytes = 8 << 20;
  Reopen();
  EXPECT_GT(engine_->GetMetrics().rotations, 0u);
  EXPECT_EQ(engine_->GetMetrics().versions_written, written);
  ExpectSound();
  Crash();
  EXPECT_EQ(engine_->GetMetrics().versions_written, written);
  ExpectSound();
}

// What decodes the journal is memory too, for as long as it is read.
TEST_F(RecoveryTest, TheStateOfTheJournalsDecoderIsCharged) {
  constexpr int kSensors = 5000;
  RowBatch batch(schema_);
  for (int i = 0; i < kSensors; ++i) AddRow(&batch, "sensor-" + std::to_string(i), kStartMs, i);
  ASSERT_TRUE(engine_->Append(batch, {Durability::kLog}).ok());
  Reopen();
  const Metrics m = engine_->GetMetrics();
  EXPECT_EQ(m.versions_head, static_cast<uint64_t>(kSensors));
  EXPECT_GT(Core()->query().budget->peak_bytes(),
            Core()->query().budget->used_bytes() + kSensors * 60);
}

TEST_F(RecoveryTest, ReplayedRowsGrowOldToo) {
  options_.head_age_us_max = 1'000'000;
  Reopen();
  MustAppend("a", kStartMs, 1);
  Reopen();
  clock_->AdvanceSeconds(2);
  ASSERT_TRUE(engine_->Tick({100}).ok());
  EXPECT_EQ(engine_->GetMetrics().versions_head, 0u);
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
}

}  // namespace
}  // namespace cistern::testing
