// The inventory of windows, and what Expire says of those that it leaves.
#include <string>
#include <vector>

#include "storage/outbox.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

constexpr int64_t kDayS = 86'400;
constexpr int64_t kStartS = kStartMs / 1000;

class WindowListTest : public EngineFixture {
 protected:
  WindowListTest() {
    options_.seal_when_due = false;
    options_.event_future_s_max = 100 * kDayS;
  }

  void AppendWithTtl(const std::string& pump, int64_t day, uint32_t ttl_s) {
    RowBatch batch(schema_);
    AddRow(&batch, pump, kStartMs + day * kDayMs, 1, RowKind::kInsert, ttl_s);
    const auto answer = engine_->Append(batch);
    ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  }
  std::vector<WindowInfo> Windows() {
    auto windows = engine_->ListWindows();
    EXPECT_TRUE(windows.ok()) << windows.status().ToString();
    return windows.ok() ? *std::move(windows) : std::vector<WindowInfo>();
  }
  ExpireReport Expire() {
    auto report = engine_->Expire();
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return report.ok() ? *std::move(report) : ExpireReport{};
  }
  // The reasons of windows alone, as ListWindows has them.
  std::vector<std::string> Reasons() {
    std::vector<std::string> out;
    for (const WindowInfo& window : Windows()) {
      if (window.kind != "spill") out.push_back(window.window + ": " + window.why);
    }
    return out;
  }
  static std::vector<std::string> Reasons(const ExpireReport& report) {
    std::vector<std::string> out;
    for (const WindowOutlook& window : report.left) {
      out.push_back(window.window + ": " + window.why);
    }
    return out;
  }
};

// Windows of two days, as there is no TTL: the first one began the day before.
TEST_F(WindowListTest, AWindowIsListedWithWhatIsInIt) {
  ASSERT_TRUE(engine_->CreateTable("CREATE TABLE air (s text, day date, ts timestamp, v int, "
                                   "PRIMARY KEY ((s, day), ts)) WITH comment = "
                                   "'cistern: bucket day = 1 day'").ok());
  RowBatch air(*engine_->FindTable("air"));
  air.BeginRow();
  ASSERT_TRUE(air.SetBytes(0, "x").ok() && air.SetInt(2, kStartMs).ok() && air.EndRow().ok());
  ASSERT_TRUE(engine_->Append(air).ok());
  MustAppend("a", kStartMs, 1);
  MustAppend("b", kStartMs, 1);
  MustAppend("a", kStartMs + kDayMs, 1);
  SealAll();
  MustAppend("a", kStartMs + 1, 2);  // an amendment
  SealAll();
  TickAll();
  MustAppend("b", kStartMs + 9 * kDayMs, 2);
  Rotate();
  const auto check = [&] {
    const std::vector<WindowInfo> windows = Windows();
    ASSERT_EQ(windows.size(), 3u);
    const WindowInfo& first = windows[0];
    EXPECT_TRUE(first.window.starts_with("window ")) << first.window;
    EXPECT_EQ(first.kind, "window");
    EXPECT_EQ(first.class_width_s, 2u * kDayS);
    EXPECT_EQ(first.from_s, kStartS - kDayS);
    EXPECT_EQ(first.to_s, kStartS + kDayS);
    EXPECT_EQ(first.tables, (std::vector<std::string>{"plant.pumps", "air"}));
    EXPECT_EQ(first.buckets, 3u);
    EXPECT_EQ(first.segments, 4u);
    EXPECT_EQ(first.versions, 4u);
    EXPECT_GT(first.bytes, 0u);
    EXPECT_EQ(first.ends_at_s, std::nullopt);
    EXPECT_EQ(first.why, "holds rows without TTL in 4 of 4 segments; upstream has not confirmed 4 "
                         "of 4 segments");
    EXPECT_EQ(windows[1].from_s, kStartS + kDayS);
    EXPECT_EQ(windows[1].tables, (std::vector<std::string>{"plant.pumps"}));
    EXPECT_EQ(windows[1].buckets, 1u);
    const WindowInfo& spill = windows[2];
    EXPECT_EQ(spill.kind, "spill");
    EXPECT_TRUE(spill.window.starts_with("spill family ")) << spill.window;
    EXPECT_EQ(spill.class_width_s, 0u);
    EXPECT_EQ(spill.from_s, kStartS + 9 * kDayS);
    EXPECT_EQ(spill.to_s, kStartS + 10 * kDayS);
    EXPECT_EQ(spill.tables, (std::vector<std::string>{"plant.pumps"}));
    EXPECT_EQ(spill.buckets, 1u);
    EXPECT_EQ(spill.segments, 1u);
    EXPECT_EQ(spill.versions, 1u);
    EXPECT_EQ(spill.why, "holds rows of buckets that are not sealed: 1 of 1 row versions");
  };
  check();
  options_.read_only = true;
  Reopen();
  check();
}

