// A damaged record of meta: what the store does without, what it keeps, what it says; and
// that it is whole again once the record is.
#include <rocksdb/db.h>

#include <optional>
#include <string>

#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "storage/keyspace.h"
#include "storage/meta_records.h"
#include "storage/record_coding.h"
#include "tests/engine/spill_fixture.h"

namespace cistern::testing {
namespace {

class DamagedCatalogTest : public SpillFixture {
 protected:
  void Shut() {
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
  }
  // Replaces a record behind the engine's back, or removes it; returns what it was.
  std::string Replace(const std::string& key, const std::optional<std::string>& value) {
    std::string before;
    Look([&](OpenedStore* store) {
      rocksdb::ColumnFamilyHandle* meta = store->families["meta"];
      EXPECT_TRUE(store->db->Get({}, meta, key, &before).ok());
      const rocksdb::Status s =
          value ? store->db->Put({}, meta, key, *value) : store->db->Delete({}, meta, key);
      EXPECT_TRUE(s.ok()) << s.ToString();
    });
    return before;
  }
  std::string Damage(const std::string& key) {
    const std::string whole = Replace(key, "");
    std::string damaged = whole;
    damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 1);
    Replace(key, damaged);
    return whole;
  }
  void Look(const std::function<void(OpenedStore*)>& look) {
    StoreConfig config;
    config.directory = directory();
    config.clock = clock_;
    auto opened = OpenStore(config);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    look(&*opened);
    ASSERT_TRUE(opened->Close().ok());
  }
  bool HasFamily(uint64_t id) {
    bool found = false;
    Look([&](OpenedStore* store) { found = store->families.contains(SpillFamilyName(id)); });
    return found;
  }
  // `versions` rows are quarantined, and the counters and Verify say so.
  void ExpectQuarantined(uint64_t versions, const std::string& named) {
    const RecoveryReport recovery = engine_->Recovery();
    EXPECT_FALSE(recovery.clean);
    EXPECT_FALSE(recovery.recovered_with_loss);
    EXPECT_EQ(recovery.records_damaged, 1u);
    EXPECT_EQ(recovery.versions_quarantined, versions);
    ASSERT_EQ(recovery.notes.size(), 1u);
    EXPECT_NE(recovery.notes[0].find(named), std::string::npos) << recovery.notes[0];
    EXPECT_NE(recovery.notes[0].find("cistern salvage --store " + directory() + " --to NEW"),
              std::string::npos)
        << recovery.notes[0];
    EXPECT_TRUE(Said(named));
    const Metrics m = engine_->GetMetrics();
    EXPECT_EQ(m.versions_quarantined, versions);
    EXPECT_EQ(m.versions_written,
              m.versions_open + m.versions_superseded + m.versions_quarantined);
    const auto report = engine_->Verify();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_EQ(report->versions, m.versions_open);
    ASSERT_EQ(report->problems.size(), 1u)
        << (report->problems.empty() ? "none" : report->problems.back());
    EXPECT_NE(report->problems[0].find(named), std::string::npos) << report->problems[0];
    if (versions > 0) {
      const std::string counted = "with " + std::to_string(versions) + " row versions";
      EXPECT_NE(report->problems[0].find(counted), std::string::npos) << report->problems[0];
    }
  }
  // The given sensors together lack as many rows as are quarantined, the others none; as whose
  // rows they were is not known, every scan of those days says that it may lack some.
  void ExpectLost(uint64_t versions, std::string_view sensors) {
    expect_gaps_ = true;
    ExpectAllBut(sensors);
    size_t missing = 0;
    for (const char c : sensors) {
      const std::string sensor(1, c);
      missing += expected_[sensor].size() - ScanAll(sensor).size();
    }
    EXPECT_EQ(missing, versions);
    expect_gaps_ = false;
    EXPECT_EQ(Scan("a", kStartMs + 40 * kDayMs, kStartMs + 41 * kDayMs), Rows());
  }
  void ExpectWhole() {
    EXPECT_TRUE(engine_->Recovery().clean);
    EXPECT_EQ(engine_->Recovery().records_damaged, 0u);
    ExpectAllBut("");
    ExpectSound();
  }
};

// Sensors a and b are in the first family and later, c and d only later and in the journal.
TEST_F(DamagedCatalogTest, ADamagedSpillRecordKeepsItsFamilyAndTheRestWorks) {
  FillUntilFamilies(2, "ab");
  Fill("cd");
  const uint64_t id = Oldest();
  const uint64_t versions = Families()[0]->record.version_count;
  MustAppend("c", next_ts_, 7);
  expected_["c"].emplace_back(next_ts_++, 7);
  Shut();
  const std::string whole = Damage(SpillKey(id));
  const std::string named = "spill family " + std::to_string(id);
  for (const bool read_only : {true, false, false}) {
    options_.read_only = read_only;
    Open();
    ExpectQuarantined(versions, named);
    ExpectLost(versions, "ab");
    if (!read_only) {
      Fill("cd");
      TickUntilIdle();
      EXPECT_TRUE(engine_->Health().ok());
      ExpectQuarantined(versions, named);
    }
    Shut();
    EXPECT_TRUE(HasFamily(id));
  }
  for (const std::string& bytes : {std::string(), whole.substr(0, 5), std::string(40, 'x')}) {
    Replace(SpillKey(id), bytes);
    Open();
    ExpectQuarantined(versions, named);
    Shut();
  }
  Replace(SpillKey(id), whole);
  Open();
  ExpectWhole();
}

TEST_F(DamagedCatalogTest, AMissingSpillRecordDoesNotDropAFamilyWhoseRowsAreMissing) {
  FillUntilFamilies(2, "ab");
  Fill("cd");
  const uint64_t id = Oldest();
  const uint64_t versions = Families()[0]->record.version_count;
  Shut();
  const std::string whole = Replace(SpillKey(id), std::nullopt);
  for (int opened = 0; opened < 2; ++opened) {
    Open();
    ExpectQuarantined(versions, "spill family " + std::to_string(id) + " has no record");
    ExpectLost(versions, "ab");
    Shut();
    EXPECT_TRUE(HasFamily(id));
  }
  Look([&](OpenedStore* store) {
    ASSERT_TRUE(store->db->Put({}, store->families["meta"], SpillKey(id), whole).ok());
  });
  Open();
  ExpectWhole();
}

// The rows of a superseded family are elsewhere: its damaged record hides nothing.
TEST_F(DamagedCatalogTest, ADamagedRecordOfASupersededFamilyQuarantinesNoRow) {
  FillUntilRespillIsDue();
  const uint64_t id = Oldest();
  const std::string record = EncodeSpill(Families()[0]->record);
  TickUntilIdle();
  ASSERT_GT(Oldest(), id);
  Shut();
  Look([&](OpenedStore* store) {
    rocksdb::ColumnFamilyHandle* handle = nullptr;
    ASSERT_TRUE(store->db
                    ->CreateColumnFamily(store->FamilyOptions(FamilyKind::kSpill),
                                         SpillFamilyName(id), &handle)
                    .ok());
    store->families[SpillFamilyName(id)] = handle;
    ASSERT_TRUE(store->db->Put({}, store->families["meta"], SpillKey(id), record.substr(1)).ok());
  });
  Open();
  ExpectQuarantined(0, "spill family " + std::to_string(id));
  ExpectAllBut("");
}

TEST_F(DamagedCatalogTest, RowsOfADamagedBootAreReadAndYieldToAllOthers) {
  clock_->SetWallMicros(0);
  MustAppend("a", kStartMs, 1);
  MustAppend("b", kStartMs, 1);
  Rotate();
  MustAppend("a", kStartMs + 1, 2);
  clock_->SetWallMicros(kStartUs + 60'000'000);
  MustAppend("b", kStartMs, 5);
  Shut();
  const std::string whole = Damage(BootKey(1));
  for (int opened = 0; opened < 2; ++opened) {
    Open();
    ExpectQuarantined(0, "boot record 1 is damaged");
    EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}, {kStartMs + 1, 2}}));
    EXPECT_EQ(ScanAll("b"), (Rows{{kStartMs, 5}}));
    Shut();
  }
  // Another untrusted clock does not take its number.
  clock_->Reboot("boot-2", 0);
  Open();
  MustAppend("c", kStartMs, 9);
  Shut();
  Replace(BootKey(1), whole);
  EXPECT_FALSE(Replace(BootKey(2), std::nullopt).empty());
}

