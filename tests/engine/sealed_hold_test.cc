// What cursors over sealed buckets hold while they wait, and several of them beside a writer.
#include <rocksdb/db.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/engine/sealed_scan_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

class SealedHoldTest : public SealedScanFixture {
 protected:
  uint64_t PinnedBytes() {
    uint64_t bytes = 0;
    EXPECT_TRUE(Core()->store().db().db()->GetIntProperty("rocksdb.block-cache-pinned-usage",
                                                          &bytes));
    return bytes;
  }
  // A row whose page is as large as it is.
  void AppendLarge(int64_t ts, size_t bytes) {
    Rng rng(static_cast<uint64_t>(ts));
    std::string state(bytes, '\0');
    for (char& c : state) c = static_cast<char>('!' + rng.Below(90));
    RowBatch rows(schema_);
    AddState(&rows, ts, 0, state);
    const auto appended = engine_->Append(rows);
    ASSERT_TRUE(appended.ok()) << appended.status().ToString();
  }
};

// The block of a page is memory that no budget counts.
TEST_F(SealedHoldTest, ACursorThatWaitsHoldsNoLargePage) {
  constexpr int kDays = 12;
  constexpr size_t kBytes = 500'000;
  for (int day = 0; day < kDays; ++day) AppendLarge(kStartMs + day * kDayMs, kBytes);
  SealAll();
  Reopen();
  const uint64_t before = PinnedBytes();
  std::vector<std::unique_ptr<Cursor>> cursors;
  for (int day = 0; day < kDays; ++day) {
    ScanRequest request = Request("a", kStartMs + day * kDayMs, kStartMs + 30 * kDayMs);
    request.columns = {"ts", "state"};
    auto cursor = engine_->Scan(request);
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    ResultBatch batch;
    ASSERT_TRUE((*cursor)->Next(&batch));
    ASSERT_EQ(batch.row_count, 1u);
    ASSERT_EQ(batch.columns[1].bytes(0).size(), kBytes);
    cursors.push_back(*std::move(cursor));
  }
  EXPECT_LT(PinnedBytes(), before + kDays * kBytes / 4);
}

// Nor that of a page of a rotation, where RocksDB stands once headers were sought.
TEST_F(SealedHoldTest, ACursorOverRotationsHoldsNoLargePage) {
  constexpr int kDays = 6;
  constexpr size_t kBytes = 900'000;  // larger than a write buffer: files begin with a page
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  options_.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  Open();
  for (int day = 0; day < kDays; ++day) {
    AppendLarge(kStartMs + day * kDayMs, kBytes);
    Rotate();
  }
  // What RocksDB merges meanwhile is pinned as well.
  rocksdb::DB* const db = Core()->store().db().db();
  ASSERT_TRUE(db->PauseBackgroundWork().ok());
  const uint64_t before = PinnedBytes();
  for (const bool descending : {false, true}) {
    ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
    if (descending) std::swap(request.from, request.to);
    request.buckets_ahead = 1;
    const auto cursor = engine_->Scan(request);
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    ResultBatch batch;
    int rows = 0;
    for (; (*cursor)->Next(&batch); rows += static_cast<int>(batch.row_count)) {
      EXPECT_LT(PinnedBytes(), before + kBytes / 4) << "behind row " << rows;
    }
    ASSERT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
    EXPECT_EQ(rows, kDays);
  }
  EXPECT_TRUE(db->ContinueBackgroundWork().ok());
}

// A window that ended is gone for good once a cursor has moved on, though it has not ended.
TEST_F(SealedHoldTest, ACursorThatMovedOnHoldsNoEndedWindow) {
  AppendRun(kStartMs, 10'000, 0, RowKind::kInsert, 86'400);
  for (const int day : {9, 17, 25, 29}) AppendRun(kStartMs + day * kDayMs, 200, day);
  SealAll();
  const auto cursor = engine_->Scan(Request("a", kStartMs, kStartMs + 30 * kDayMs));
  ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
  ResultBatch batch;
  do {
    ASSERT_TRUE((*cursor)->Next(&batch));
  } while (batch.columns[0].fixed[0] < kStartMs + 9 * kDayMs);
  const size_t windows = Core()->store().spills().view()->windows.size();
  for (int half_day = 0; half_day < 80; ++half_day) {
    clock_->AdvanceSeconds(43'200);
    TickAll();
  }
  ASSERT_LT(Core()->store().spills().view()->windows.size(), windows) << "none has ended";
  for (int bucket = 0; bucket < 2; ++bucket) {
    ASSERT_TRUE((*cursor)->Next(&batch));
    TickAll();
  }
  EXPECT_FALSE(Core()->store().HoldsDroppedWindow());
}

// Overwrites repeat what was there, so each scan has to give the same, whatever moves under it.
TEST_F(SealedHoldTest, ScansInManyThreadsBesideAWriter) {
  constexpr int kDays = 13;
  ASSERT_TRUE(engine_->Close().ok());
  engine_.reset();
  options_.background_threads = true;
  options_.memory_budget_bytes = 32 << 20;
  Open();
  for (int day = 0; day < kDays; ++day) {
    AppendRun(kStartMs + day * kDayMs, day % 4 == 0 ? 5000 : 700, day * 10'000);
    if (day % 5 == 4) SealAll();
  }
  const Rows expected = ScanAll("a");
  ASSERT_EQ(expected.size(), 4u * 5000 + 9u * 700);
  std::atomic<bool> stops{false};
  std::thread writer([&] {
    Rng rng(7);
    while (!stops) {
      const auto day = static_cast<int>(rng.Below(kDays));
      const auto row = static_cast<int>(rng.Below(690));
      AppendRun(kStartMs + day * kDayMs + row * kRowMs, 5, day * 10'000 + row);
      if (rng.Below(3) == 0) Rotate();
      if (rng.Below(3) == 0) SealAll();
    }
  });
  std::vector<std::thread> readers;
  for (uint64_t reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      Rng rng(reader);
      for (int scan = 0; scan < 25; ++scan) {
        ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
        request.batch_rows_max = std::vector<size_t>{100, 777, 1024, 4096}[rng.Below(4)];
        request.buckets_ahead = rng.Below(2) * 4;
        EXPECT_TRUE(Scan(request) == expected);
      }
    });
  }
  for (std::thread& reader : readers) reader.join();
  stops = true;
  writer.join();
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