TEST_F(WindowListTest, ExpireSaysWhatItLeavesAndWhy) {
  AppendWithTtl("a", 0, 3600);
  MustAppend("a", kStartMs + 4 * kDayMs, 1);
  ASSERT_TRUE(engine_->DeleteBucket("pumps", Entity("a"), kStartMs + 8 * kDayMs).ok());
  RowBatch batch(schema_);
  AddRow(&batch, "a", kStartMs + 12 * kDayMs, 0, RowKind::kDeleteRow);
  AddRow(&batch, "b", kStartMs + 12 * kDayMs, 0);
  ASSERT_TRUE(engine_->Append(batch).ok());
  SealAll();
  clock_->AdvanceSeconds(3599);
  ExpireReport report = Expire();
  EXPECT_EQ(report.windows, 0u);
  ASSERT_EQ(report.left.size(), 4u);
  EXPECT_EQ(report.left[0].ends_at_s, kStartS + 3600);
  EXPECT_EQ(report.left[0].why,
            "rows live until 2027-01-15T01:00:00Z; upstream has not confirmed 1 of 1 segments");
  const std::string unsent = "; upstream has not confirmed 1 of 1 segments";
  EXPECT_EQ(report.left[1].why, "holds rows without TTL in 1 of 1 segments" + unsent);
  EXPECT_EQ(report.left[2].why, "holds deletes in 1 of 1 segments" + unsent);
  EXPECT_EQ(report.left[3].why, "holds rows without TTL in 1 of 2 segments and deletes in 1; "
                                "upstream has not confirmed 2 of 2 segments");
  EXPECT_EQ(Reasons(report), Reasons());
  clock_->AdvanceSeconds(1);
  EXPECT_EQ(Windows()[0].why, "due to go: its rows have expired");
  report = Expire();
  EXPECT_EQ(report.windows, 1u);
  EXPECT_EQ(report.left.size(), 3u);
  EXPECT_EQ(Reasons(report), Reasons());
  ExpectSound();
}

TEST_F(WindowListTest, TheRetentionOptionsSayWhenAWindowGoes) {
  MustAppend("a", kStartMs, 1);
  SealAll();
  options_.keep_unconfirmed_s = 5 * kDayS;
  options_.keep_confirmed_s = 7 * kDayS;
  Reopen();
  EXPECT_EQ(Windows()[0].ends_at_s, kStartS + 6 * kDayS);
  EXPECT_NE(Windows()[0].why.find(", given up at 2027-01-21T00:00:00Z"), std::string::npos);
  std::vector<SealName> seals;
  const auto view = Core()->store().spills().view();
  OutboxWalker walker(view, view->windows.front()->id);
  for (auto entry = walker.Next(); entry.ok() && *entry; entry = walker.Next()) {
    seals.push_back(**entry);
  }
  ASSERT_TRUE(TryConfirm(seals).ok());
  EXPECT_EQ(Windows()[0].ends_at_s, kStartS + 8 * kDayS);
  EXPECT_EQ(Windows()[0].why, "holds rows without TTL in 1 of 1 segments; confirmed, kept until "
                              "2027-01-23T00:00:00Z");
  clock_->AdvanceSeconds(8 * kDayS - 1);
  EXPECT_EQ(Expire().left.size(), 1u);
  clock_->AdvanceSeconds(1);
  EXPECT_EQ(Expire().windows, 1u);
  EXPECT_TRUE(Reasons().empty());
}

TEST_F(WindowListTest, AClockThatIsNotTrustedIsOneOfTheReasons) {
  AppendWithTtl("a", 0, 1);
  SealAll();
  clock_->Reboot("boot-2", 0);
  Reopen();
  EXPECT_NE(Windows()[0].why.find("; nothing goes while the clock is not trusted"),
            std::string::npos)
      << Windows()[0].why;
}

}  // namespace
}  // namespace cistern::testing