TEST_F(DamagedCatalogTest, ABootRecordThatIsGoneLeavesTheOthersTheirNumbers) {
  for (const char* boot : {"x", "y", "z"}) {
    clock_->Reboot(boot, 0);
    Reopen();
    MustAppend(boot, kStartMs, 1);
    clock_->SetWallMicros(kStartUs + 60'000'000);
    MustAppend(boot, kStartMs + 1, 2);
  }
  Shut();
  Replace(BootKey(2), std::nullopt);
  Open();
  ExpectQuarantined(0, "boot record 2 is missing");
  for (const char* boot : {"x", "y", "z"}) {
    EXPECT_EQ(ScanAll(boot), (Rows{{kStartMs, 1}, {kStartMs + 1, 2}})) << boot;
  }
}

// Rewriting would write down times that are not known.
TEST_F(DamagedCatalogTest, NothingIsRewrittenWhileABootIsDamaged) {
  clock_->SetWallMicros(0);
  MustAppend("z", kStartMs, 1);
  clock_->SetWallMicros(kStartUs + 60'000'000);
  FillUntilRespillIsDue();
  const uint64_t oldest = Oldest();
  Shut();
  const std::string whole = Damage(BootKey(1));
  Open();
  TickUntilIdle();
  EXPECT_EQ(Oldest(), oldest);
  ExpectAllBut("");
  Shut();
  Replace(BootKey(1), whole);
  Open();
  TickUntilIdle();
  EXPECT_GT(Oldest(), oldest);
  EXPECT_EQ(ScanAll("z"), (Rows{{kStartMs, 1}}));
  ExpectWhole();
}

