// Seals that the engine wrote, as they are read to be sent.
#include "engine/replicate/seal_content.h"

#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "engine/replicate/row_binder.h"
#include "lib/row/version_hash.h"
#include "tests/engine/replicate/outbox_fixture.h"
#include "tests/engine/replicate/push_test_util.h"
#include "tests/support/rng.h"

namespace cistern::replicate {
namespace {

using testing::kDayMs;
using testing::kDayS;
using testing::kStartMs;
using testing::kStartUs;
using testing::Rng;
using testing::Rows;

constexpr size_t kFlow = 3;  // columns of plant.pumps
constexpr size_t kState = 4;

std::string Pumps(const std::string& columns) {
  return "CREATE TABLE plant.pumps (sensor text, day date, ts timestamp, " + columns +
         " PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day';";
}

class SealContentTest : public OutboxFixture {
 protected:
  [[nodiscard]] TablePtr Table() { return *Core()->tables().Find("pumps"); }
  Result<OpenedSeal> Open(const SealName& name, TablePtr shown = nullptr) {
    if (shown == nullptr) shown = Table();
    return OpenSeal({&Core()->store(), &Core()->tables(), memory_}, shown,
                    TimestampMode::kWriteTime, name);
  }
  OpenedSeal MustOpen(const SealName& name, const TablePtr& shown = nullptr) {
    auto opened = Open(name, shown);
    EXPECT_TRUE(opened.ok()) << opened.status().ToString();
    return opened.ok() ? *std::move(opened) : OpenedSeal{};
  }
  SealPage MustRead(const OpenedSeal& opened, uint32_t page = 0) {
    auto read = opened.content.read_page(page, now_s());
    EXPECT_TRUE(read.ok()) << read.status().ToString();
    return read.ok() ? *std::move(read) : SealPage{};
  }
  // Which of the first page's versions are left out.
  std::vector<bool> Shadowed(const SealName& name) { return MustRead(MustOpen(name)).shadowed; }
  SealName LastSealed() {
    SealAll();
    std::vector<WaitingSeal> all = Outbox();
    return *std::max_element(all.begin(), all.end(),
                             [](const auto& a, const auto& b) { return a.seal < b.seal; });
  }
  // A confirmed seal waits again.
  void Resend(const SealName& name) {
    const auto view = Core()->store().spills().view();
    for (const auto& window : view->windows) {
      if (!window->record.span.Holds(name.bucket.start_s)) continue;
      ASSERT_TRUE(view->meta->db()
                      ->Put({}, view->meta->handle(), OutboxKey(window->id, name.seal),
                            EncodeBucketKey(name.bucket))
                      .ok());
    }
  }
  void Append(int64_t ts, RowKind kind, std::optional<double> flow, bool nulls_flow = false,
              std::optional<uint32_t> ttl_s = {}) {
    RowBatch batch(schema_);
    batch.BeginRow(kind);
    ASSERT_TRUE(batch.SetBytes(0, "a").ok() && batch.SetInt(2, kStartMs + ts).ok());
    if (flow) {
      ASSERT_TRUE(batch.SetDouble(kFlow, *flow).ok());
    }
    if (nulls_flow) {
      ASSERT_TRUE(batch.SetNull(kFlow).ok());
    }
    if (ttl_s) {
      ASSERT_TRUE(batch.SetTtl(*ttl_s).ok());
    }
    ASSERT_TRUE(batch.EndRow().ok());
    ASSERT_TRUE(engine_->Append(batch).ok());
  }
  std::shared_ptr<const WindowFamily> WindowOf(const SealName& name) {
    for (const auto& window : Windows()) {
      if (window->record.span.Holds(name.bucket.start_s)) return window;
    }
    return nullptr;
  }
  void PutInWindow(const SealName& name, const std::string& key, const std::string& value) {
    const auto window = WindowOf(name);
    ASSERT_TRUE(window->family->db()->Put({}, window->family->handle(), key, value).ok());
  }

