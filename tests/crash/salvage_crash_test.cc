// kill -9 at points of a salvage, and a power cut at every operation of one: what is left is the
// whole store or none, and the next attempt does it.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cistern/cistern.h"
#include "engine/engine_impl.h"
#include "engine/salvage_over.h"
#include "storage/file_kind.h"
#include "storage/salvaging_mark.h"
#include "tests/crash/killed_work.h"
#include "tests/support/cut_process.h"
#include "tests/support/outbox_names.h"
#include "tests/support/power_loss_fs.h"
#include "tests/support/rng.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

constexpr char kTable[] =
    "CREATE TABLE plant.pumps (sensor text, day date, ts timestamp, flow double, "
    "PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day';";
constexpr int64_t kFirstMs = 1'704'067'200'000;
constexpr int64_t kDayMs = 86'400'000;
constexpr int64_t kDays = 4;  // the first two are sealed, and the first one is confirmed
constexpr int64_t kRowsOfDay = 20;

// Whether the database of the damaged store opens: without it a salvage takes another way.
enum class Database : uint8_t { kOpens, kIsGone };

// The parent opens nothing: RocksDB's threads would not survive the next fork.
class SalvageCrash : public ::testing::TestWithParam<Database> {
 protected:
  SalvageCrash() : root_("cistern-salvage-crash") {}
  void SetUp() override {
    ASSERT_TRUE(InChild([&] { return Fill(); }));
    if (GetParam() == Database::kOpens) return;
    for (const auto& entry : fs::directory_iterator(Store())) {
      if (FileKindOf(entry.path().string()) == FileKind::kManifest) fs::remove(entry.path());
    }
  }

  [[nodiscard]] std::string Store() const { return root_.path() + "/store"; }
  [[nodiscard]] std::string NewStore() const { return root_.path() + "/new"; }

  static Result<std::unique_ptr<Engine>> Open(const std::string& directory) {
    EngineOptions options;
    options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
    options.background_threads = false;
    return OpenEngineOver(directory, options, nullptr);
  }
  Status Fill() const {
    CISTERN_ASSIGN_OR_RETURN(const auto engine, Open(Store()));
    CISTERN_RETURN_IF_ERROR(engine->CreateTable(kTable));
    for (int64_t day = 0; day < kDays; ++day) {
      CISTERN_RETURN_IF_ERROR(WriteDay(engine.get(), day));
      if (day < 2) CISTERN_RETURN_IF_ERROR(engine->Seal({.due_only = false}).status());
      if (day == 0) CISTERN_RETURN_IF_ERROR(ConfirmAll(engine.get()));
      if (day == 2) CISTERN_RETURN_IF_ERROR(engine->Rotate());
    }
    return Status::Ok();
  }
  static Status WriteDay(Engine* engine, int64_t day) {
    CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("pumps"));
    RowBatch batch(schema);
    for (int64_t n = 0; n < kRowsOfDay; ++n) {
      batch.BeginRow();
      CISTERN_RETURN_IF_ERROR(batch.SetBytes(0, "a"));
      CISTERN_RETURN_IF_ERROR(batch.SetInt(2, kFirstMs + day * kDayMs + n));
      CISTERN_RETURN_IF_ERROR(batch.SetDouble(3, static_cast<double>(n)));
      CISTERN_RETURN_IF_ERROR(batch.EndRow());
    }
    return engine->Append(batch).status();
  }
  static Status ConfirmAll(Engine* engine) {
    CISTERN_ASSIGN_OR_RETURN(const auto core, EngineImpl::Of(engine)->core());
    CISTERN_ASSIGN_OR_RETURN(const auto names, NamesInOutbox(core->store().spills().view()));
    std::vector<ProvenSeal> proven;
    for (const SealName& name : names) proven.push_back({name, ProofLevel::kAck});
    return core->maintenance().Confirm(proven).status();
  }
  static Result<int64_t> Count(Engine* engine) {
    return CountRows(engine, kFirstMs, kFirstMs + kDays * kDayMs);
  }
  Status SaveOnce(std::shared_ptr<rocksdb::FileSystem> target = nullptr) const {
    SalvageOptions options;
    options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
    CISTERN_ASSIGN_OR_RETURN(const SalvageReport report,
                             SalvageOver(Store(), NewStore(), options, std::move(target)));
    const bool is_whole = report.versions_lost == 0 && report.tables.at(0).versions_lost == 0;
    return is_whole ? Status::Ok() : Status::Internal(report.problems.front());
  }
  // What is there is a whole store, or none that anything takes for one; then it is salvaged.
  void ExpectWholeOrNone(const std::string& where) {
    SCOPED_TRACE(where);
    const bool is_begun = fs::exists(NewStore() + "/" + std::string(kSalvagingMarkFileName));
    const bool is_store = fs::exists(NewStore() + "/CISTERN") && !is_begun;
    if (is_store) {
      ASSERT_TRUE(InChild([&] { return CheckSaved(); }));
      return;
    }
    if (is_begun) {
      ASSERT_FALSE(InChild([&] { return Open(NewStore()).status(); })) << "half a store opened";
    }
    ASSERT_TRUE(InChild([&] { return SaveOnce(); }));
    ASSERT_TRUE(InChild([&] { return CheckSaved(); }));
    ASSERT_FALSE(InChild([&] { return SaveOnce(); })) << "a store was overwritten";
  }
  // The new store has every row, knows what is confirmed, and takes more.
  Status CheckSaved() const {
    CISTERN_ASSIGN_OR_RETURN(const auto engine, Open(NewStore()));
    const RecoveryReport recovery = engine->Recovery();
    if (!recovery.clean) return Status::Internal(recovery.notes.front());
    CISTERN_ASSIGN_OR_RETURN(const int64_t count, Count(engine.get()));
    if (count != kDays * kRowsOfDay) {
      return Status::Internal(std::to_string(count) + " rows");
    }
    const uint64_t confirmed = engine->GetMetrics().versions_confirmed;
    if (confirmed != kRowsOfDay) {
      return Status::Internal(std::to_string(confirmed) + " row versions are confirmed");
    }
    CISTERN_ASSIGN_OR_RETURN(const VerifyReport verified, engine->Verify());
    if (!verified.problems.empty()) return Status::Internal(verified.problems.front());
    return WriteDay(engine.get(), kDays);
  }

  TempDir root_;
};