TEST_F(DamagedCatalogTest, WithoutStateOrSchemaTheStoreSaysWhatToDoAndChangesNothing) {
  MustAppend("a", kStartMs, 1);
  Rotate();
  Shut();
  const std::string unknown = "Z";
  Look([&](OpenedStore* store) {
    ASSERT_TRUE(store->db->Put({}, store->families["meta"], unknown, "").ok());
  });
  EXPECT_EQ(TryOpen(options_).status().code(), StatusCode::kCorruption);
  Replace(unknown, std::nullopt);
  for (const auto& [key, named] : {std::pair(std::string(kStateKey), "state record"),
                                   std::pair(TableKey(1), "table 1")}) {
    const std::string whole = Damage(key);
    const auto opened = TryOpen(options_);
    ASSERT_EQ(opened.status().code(), StatusCode::kCorruption);
    const std::string& message = opened.status().message();
    EXPECT_NE(message.find(named), std::string::npos) << message;
    EXPECT_NE(message.find("cistern salvage --store " + directory() + " --to NEW"),
              std::string::npos) << message;
    Replace(key, whole);
    Open();
    EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
    ExpectSound();
    Shut();
  }
}

// A record of a later version is no damage: nothing is quarantined, the store stays shut.
TEST_F(DamagedCatalogTest, ARecordOfALaterVersionIsTooNew) {
  clock_->SetWallMicros(0);
  MustAppend("a", kStartMs, 1);
  Rotate();
  const uint64_t id = Oldest();
  Shut();
  for (const std::string& key :
       {std::string(kStateKey), TableKey(1), BootKey(1), SpillKey(id)}) {
    const std::string whole = Replace(key, "");
    std::string newer = whole.substr(0, whole.size() - 8);
    newer[0] = static_cast<char>(newer[0] + 1);
    PutLittle<uint64_t>(&newer, Checksum(newer));
    Replace(key, newer);
    EXPECT_EQ(TryOpen(options_).status().code(), StatusCode::kTooNew);
    Replace(key, whole);
  }
  Open();
  ExpectSound();
}

// Nor is one of an earlier version: the advice is to salvage, and nothing is touched.
TEST_F(DamagedCatalogTest, AStoreOfAnEarlierVersionIsRefusedInWords) {
  MustAppend("a", kStartMs, 1);
  Shut();
  const std::string whole = Replace(std::string(kStateKey), "");
  std::string older = whole.substr(0, whole.size() - 8);
  older[0] = static_cast<char>(record_coding::kRecordVersion - 1);
  PutLittle<uint64_t>(&older, Checksum(older));
  Replace(std::string(kStateKey), older);
  const Status status = TryOpen(options_).status();
  EXPECT_EQ(status.code(), StatusCode::kNotSupported) << status.ToString();
  EXPECT_NE(status.message().find("salvage the store with the version that wrote it"),
            std::string::npos)
      << status.ToString();
  Replace(std::string(kStateKey), whole);
  Open();
  EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}}));
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