  MemoryBudget budget_{64 << 20};
  std::shared_ptr<PushMemory> memory_ = std::make_shared<PushMemory>(&budget_);
};

TEST_F(SealContentTest, TheFirstWriteIsKnownWithoutReadingRows) {
  Append(5, RowKind::kInsert, 1);
  clock_->AdvanceSeconds(1);
  Append(1, RowKind::kInsert, 2);
  const SealName name = LastSealed();
  const SealReading from{&Core()->store(), &Core()->tables(), memory_};
  const std::vector<int64_t> written = MustRead(MustOpen(name)).rows.write_us;
  ASSERT_EQ(written.size(), 2u);
  const auto first = ReadFirstWrite(from, *schema_, name);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  EXPECT_EQ(*first, std::min(written[0], written[1]));
  EXPECT_LT(*first, std::max(written[0], written[1]));
  TableSchema events = *schema_;
  events.timestamps = TimestampMode::kEventTime;
  EXPECT_EQ(ReadFirstWrite(from, events, name).value(), (kStartMs + 1) * 1000);
  EXPECT_EQ(ReadFirstWrite(from, *schema_, {name.bucket, name.seal + 1}).status().code(),
            StatusCode::kNotFound);
}

TEST_F(SealContentTest, TheLastSealOfABucketIsTheNewest) {
  Append(5, RowKind::kInsert, 1);
  const SealName first = LastSealed();
  EXPECT_TRUE(MustOpen(first).is_newest);
  Append(5, RowKind::kInsert, 2);
  const SealName second = LastSealed();
  EXPECT_FALSE(MustOpen(first).is_newest);
  EXPECT_TRUE(MustOpen(second).is_newest);
}

// What it had, and whether it was sent, nobody knows any more.
TEST_F(SealContentTest, OlderSealsMayExistOnceAWindowWasGivenUp) {
  options_.keep_unconfirmed_s = 5 * kDayS;
  Reopen();
  Append(0, RowKind::kInsert, 1);
  EXPECT_FALSE(MustOpen(LastSealed()).older_may_exist);
  clock_->AdvanceSeconds(7 * kDayS);
  ASSERT_TRUE(engine_->Expire().ok());
  ASSERT_EQ(engine_->GetMetrics().versions_shed, 1u);
  ASSERT_EQ(engine_->GetMetrics().versions_expired, 0u);
  Append(7 * kDayMs, RowKind::kInsert, 2);
  EXPECT_TRUE(MustOpen(LastSealed()).older_may_exist);
}

TEST_F(SealContentTest, IsWhatWasSealed) {
  RowBatch batch(schema_);
  constexpr int64_t kRowCount = 6000;  // three pages
  for (int64_t i = 0; i < kRowCount; ++i) {
    AddRow(&batch, "a", kStartMs + i, static_cast<double>(i), RowKind::kInsert,
           i % 7 == 0 ? std::optional<uint32_t>(100) : std::nullopt);
  }
  ASSERT_TRUE(engine_->Append(batch).ok());
  const OpenedSeal opened = MustOpen(LastSealed());
  ASSERT_GT(opened.content.page_count, 1u);
  uint64_t hash = 0;
  uint64_t row_count = 0;
  for (uint32_t page = 0; page < opened.content.page_count; ++page) {
    const SealPage read = MustRead(opened, page);
    EXPECT_TRUE(read.shadowed.empty());
    hash += HashVersions(*schema_, read.rows);
    row_count += read.rows.row_count;
  }
  EXPECT_EQ(row_count, static_cast<uint64_t>(kRowCount));
  EXPECT_EQ(opened.manifest.row_count, row_count);
  EXPECT_EQ(opened.manifest.content_hash, hash);
  EXPECT_TRUE(opened.content.deletes.empty());
}

TEST_F(SealContentTest, RowsShowAsTheTableIsNowWhateverTheyWereSealedAs) {
  const auto alter = [this](const std::string& columns) {
    const Status s = engine_->AlterTable(Pumps(columns));
    ASSERT_TRUE(s.ok()) << s.ToString();
    schema_ = *engine_->FindTable("pumps");
  };
  Append(1, RowKind::kInsert, 1.5);
  const SealName first = LastSealed();
  const TablePtr before = Table();
  alter("rpm int, flow double,");  // state is dropped, rpm is new and stands before
  RowBatch batch(schema_);
  batch.BeginRow();
  ASSERT_TRUE(batch.SetBytes(0, "b").ok() && batch.SetInt(2, kStartMs).ok() &&
              batch.SetInt(3, 900).ok() && batch.SetDouble(4, 2.5).ok() && batch.EndRow().ok());
  ASSERT_TRUE(engine_->Append(batch).ok());
  const SealName second = LastSealed();

  const VersionColumns now = MustRead(MustOpen(first)).rows;
  ASSERT_EQ(now.columns.size(), 5u);
  EXPECT_EQ(now.columns[3].state(0), CellState::kAbsent);
  EXPECT_EQ(now.columns[4].AsDouble(0), 1.5);
  const VersionColumns as_before = MustRead(MustOpen(second, before)).rows;
  EXPECT_EQ(as_before.columns[kFlow].AsDouble(0), 2.5);
  EXPECT_EQ(as_before.columns[kState].state(0), CellState::kAbsent);
  const VersionColumns both = MustRead(MustOpen(second)).rows;
  EXPECT_EQ(both.columns[3].fixed[0], 900);
}

TEST_F(SealContentTest, ProvisionalRowsHaveTheirTrueTime) {
  clock_->Reboot("boot-2", 0);  // 1970: not believed
  Reopen();
  MustAppend("a", kStartMs, 1);
  ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("a"), {kStartMs + 5, kStartMs + 9}).ok());
  clock_->AdvanceSeconds(10);
  MustAppend("a", kStartMs + 1, 2);
  constexpr int64_t kTrueUs = kStartUs + 3600'000'000ll;
  clock_->SetWallMicros(kTrueUs);
  TickAll();
  const OpenedSeal opened = MustOpen(LastSealed());
  const VersionColumns rows = MustRead(opened).rows;
  ASSERT_EQ(rows.row_count, 2u);
  EXPECT_NEAR(static_cast<double>(rows.write_us[0]), kTrueUs - 10e6, 1e6);
  EXPECT_NEAR(static_cast<double>(rows.write_us[1]), kTrueUs, 1e6);
  EXPECT_TRUE(rows.boot.empty());
  ASSERT_EQ(opened.content.deletes.size(), 1u);
  EXPECT_NEAR(static_cast<double>(opened.content.deletes[0].write_us), kTrueUs - 10e6, 1e6);
  EXPECT_EQ(opened.content.deletes[0].boot, 0u);
}

