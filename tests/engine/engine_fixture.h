// What the engine's tests share: a store in memory, a clock that stands still, one table,
// and short words for writing and reading it.
#ifndef CISTERN_TESTS_ENGINE_ENGINE_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_ENGINE_FIXTURE_H_

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cistern/cistern.h"
#include "engine/engine_impl.h"
#include "storage/outbox.h"
#include "tests/support/fake_clock.h"
#include "tests/support/fault_fs.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {

inline constexpr char kPumps[] = R"(
CREATE TABLE plant.pumps (
  sensor text, day date, ts timestamp, flow double, state text,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day';
)";
// The same with the timestamps of its events.
inline constexpr char kEventPumps[] = R"(
CREATE TABLE plant.pumps (
  sensor text, day date, ts timestamp, flow double, state text,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day; timestamps = event';
)";
inline constexpr int64_t kStartMs = 1'799'971'200'000;  // 2027-01-15T00:00:00Z
inline constexpr int64_t kStartUs = kStartMs * 1000;
inline constexpr int64_t kDayMs = 86'400'000;

using Rows = std::vector<std::pair<int64_t, double>>;  // ts and flow; NaN-free

class EngineFixture : public ::testing::Test {
 protected:
  EngineFixture() : temp_("cistern-engine") {
    clock_->SetWallMicros(kStartUs);
    options_.background_threads = false;
    options_.memory_budget_bytes = 16 << 20;
    options_.clock = clock_;
    options_.head_age_us_max = limits::kHeadAgeUsMax;  // not by age, however far the clock goes
  }
  void SetUp() override { OpenWithTable(kPumps); }

