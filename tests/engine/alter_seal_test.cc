// AlterTable to another width while somebody waits to seal a bucket that he named by a time.
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <string_view>
#include <thread>

#include "lib/base/crash_point.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

using std::chrono::milliseconds;

// Days are counted from 2027-01-15; February begins on day 17.
constexpr int64_t Day(int64_t day) {
  return kStartMs + day * kDayMs;
}
std::string Pumps(const std::string& widths) {
  return "CREATE TABLE plant.pumps (sensor text, day date, ts timestamp, flow double, state text,"
         " PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = " + widths + "';";
}

std::function<void()> g_before_commit;

void AtPoint(const char* name) {
  if (std::string_view(name) == "seal:before_commit") g_before_commit();
}

class AlterSealTest : public EngineFixture {
 protected:
  AlterSealTest() {
    options_.event_future_s_max = 100 * 86'400;
    options_.seal_when_due = false;
  }
  void SetUp() override { OpenWithTable(Pumps("1 day until 2027-02-01, 1 month").c_str()); }
  void TearDown() override { g_crash_hook.store(nullptr); }

  std::map<std::string, std::string> States() {
    std::map<std::string, std::string> out;
    const Status s = engine_->ListBuckets([&](const BucketInfo& info) {
      out[info.bucket] = info.state;
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    return out;
  }
  // Days instead of months, and a row on the first of February and on the 21st.
  Status AlterAndAppend() {
    CISTERN_RETURN_IF_ERROR(engine_->AlterTable(Pumps("1 day")));
    CISTERN_ASSIGN_OR_RETURN(schema_, engine_->FindTable("pumps"));
    CISTERN_RETURN_IF_ERROR(Append("a", Day(17), 17));
    return Append("a", Day(37), 37);
  }
};

// One seals everything, in a round for each window. Meanwhile another asks for the bucket of the
// 21st, the month as the table is then, and waits; a third has the table altered.
TEST_F(AlterSealTest, TheBucketOfATimeIsThatOfTheTableAsItIsThen) {
  for (int64_t day = 0; day < 16; day += 2) MustAppend("a", Day(day), static_cast<double>(day));
  std::future<Result<SealReport>> asked;
  std::future<Status> altered;
  g_before_commit = [&, here = std::this_thread::get_id()] {
    if (std::this_thread::get_id() != here) return;
    if (altered.valid()) {  // this round and the ones that follow leave it the time
      altered.wait_for(std::chrono::seconds(5));
      return;
    }
    const SealRequest one{
        .due_only = false, .table = "pumps", .entity = Entity("a"), .time = Day(37)};
    asked = std::async(std::launch::async, [this, one] { return engine_->Seal(one); });
    std::this_thread::sleep_for(milliseconds(200));  // until it waits for this one
    altered = std::async(std::launch::async, [this] { return AlterAndAppend(); });
    std::this_thread::sleep_for(milliseconds(100));  // until it has the next turn
  };
  g_crash_hook.store(&AtPoint);
  const auto all = engine_->Seal({.due_only = false});
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  ASSERT_TRUE(asked.valid() && altered.valid());
  const Status after = altered.get();
  ASSERT_TRUE(after.ok()) << after.ToString();
  const auto report = asked.get();
  ASSERT_TRUE(report.ok()) << report.status().ToString();
  auto states = States();
  EXPECT_EQ(states["2027-02-01"], "open") << "nobody asked for it";
  EXPECT_EQ(states["2027-02-21"], "sealed");
  EXPECT_EQ(report->buckets, 1u);
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