TEST_F(SealContentTest, WhatOtherSealsDeletedIsLeftOut) {
  for (const int64_t ts : {1, 2, 3, 4}) Append(ts, RowKind::kInsert, 1);
  const SealName first = LastSealed();
  EXPECT_TRUE(Shadowed(first).empty());
  Append(2, RowKind::kDeleteRow, {});
  Append(2, RowKind::kInsert, 5);
  ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("a"), {kStartMs + 4, kStartMs + 9}).ok());
  const SealName second = LastSealed();
  const std::vector<bool> expected = {false, true, false, true};
  EXPECT_EQ(Shadowed(first), expected) << "the other one waits";
  Confirm({first, second});
  EXPECT_EQ(Shadowed(first), expected);
  Resend(first);
  EXPECT_EQ(Shadowed(first), expected);
  EXPECT_EQ(Shadowed(second), std::vector<bool>{}) << "nothing is older than what it deletes";
}

// What waits comes by itself. What has come may be forgotten.
TEST_F(SealContentTest, ConfirmedNullsAndWhatIsOverTakeTheirCells) {
  for (const int64_t ts : {1, 2, 3}) Append(ts, RowKind::kUpdate, 1);
  const SealName first = LastSealed();
  Append(1, RowKind::kUpdate, {}, true);
  const SealName nulls = LastSealed();
  Append(2, RowKind::kUpdate, 7, false, 60);
  const SealName over = LastSealed();
  EXPECT_TRUE(Shadowed(first).empty());
  Confirm({nulls, over});
  EXPECT_EQ(Shadowed(first), (std::vector<bool>{true, false, false}));
  clock_->AdvanceSeconds(61);
  EXPECT_EQ(Shadowed(first), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(MustRead(MustOpen(first)).rows.columns[kFlow].state(1), CellState::kAbsent);
}

TEST_F(SealContentTest, ADamagedPageIsNamedAndTheOthersAreRead) {
  RowBatch batch(schema_);
  for (int64_t i = 0; i < 6000; ++i) AddRow(&batch, "a", kStartMs + i, 1);
  ASSERT_TRUE(engine_->Append(batch).ok());
  const SealName first = LastSealed();
  PutInWindow(first, PageKey(first.seal, 1), "no page");
  const OpenedSeal opened = MustOpen(first);
  (void)MustRead(opened, 0);
  const auto read = opened.content.read_page(1, now_s());
  EXPECT_EQ(read.status().code(), StatusCode::kCorruption);
  EXPECT_TRUE(read.status().message().starts_with("page 1 of segment " +
                                                  std::to_string(first.seal) + " in window "))
      << read.status().message();
  (void)MustRead(opened, opened.content.page_count - 1);
}

// One that waits comes later and deletes then; of one that has come its deletes must be known.
TEST_F(SealContentTest, DamageInAnotherSealCountsOnceThatIsConfirmed) {
  Append(1, RowKind::kInsert, 1);
  const SealName first = LastSealed();
  Append(1, RowKind::kDeleteRow, {});
  const SealName second = LastSealed();
  PutInWindow(second, PageKey(second.seal, 0), "no page");
  EXPECT_TRUE(Shadowed(first).empty());
  Confirm({second});
  const OpenedSeal opened = MustOpen(first);
  const auto read = opened.content.read_page(0, now_s());
  EXPECT_EQ(read.status().code(), StatusCode::kCorruption);
  EXPECT_NE(read.status().message().find("segment " + std::to_string(second.seal)),
            std::string::npos)
      << read.status().message();
  PutInWindow(second, HeaderKey(RotationOf(second.seal), second.bucket), "no header");
  EXPECT_EQ(Open(first).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(Open(second).status().code(), StatusCode::kCorruption);
}

TEST_F(SealContentTest, ASealThatIsNotThereIsNotFound) {
  Append(1, RowKind::kInsert, 1);
  SealName name = LastSealed();
  ++name.seal;
  EXPECT_EQ(Open(name).status().code(), StatusCode::kNotFound);
  --name.seal;
  const auto view = Core()->store().spills().view();
  ASSERT_TRUE(view->meta->db()
                  ->Put({}, view->meta->handle(),
                        ManifestKey(WindowOf(name)->id, name.bucket, name.seal), "damaged")
                  .ok());
  const Status s = Open(name).status();
  EXPECT_EQ(s.code(), StatusCode::kCorruption);
  EXPECT_NE(s.message().find("seal " + std::to_string(name.seal)), std::string::npos);
}

// The content keeps the files, and lets the store forget all else.
TEST_F(SealContentTest, AWindowMayEndWhileItIsRead) {
  Append(1, RowKind::kInsert, 1, false, 3600);
  const SealName name = LastSealed();
  OpenedSeal opened = MustOpen(name);
  SealContent copy = opened.content;
  opened = {};
  clock_->AdvanceSeconds(3600);
  ASSERT_EQ(engine_->Expire()->windows, 1u);
  TickAll();
  EXPECT_TRUE(Windows().empty());
  EXPECT_TRUE(Core()->store().spills().view()->ended.empty());
  EXPECT_TRUE(Core()->store().HoldsDroppedWindow());
  const auto read = copy.read_page(0, now_s());
  ASSERT_TRUE(read.ok()) << read.status().ToString();
  EXPECT_EQ(read->rows.columns[kFlow].AsDouble(0), 1);
  EXPECT_EQ(Open(name).status().code(), StatusCode::kNotFound);
  copy = {};
  EXPECT_FALSE(Core()->store().HoldsDroppedWindow());
}

TEST_F(SealContentTest, PagesAreChargedToTheBudget) {
  RowBatch batch(schema_);
  for (int64_t i = 0; i < 3000; ++i) AddRow(&batch, "a", kStartMs + i, static_cast<double>(i));
  ASSERT_TRUE(engine_->Append(batch).ok());
  const SealName name = LastSealed();
  OpenedSeal opened = MustOpen(name);
  const size_t headers = budget_.used_bytes();
  EXPECT_GT(headers, 0u);
  const SealPage first = MustRead(opened);
  EXPECT_EQ(budget_.used_bytes(), headers + first.rows.MemoryBytes());
  const SealPage last = MustRead(opened, opened.content.page_count - 1);
  EXPECT_EQ(budget_.used_bytes(), headers + last.rows.MemoryBytes());

  budget_.Charge(budget_.left_bytes());
  opened = {};
  EXPECT_EQ(Open(name).ok(), true) << "there is room again";
  opened = MustOpen(name);
  budget_.Charge(budget_.left_bytes());
  EXPECT_EQ(opened.content.read_page(0, now_s()).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(Open(name).status().code(), StatusCode::kOutOfMemory);
  budget_.Release(32 << 20);
  (void)MustRead(opened);
}

TEST_F(SealContentTest, OlderOnesMayExistBesideOthersAndOnceAWindowHasEnded) {
  Append(1, RowKind::kInsert, 1);
  const SealName first = LastSealed();
  EXPECT_FALSE(MustOpen(first).older_may_exist);
  Append(2, RowKind::kInsert, 1);
  const SealName second = LastSealed();
  EXPECT_TRUE(MustOpen(second).older_may_exist);
  RowBatch batch(schema_);
  AddRow(&batch, "b", kStartMs + 20 * kDayMs, 1, RowKind::kInsert, 60);
  AddRow(&batch, "b", kStartMs + 30 * kDayMs, 1);
  ASSERT_TRUE(engine_->Append(batch).ok());
  const SealName other = LastSealed();
  EXPECT_FALSE(MustOpen(other).older_may_exist);
  clock_->AdvanceSeconds(61);
  ASSERT_EQ(engine_->Expire()->windows, 1u);
  EXPECT_TRUE(MustOpen(Outbox().back()).older_may_exist);
}

// One bucket, written and deleted and altered at random, sealed now and then. Its seals are sent
// and sent again, by turns and in any order, to a server that forgets all tombstones in between.
// What it shows must be what a scan shows.
class SealModelTest : public SealContentTest {
 protected:
  void Write(Rng* rng) {
    const int64_t ts = rng->Between(0, 4);
    if (rng->OneIn(12)) {
      const TimeRange range{kStartMs + ts, kStartMs + ts + rng->Between(1, 2)};
      ASSERT_TRUE(engine_->DeleteRange("pumps", Entity("a"), range).ok());
    } else if (rng->OneIn(6)) {
      Append(ts, RowKind::kDeleteRow, {});
    } else {
      const RowKind kind = rng->OneIn(2) ? RowKind::kInsert : RowKind::kUpdate;
      const bool nulls = rng->OneIn(4);
      const bool sets = !nulls && (kind == RowKind::kUpdate || !rng->OneIn(4));
      Append(ts, kind, sets ? std::optional<double>(rng->Between(1, 9)) : std::nullopt, nulls,
             rng->OneIn(3) ? std::optional<uint32_t>(rng->Between(1, 200)) : std::nullopt);
    }
  }
  void Send(const SealName& name, const std::shared_ptr<const RowBinder>& binder,
            ServerModel* server) {
    const OpenedSeal opened = MustOpen(name);
    PushOptions options;
    options.older_may_exist = opened.older_may_exist;
    BatchStream stream(binder, options, opened.content, {});
    while (!stream.at_end()) {
      PushBatch batch;
      const Status next = stream.Next(now_s(), &batch);
      ASSERT_TRUE(next.ok()) << next.ToString();
      server->Apply(batch, now_s());
    }
  }
  Rows Shown(const ServerModel& server) {
    Rows rows;
    for (const auto& [key, row] : server.partition().rows()) {
      if (!row.IsLive(now_s())) continue;
      const auto flow = row.cells.find("flow");
      const bool shows = flow != row.cells.end() && flow->second.IsLive(now_s());
      rows.emplace_back(
          key[0].fixed,
          shows ? std::bit_cast<double>(GetBig<int64_t>(flow->second.value.data())) : -1);
    }
    return rows;
  }
};

TEST_F(SealModelTest, TheClusterShowsWhatAScanShows) {
  const uint64_t seed = testing::SeedFromEnv();
  SCOPED_TRACE("CISTERN_SEED=" + std::to_string(seed));
  Rng rng(seed);
  for (int run = 0; run < 12; ++run) {
    const std::string entity = "a";
    std::vector<SealName> sealed;
    const auto statements = StatementsOf(schema_);
    ServerModel server(statements, 0);
    std::shared_ptr<const RowBinder> binder;
    for (int seal = 0; seal < 6; ++seal) {
      for (uint64_t n = 1 + rng.Below(8); n > 0; --n) Write(&rng);
      clock_->AdvanceSeconds(rng.Between(1, 60));
      SealAll();
      const auto waiting = Outbox();
      if (waiting.empty()) continue;  // what was written deleted itself
      ASSERT_EQ(waiting.size(), 1u);
      sealed.push_back(waiting.front());
      if (!binder) {
        const BucketKey& bucket = sealed.back().bucket;
        auto made = RowBinder::Make(statements, {bucket.entity, bucket.start_s, bucket.split});
        ASSERT_TRUE(made.ok());
        binder = std::make_shared<const RowBinder>(*std::move(made));
      }
      Send(sealed.back(), binder, &server);
      Confirm({sealed.back()});
      clock_->AdvanceSeconds(1);
      if (rng.OneIn(2)) server.partition().Purge(now_s(), 0);
      if (rng.OneIn(2)) Send(sealed[rng.Below(sealed.size())], binder, &server);
      EXPECT_EQ(Shown(server), ScanAll(entity)) << "run " << run << " seal " << seal;
    }
    // The next run has the bucket anew.
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
    directory_ = std::string(temp_.path()) + "/run" + std::to_string(run);
    OpenWithTable(testing::kPumps);
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace cistern::replicate
