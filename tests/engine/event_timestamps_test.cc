// A table with the timestamps of its events: ties decide in every layer, and nothing is deleted.
#include <string>

#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

class EventTimestamps : public EngineFixture {
 protected:
  void SetUp() override { OpenWithTable(kEventPumps); }
  double FlowOf(int64_t ts) {
    const Rows rows = Scan("p", ts, ts + 1);
    return rows.size() == 1 ? rows[0].second : -2;
  }
  void ExpectRefused(const Status& s, const std::string& what) {
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(s.message().find("plant.pumps has the timestamps of its events, so " + what +
                               " cannot be deleted"),
              std::string::npos)
        << s.ToString();
  }
};

// A double's bits as a number without a sign: the larger one wins, and negative ones are larger.
TEST_F(EventTimestamps, TheLargerValueShowsWhereverTheVersionsLie) {
  MustAppend("p", kStartMs, 9);
  MustAppend("p", kStartMs, 3);
  EXPECT_EQ(FlowOf(kStartMs), 9);
  Rotate();
  MustAppend("p", kStartMs, 5);
  EXPECT_EQ(FlowOf(kStartMs), 9);
  SealAll();
  EXPECT_EQ(FlowOf(kStartMs), 9);
  MustAppend("p", kStartMs, 8);
  EXPECT_EQ(FlowOf(kStartMs), 9);
  MustAppend("p", kStartMs, 10);
  EXPECT_EQ(FlowOf(kStartMs), 10);
  SealAll();
  EXPECT_EQ(FlowOf(kStartMs), 10);
  Reopen();
  EXPECT_EQ(FlowOf(kStartMs), 10);
  ExpectSound();
}

TEST_F(EventTimestamps, NothingIsDeleted) {
  MustAppend("p", kStartMs, 1);
  ExpectRefused(engine_->DeleteRange("pumps", Entity("p"), {kStartMs, kStartMs + 1}).status(),
                "a range of rows");
  ExpectRefused(engine_->DeleteBucket("pumps", Entity("p"), kStartMs).status(), "a range of rows");
  RowBatch rows(schema_);
  AddRow(&rows, "p", kStartMs + 1, 2);
  AddRow(&rows, "p", kStartMs, 0, RowKind::kDeleteRow);
  ExpectRefused(engine_->Append(rows).status(), "a row");
  RowBatch cell(schema_);
  cell.BeginRow(RowKind::kUpdate);
  ASSERT_TRUE(cell.SetBytes(0, "p").ok());
  ASSERT_TRUE(cell.SetInt(2, kStartMs).ok());
  ASSERT_TRUE(cell.SetNull(3).ok());
  ASSERT_TRUE(cell.EndRow().ok());
  ExpectRefused(engine_->Append(cell).status(), "a cell of 'flow'");
  // Nothing of a batch that is refused was taken.
  EXPECT_EQ(Scan("p", kStartMs, kStartMs + 10), (Rows{{kStartMs, 1}}));
}

TEST_F(EventTimestamps, ATableKeepsItsTimestamps) {
  const Status s = engine_->AlterTable(kPumps);
  EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(s.message().find("is decided by their timestamps"), std::string::npos)
      << s.ToString();
}

}  // namespace
}  // namespace cistern::testing
