// A store with something of everything, to be damaged: what its files should give is known.
#ifndef CISTERN_TESTS_ENGINE_DAMAGED_STORE_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_DAMAGED_STORE_FIXTURE_H_

#include <rocksdb/sst_file_reader.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cistern/salvage.h"
#include "storage/file_kind.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/outbox_names.h"

namespace cistern::testing {

// The table of EngineFixture with one column more.
inline constexpr char kWiderPumps[] = R"(
CREATE TABLE plant.pumps (
  sensor text, day date, ts timestamp, flow double, state text, pressure double,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day';
)";

class DamagedStoreFixture : public EngineFixture {
 protected:
  static constexpr int64_t kDays = 3;
  static constexpr const char* kSensors[] = {"a", "b", "c"};

  DamagedStoreFixture() { options_.seal_when_due = false; }

  // Two sealed days, the first confirmed and then amended; one that is spilled in rotations; rows
  // that were overwritten and deletes in every part; a column that came later; rows in the journal
  // alone.
  void MakeStore() {
    for (int64_t day = 0; day < kDays; ++day) {
      MakeDay(day);
      clock_->AdvanceSeconds(86'400);
      if (day < 2) Seal();
      if (day == 1) ConfirmAll();
      if (day == 0) {
        const Status altered = engine_->AlterTable(kWiderPumps);
        ASSERT_TRUE(altered.ok()) << altered.ToString();
        schema_ = engine_->ListTables().front();
      }
    }
    Write("a", kStartMs + 5, 7);
    Rotate();
    Seal();
    Write("b", kStartMs + kDays * kDayMs, 8);
    for (const char* sensor : kSensors) expected_[sensor] = ScanAll(sensor);
    confirmed_ = engine_->GetMetrics().versions_confirmed;
    Shut();
  }
  void ConfirmAll() {
    const auto names = NamesInOutbox(Core()->store().spills().view());
    ASSERT_TRUE(names.ok()) << names.status().ToString();
    ASSERT_FALSE(names->empty());
    const Status confirmed = TryConfirm(*names, ProofLevel::kCount);
    ASSERT_TRUE(confirmed.ok()) << confirmed.ToString();
  }
  void MakeDay(int64_t day) {
    for (int half = 0; half < 2; ++half) {
      for (const char* sensor : kSensors) {
        RowBatch batch(schema_);
        for (int64_t i = 0; i < 40; ++i) {
          const int64_t ts = kStartMs + day * kDayMs + (half * 30 + i) * 60'000;
          const auto flow = static_cast<double>(day * 100 + half * 50 + i);
          AddRow(&batch, sensor, ts, flow);
          written_[sensor].insert({ts, flow});
        }
        ASSERT_TRUE(engine_->Append(batch).ok());
      }
      Rotate();
    }
    const int64_t from = kStartMs + day * kDayMs + 60'000;
    ASSERT_TRUE(
        engine_->DeleteRange(schema_->name, Entity("b"), TimeRange{from, from + 120'000}).ok());
    Rotate();
  }
  void Write(const std::string& sensor, int64_t ts, double flow) {
    MustAppend(sensor, ts, flow);
    written_[sensor].insert({ts, flow});
  }
  void Seal() {
    const auto report = engine_->Seal({});
    ASSERT_TRUE(report.ok()) << report.status().ToString();
  }
  void Shut() {
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
  }
  Rows ScanAll(const std::string& sensor) {
    return Scan(sensor, kStartMs - kDayMs, kStartMs + 20 * kDayMs);
  }

  std::vector<std::string> FilesOf(FileKind kind) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory())) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file() && FileKindOf(name) == kind) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::string PathOf(const std::string& name) const {
    return (std::filesystem::path(directory()) / name).string();
  }
  void Remove(const std::string& name) { std::filesystem::remove(PathOf(name)); }
  void Empty(const std::string& name) { std::filesystem::resize_file(PathOf(name), 0); }
  // The files that RocksDB wrote for the family.
  std::vector<std::string> TablesOf(const std::string& family) {
    std::vector<std::string> names;
    for (const std::string& name : FilesOf(FileKind::kSst)) {
      rocksdb::Options options;
      rocksdb::SstFileReader reader(options);
      EXPECT_TRUE(reader.Open(PathOf(name)).ok());
      if (reader.GetTableProperties()->column_family_name.starts_with(family)) {
        names.push_back(name);
      }
    }
    return names;
  }

  std::map<std::string, Rows> expected_;  // by sensor, when the store was shut
  std::map<std::string, std::set<std::pair<int64_t, double>>> written_;
  uint64_t confirmed_ = 0;  // row versions, then
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_DAMAGED_STORE_FIXTURE_H_
