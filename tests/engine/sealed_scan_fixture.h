// What tests of scans over sealed buckets share: rows of one entity, how far they are read without
// a merge, and a merge to compare with.
#ifndef CISTERN_TESTS_ENGINE_SEALED_SCAN_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_SEALED_SCAN_FIXTURE_H_

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/query/bucket_walk.h"
#include "engine/query/sealed_rows.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {

using State = SealedRows::State;

inline constexpr int64_t kRowMs = 2000;

class SealedScanFixture : public EngineFixture {
 protected:
  SealedScanFixture() { options_.event_future_s_max = 40 * 86'400; }

  // `count` rows from `first` on, of flow `flow`, `flow` + 1 ...; those of no flow have none.
  void AppendRun(int64_t first, int count, double flow, RowKind kind = RowKind::kInsert,
                 std::optional<uint32_t> ttl_s = {}) {
    RowBatch batch(schema_);
    for (int i = 0; i < count; ++i) AddRow(&batch, "a", first + i * kRowMs, flow + i, kind, ttl_s);
    const auto appended = engine_->Append(batch);
    ASSERT_TRUE(appended.ok()) << appended.status().ToString();
  }
  static void AddState(RowBatch* batch, int64_t ts, double flow, const std::string& state) {
    batch->BeginRow();
    EXPECT_TRUE(batch->SetBytes(0, "a").ok());
    EXPECT_TRUE(batch->SetInt(2, ts).ok());
    EXPECT_TRUE(batch->SetDouble(3, flow).ok());
    EXPECT_TRUE(batch->SetBytes(4, state).ok());
    EXPECT_TRUE(batch->EndRow().ok());
  }
  void DeleteTimes(int64_t from, int64_t to) {
    const auto deleted = engine_->DeleteRange(schema_->name, Entity("a"), {from, to});
    ASSERT_TRUE(deleted.ok()) << deleted.status().ToString();
  }

  // How the first bucket is read without a merge: how many rows, and what comes then. Nothing: not
  // at all.
  std::optional<std::pair<size_t, State>> ReadUnmerged(int64_t from = INT64_MIN,
                                                       int64_t to = INT64_MAX) {
    const QueryContext& context = Core()->query();
    ScanShape shape;
    shape.table = context.tables->FindById(1);
    shape.span = {from, to, to == INT64_MAX, false};
    shape.wanted.assign(shape.table->schema->columns.size(), true);
    BucketWalk walk(&context, 1, Entity("a").bytes, false, false);
    auto found = walk.Find(INT64_MIN);
    EXPECT_TRUE(found.ok() && *found) << found.status().ToString();
    if (!found.ok() || !*found || (*found)->view == nullptr) return std::nullopt;
    BucketOutline& parts = (*found)->parts.front();
    if (parts.window == nullptr) return std::nullopt;
    SealedPages pages(&context, shape.table, &shape.wanted);
    const BucketKey bucket{1, Entity("a").bytes, (*found)->start_s, 0};
    SealedRows rows(&context, &shape, &bucket, (*found)->view, std::move(parts), &pages);
    for (size_t count = 0;;) {
      const Result<State> state = rows.Load();
      EXPECT_TRUE(state.ok()) << state.status().ToString();
      if (!state.ok()) return std::nullopt;
      if (*state != State::kRows) return std::pair(count, *state);
      count += rows.end() - rows.begin();
      rows.Take(rows.end() - rows.begin());
    }
  }

  // All rows of the scan, which waits so long behind its first batch, and how many that had.
  std::pair<size_t, Rows> ScanAcross(const ScanRequest& request, int64_t pause_s) {
    Rows rows;
    const auto cursor = engine_->Scan(request);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    if (!cursor.ok()) return {0, rows};
    ResultBatch batch;
    EXPECT_TRUE((*cursor)->Next(&batch));
    AddRows(batch, &rows);
    const size_t first_count = rows.size();
    clock_->AdvanceSeconds(pause_s);
    Drain(cursor->get(), &rows);
    EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
    return {first_count, rows};
  }

  // Upwards in batches of all sizes it gives what it gives downwards, which is always merged.
  Rows ExpectAsMerged(ScanRequest request) {
    ScanRequest down = request;
    std::swap(down.from, down.to);
    Rows expected = Scan(down);
    std::reverse(expected.begin(), expected.end());
    for (const size_t rows_max : {1u, 7u, 256u, 1000u, 4096u}) {
      request.batch_rows_max = rows_max;
      EXPECT_EQ(Scan(request), expected) << "batches of " << rows_max;
      const auto cursor = engine_->Scan(request);
      EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
      if (!cursor.ok()) continue;
      for (ResultBatch batch; (*cursor)->Next(&batch);) EXPECT_LE(batch.row_count, rows_max);
    }
    return expected;
  }
  Rows ExpectAsMerged() {
    return ExpectAsMerged(Request("a", kStartMs, kStartMs + 30 * kDayMs));
  }
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_SEALED_SCAN_FIXTURE_H_
