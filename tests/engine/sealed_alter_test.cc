// Scans of sealed buckets of an earlier declaration, without a merge and with one.
#include <string>
#include <utility>

#include "tests/engine/sealed_scan_fixture.h"

namespace cistern::testing {
namespace {

class SealedAlterTest : public SealedScanFixture {
 protected:
  // Declares the table with other columns in place of those.
  void Replace(const std::string& columns, const std::string& others) {
    std::string cql = kPumps;
    cql.replace(cql.find(columns), columns.size(), others);
    const Status altered = engine_->AlterTable(cql);
    ASSERT_TRUE(altered.ok()) << altered.ToString();
    schema_ = engine_->ListTables().front();
  }
};

TEST_F(SealedAlterTest, BucketsOfAnEarlierVersionAreShownAsTheTableIsNow) {
  AppendRun(kStartMs, 300, 0);
  SealAll();
  Replace("flow double", "level double, flow double");
  AppendRun(kStartMs + kDayMs, 300, 300);  // of level, which is where flow was
  SealAll();
  EXPECT_EQ(ReadUnmerged(), std::pair(size_t{300}, State::kEnd));
  EXPECT_EQ(ExpectAsMerged().size(), 600u);
  ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
  request.columns = {"ts", "level"};
  const Rows levels = ExpectAsMerged(request);
  EXPECT_EQ(levels[299].second, -1);
  EXPECT_EQ(levels[300].second, 300);
  request.columns = {"ts", "flow"};
  for (const char* flow : {"-1", "0", "150", "299", "450"}) {
    request.where = {{"flow", Comparison::kLess, flow}};
    (void)ExpectAsMerged(request);
  }
  request.where = {{"flow", Comparison::kGreaterOrEqual, "299"}};
  EXPECT_EQ(ExpectAsMerged(request), (Rows{{kStartMs + 299 * kRowMs, 299}}));
}

// As many columns of the same types, one of which is another one.
TEST_F(SealedAlterTest, AColumnThatWasReplacedIsNotTakenForTheNewOne) {
  AppendRun(kStartMs, 300, 0);
  SealAll();
  Replace("flow double", "level double");
  ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
  request.columns = {"ts", "level"};
  EXPECT_EQ(ReadUnmerged(), std::pair(size_t{300}, State::kEnd));
  const Rows rows = ExpectAsMerged(request);
  ASSERT_EQ(rows.size(), 300u);
  for (const auto& row : rows) EXPECT_EQ(row.second, -1);
}

// Nor do statistics of the one tell of the other: flow is where state was, which had no values.
TEST_F(SealedAlterTest, AConditionGoesByTheStatisticsOfItsColumn) {
  AppendRun(kStartMs, 300, 0);
  SealAll();
  Replace("flow double, state text", "level text, flow double");
  ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
  request.where = {{"flow", Comparison::kGreaterOrEqual, "290"}};
  EXPECT_EQ(ExpectAsMerged(request).size(), 10u);
}

// Rows without a marker, of which the shown columns have nothing left, are not there.
TEST_F(SealedAlterTest, RowsOfUpdatesWithoutTheirColumnAreNotGiven) {
  AppendRun(kStartMs, 300, 0, RowKind::kUpdate);
  AppendRun(kStartMs + 300 * kRowMs, 10, 0);
  SealAll();
  Replace("flow double", "level double");
  ScanRequest request = Request("a", kStartMs, kStartMs + 30 * kDayMs);
  request.columns = {"ts", "level"};
  EXPECT_EQ(ExpectAsMerged(request).size(), 10u);
}

}  // namespace
}  // namespace cistern::testing
