// Wide rows under the smallest memory budget: what was taken can be read, without a reopen.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/engine/engine_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {
namespace {

constexpr char kNotes[] =
    "CREATE TABLE plant.notes (id text, hour timestamp, ts timestamp, note text,"
    " PRIMARY KEY ((id, hour), ts)) WITH comment = 'cistern: bucket hour = 1 hour'";

class SmallBudgetTest : public EngineFixture {
 protected:
  SmallBudgetTest() { options_.memory_budget_bytes = limits::kMemoryBudgetBytesMin; }
  void SetUp() override {}

  // One row for each Append, synced, `step_ms` apart.
  void Write(size_t count, size_t bytes, int64_t step_ms) {
    Rng random(7);
    for (size_t i = 0; i < count; ++i) {
      std::string note(bytes, '\0');
      for (char& c : note) c = static_cast<char>('!' + random.Below(90));
      RowBatch batch(schema_);
      batch.BeginRow();
      ASSERT_TRUE(batch.SetBytes(0, "n").ok());
      ASSERT_TRUE(batch.SetInt(2, kStartMs + static_cast<int64_t>(i) * step_ms).ok());
      ASSERT_TRUE(batch.SetBytes(3, note).ok());
      ASSERT_TRUE(batch.EndRow().ok());
      const Status s = engine_->Append(batch).status();
      ASSERT_TRUE(s.ok()) << i << ": " << s.ToString();
      sums_.push_back(SumOf(note));
    }
  }
  static uint64_t SumOf(std::string_view text) {
    uint64_t sum = text.size();
    for (const char c : text) sum = sum * 31 + static_cast<unsigned char>(c);
    return sum;
  }
  void ExpectReadable(bool down, size_t batch_rows_max, size_t buckets_ahead) {
    ScanRequest request;
    request.table = "notes";
    request.entity = Entity("n");
    request.from = down ? 4'000'000'000'000 : 0;
    request.to = down ? 0 : 4'000'000'000'000;
    request.batch_rows_max = batch_rows_max;
    request.buckets_ahead = buckets_ahead;
    request.columns = {"note"};
    auto cursor = engine_->Scan(request);
    ASSERT_TRUE(cursor.ok()) << cursor.status().ToString();
    std::vector<uint64_t> seen;
    ResultBatch batch;
    while ((*cursor)->Next(&batch)) {
      for (size_t i = 0; i < batch.row_count; ++i) {
        seen.push_back(SumOf(batch.columns[0].bytes(i)));
      }
    }
    EXPECT_TRUE((*cursor)->status().ok()) << (*cursor)->status().ToString();
    if (down) std::reverse(seen.begin(), seen.end());
    EXPECT_TRUE(seen == sums_) << seen.size() << " rows of " << sums_.size();
  }
  void Check(size_t count, size_t bytes, int64_t step_ms) {
    for (const bool background : {false, true}) {
      for (const bool defaults_first : {true, false}) {
        SCOPED_TRACE(std::to_string(background) + std::to_string(defaults_first));
        directory_ = temp_.path() + "/" + std::to_string(++copies_);
        sums_.clear();
        options_.background_threads = background;
        OpenWithTable(kNotes);
        Write(count, bytes, step_ms);
        if (seals_) SealAll();
        if (defaults_first) ExpectReadable(false, limits::kScanBatchRowsDefault, 4);
        ExpectReadable(true, 1, 1);
        ExpectReadable(false, 1, 1);
        ExpectReadable(true, limits::kScanBatchRowsDefault, 4);
        ASSERT_TRUE(engine_->Close().ok());
        engine_.reset();
      }
    }
  }

  bool seals_ = false;  // all of it, before it is read
  std::vector<uint64_t> sums_;
};

TEST_F(SmallBudgetTest, RowsOfAMegabyte) { Check(20, 1'000'000, 1000); }
TEST_F(SmallBudgetTest, RowsOfAMegabyteInManyBuckets) { Check(20, 1'000'000, 1'800'000); }
TEST_F(SmallBudgetTest, TheWidestRows) {
  Check(12, limits::kMemoryBudgetBytesMin / 8 - 1000, 1'800'000);
}
TEST_F(SmallBudgetTest, RowsOfHundredKilobytes) { Check(150, 100'000, 60'000); }
TEST_F(SmallBudgetTest, RowsOfThreeKilobytes) { Check(2000, 3000, 1000); }
TEST_F(SmallBudgetTest, RowsOfThreeKilobytesInManyBuckets) { Check(2000, 3000, 20'000); }
TEST_F(SmallBudgetTest, SealedRowsOfAMegabyteInManyBuckets) {
  seals_ = true;
  Check(20, 1'000'000, 1'800'000);
}
TEST_F(SmallBudgetTest, SealedRowsOfHundredKilobytes) {
  seals_ = true;
  Check(150, 100'000, 60'000);
}
TEST_F(SmallBudgetTest, SealedRowsOfThreeKilobytesInManyBuckets) {
  seals_ = true;
  Check(2000, 3000, 20'000);
}

}  // namespace
}  // namespace cistern::testing