constexpr const char* kPoints[] = {
    "create:after_format", "create:before_ready",  "create:after_ready",  "seal:before_commit",
    "seal:after_commit",   "confirm:after_commit", "salvage:after_round", "spill:before_commit",
    "spill:after_commit",  "salvage:before_end",   "salvage:after_end"};

TEST_P(SalvageCrash, KilledAtAnyPointLeavesAWholeStoreOrNone) {
  for (const char* point : kPoints) {
    int kills = 0;
    for (int hit = 1; hit <= 2; ++hit) {
      fs::remove_all(NewStore());
      const bool killed = KilledAt(point, hit, [&] { return SaveOnce(); });
      kills += killed ? 1 : 0;
      ExpectWholeOrNone(std::string(point) + ", passage " + std::to_string(hit));
      if (!killed) break;
    }
    EXPECT_GT(kills, 0) << point << " was never passed";
  }
}

// Directory entries that were not synced are lost too, each other time.
TEST_P(SalvageCrash, APowerCutAtAnyOperationLeavesAWholeStoreOrNone) {
  const uint64_t stride = EnvNumber("CISTERN_FAULT_STRIDE", 5);
  uint64_t cuts = 0;
  for (uint64_t fatal_op = 1;; fatal_op += stride) {
    fs::remove_all(NewStore());
    PowerLossPlan plan{.seed = fatal_op, .fatal_op = fatal_op};
    if (fatal_op % 2 == 0) {
      plan.shadow_directory = root_.path() + "/shadow";
      fs::remove_all(plan.shadow_directory);
      fs::create_directory(plan.shadow_directory);
    }
    const bool cut = RunUntilCut(
        [&] { return IsOk(SaveOnce(std::make_shared<PowerLossFileSystem>(plan))); });
    ExpectWholeOrNone("cut at operation " + std::to_string(fatal_op));
    if (HasFailure() || !cut) break;
    ++cuts;
  }
  EXPECT_GT(cuts, 80 / stride);
}

INSTANTIATE_TEST_SUITE_P(Crash, SalvageCrash,
                         ::testing::Values(Database::kOpens, Database::kIsGone),
                         [](const auto& run) {
                           return std::string(run.param == Database::kOpens ? "opens" : "gone");
                         });

}  // namespace
}  // namespace cistern::testing