  void OpenWithTable(const char* cql) {
    Open();
    ASSERT_NE(engine_, nullptr);
    const Status made = engine_->CreateTable(cql);
    ASSERT_TRUE(made.ok()) << made.ToString();
    schema_ = engine_->ListTables().front();
  }
  void Open() {
    auto opened = TryOpen(options_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    engine_ = *std::move(opened);
    if (!engine_->ListTables().empty()) schema_ = engine_->ListTables().front();
  }
  Result<std::unique_ptr<Engine>> TryOpen(const EngineOptions& options) {
    return OpenEngineOver(directory(), options, fs_);
  }
  void Reopen() {
    const Status closed = engine_->Close();
    EXPECT_TRUE(closed.ok()) << closed.ToString();
    engine_.reset();
    Open();
  }
  // Everything as the process would have left it without Close: a copy is opened.
  void Crash() { GoOnWith(CopyStore()); }
  // What a process that ended now would leave behind. RocksDB's own threads begin nothing
  // and delete nothing while it is copied.
  std::string CopyStore() {
    std::string copy = std::filesystem::path(temp_.path()) / std::to_string(++copies_);
    const auto core = EngineImpl::Of(engine_.get())->core();
    rocksdb::DB* db = core.ok() ? (*core)->store().db().db() : nullptr;
    if (db != nullptr) {
      EXPECT_TRUE(db->PauseBackgroundWork().ok());
      EXPECT_TRUE(db->DisableFileDeletions().ok());
    }
    std::filesystem::copy(directory(), copy, std::filesystem::copy_options::recursive);
    if (db != nullptr) {
      EXPECT_TRUE(db->EnableFileDeletions(/*force=*/false).ok());
      EXPECT_TRUE(db->ContinueBackgroundWork().ok());
    }
    return copy;
  }
  void GoOnWith(std::string copy) {
    engine_.reset();
    directory_ = std::move(copy);
    Open();
  }
  [[nodiscard]] std::string directory() const {
    if (!directory_.empty()) return directory_;
    return std::filesystem::path(temp_.path()) / "store";
  }

  RowBatch Row(const std::string& sensor, int64_t ts, double flow) {
    RowBatch batch(schema_);
    AddRow(&batch, sensor, ts, flow);
    return batch;
  }
  static void AddRow(RowBatch* batch, const std::string& sensor, int64_t ts, double flow,
                     RowKind kind = RowKind::kInsert, std::optional<uint32_t> ttl_s = {}) {
    batch->BeginRow(kind);
    EXPECT_TRUE(batch->SetBytes(0, sensor).ok());
    EXPECT_TRUE(batch->SetInt(2, ts).ok());
    if (kind != RowKind::kDeleteRow) {
      EXPECT_TRUE(batch->SetDouble(3, flow).ok());
    }
    if (ttl_s) {
      EXPECT_TRUE(batch->SetTtl(*ttl_s).ok());
    }
    const Status ended = batch->EndRow();
    EXPECT_TRUE(ended.ok()) << ended.ToString();
  }
  Status Append(const std::string& sensor, int64_t ts, double flow, WriteOptions options = {}) {
    return engine_->Append(Row(sensor, ts, flow), options).status();
  }
  void MustAppend(const std::string& sensor, int64_t ts, double flow, WriteOptions options = {}) {
    const Status s = Append(sensor, ts, flow, options);
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  EntityKey Entity(const std::string& sensor) {
    const std::string_view parts[] = {sensor};
    return *EntityFromText(*schema_, parts);
  }
  ScanRequest Request(const std::string& sensor, int64_t from, int64_t to) {
    ScanRequest request;
    request.table = schema_->name;
    request.entity = Entity(sensor);
    request.from = from;
    request.to = to;
    request.columns = {"ts", "flow"};
    return request;
  }
  // All rows of the scan; nulls of flow as -1.
  Rows Scan(const ScanRequest& request) {
    Rows out;
    auto cursor = engine_->Scan(request);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    if (!cursor.ok()) return out;
    Drain(cursor->get(), &out);
    EXPECT_EQ((*cursor)->status().ok(), !expect_gaps_) << (*cursor)->status().ToString();
    EXPECT_EQ((*cursor)->gaps().empty(), !expect_gaps_);
    return out;
  }
  Rows Scan(const std::string& sensor, int64_t from, int64_t to) {
    return Scan(Request(sensor, from, to));
  }
  // A month from the start on.
  Rows ScanAll(const std::string& sensor) { return Scan(sensor, kStartMs, kStartMs + 30 * kDayMs); }
  static void Drain(Cursor* cursor, Rows* out) {
    ResultBatch batch;
    while (cursor->Next(&batch)) AddRows(batch, out);
  }
  static void AddRows(const ResultBatch& batch, Rows* out) {
    for (size_t i = 0; i < batch.row_count; ++i) {
      const bool missing = batch.columns[1].state(i) != CellState::kValue;
      out->emplace_back(batch.columns[0].fixed[i], missing ? -1 : batch.columns[1].AsDouble(i));
    }
  }
  void Rotate() {
    const Status s = engine_->Rotate();
    ASSERT_TRUE(s.ok()) << s.ToString();
  }
  void SealAll() {
    const auto report = engine_->Seal({.due_only = false});
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    ASSERT_TRUE(report->problems.empty()) << report->problems.front();
  }
  void TickAll() {
    for (bool more = true; more;) {
      const auto report = engine_->Tick();
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      more = report->more_due;
    }
  }
  // As a replicator has them confirmed, all proved in the same way.
  Status TryConfirm(const std::vector<SealName>& seals, ProofLevel proof = ProofLevel::kAck) {
    std::vector<ProvenSeal> proven;
    for (const SealName& name : seals) proven.push_back({name, proof});
    return Core()->maintenance().Confirm(proven).status();
  }
  // Every version written is in one state, and what Verify finds.
  void ExpectSound() {
    const Metrics m = engine_->GetMetrics();
    EXPECT_EQ(m.versions_written, m.versions_open + m.versions_sealed + m.versions_superseded +
                                      m.versions_expired + m.versions_shed);
    EXPECT_EQ(m.versions_sealed, m.versions_waiting + m.versions_parked + m.versions_confirmed);
    EXPECT_LE(m.versions_confirmed_by_count + m.versions_confirmed_by_rows, m.versions_confirmed);
    const auto report = engine_->Verify();
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    EXPECT_TRUE(report->problems.empty()) << report->problems.front();
    EXPECT_EQ(report->versions, m.versions_open + m.versions_sealed);
  }
  static void FlipBit(const std::string& path, int64_t at, int bit = 0) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    char byte = 0;
    file.seekg(at);
    file.get(byte);
    file.seekp(at);
    file.put(static_cast<char>(byte ^ (1 << bit)));
    ASSERT_TRUE(file.good()) << path;
  }
  // The core behind the engine, for tests that look inside.
  std::shared_ptr<EngineCore> Core() { return *EngineImpl::Of(engine_.get())->core(); }

  cistern::testing::TempDir temp_;
  std::string directory_;  // empty: the first
  int copies_ = 0;
  std::shared_ptr<FakeClock> clock_ = std::make_shared<FakeClock>();
  std::shared_ptr<rocksdb::FileSystem> fs_;  // null: the machine's
  EngineOptions options_;
  bool expect_gaps_ = false;  // scans pass over damage, and say so
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const TableSchema> schema_;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_ENGINE_FIXTURE_H_
