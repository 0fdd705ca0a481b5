// The process ends between any two steps of what is made durable of replication: the store that
// it leaves has the old state or the new one, and its sums are right.
#include <filesystem>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "tests/engine/push_fixture.h"

namespace cistern::testing {
namespace {

class PushCrashTest : public PushFixture {
 protected:
  using State = std::tuple<std::vector<uint64_t>, std::vector<uint64_t>, uint64_t, uint64_t>;
  State Now() {
    return {OutboxSeals(), Noted(), Confirmed(), engine_->GetMetrics().versions_parked};
  }
  // Four days of which the first is confirmed, the second parked, the third begun.
  void SetUp() override {
    PushFixture::SetUp();
    LiveDays(4);
    seals_ = Outbox();
    Confirm({seals_[0]});
    Note({{seals_[1], Parked("no")}, {seals_[2], Pushing("p")}});
    base_ = CopyStore();
  }
  void Begin() {
    const std::string store = base_ + "-" + std::to_string(++stores_);
    std::filesystem::copy(base_, store, std::filesystem::copy_options::recursive);
    GoOnWith(store);
  }
  // What a process that ends at the point leaves of `work`, opened.
  void EndAt(const char* point, const std::function<void()>& work) {
    Begin();
    std::string left;
    g_point = point;
    g_at_point = [&] { left = CopyStore(); };
    g_crash_hook = AtPoint;
    work();
    g_crash_hook = nullptr;
    ASSERT_FALSE(left.empty()) << point << " was not passed";
    GoOnWith(left);
    EXPECT_TRUE(engine_->Recovery().clean) << point;
    ExpectReconciled();
  }
  void ExpectOldThenNew(const std::string& step, const std::function<void()>& work) {
    Begin();
    const State before = Now();
    work();
    const State after = Now();
    ASSERT_NE(before, after);
    EndAt((step + ":before_commit").c_str(), work);
    EXPECT_EQ(Now(), before) << step;
    work();
    EXPECT_EQ(Now(), after) << step << ", done again";
    EndAt((step + ":after_commit").c_str(), work);
    EXPECT_EQ(Now(), after) << step;
    ExpectReconciled();
  }

  std::vector<SealName> seals_;
  std::string base_;
  int stores_ = 0;
};

TEST_F(PushCrashTest, WhileItIsNoted) {
  ExpectOldThenNew("push", [this] {
    Note({{seals_[3], Parked("no")}, {seals_[1], Pushing("q")}});
  });
}

TEST_F(PushCrashTest, WhileItIsForgotten) {
  ExpectOldThenNew("push", [this] {
    const std::vector<uint64_t> again{seals_[1].seal};
    ASSERT_TRUE(Core()->maintenance().ErasePushes(again).ok());
  });
}

TEST_F(PushCrashTest, WhileSealsAreConfirmed) {
  ExpectOldThenNew("confirm", [this] { Confirm({seals_[1], seals_[2]}); });
}

TEST_F(PushCrashTest, WhileSealsArePutBack) {
  ExpectOldThenNew("resend", [this] {
    SealResend resend{1, kStartMs / 1000, kStartMs / 1000 + kDayS};
    for (bool more = true; more;) {
      const auto step = Core()->maintenance().Resend(&resend);
      ASSERT_TRUE(step.ok()) << step.status().ToString();
      more = *step;
    }
  });
}

// Both records are of seals in one window.
TEST_F(PushCrashTest, WhileAWindowEnds) {
  options_.keep_unconfirmed_s = 20 * kDayS;
  const int64_t now_us = clock_->WallMicros();
  for (const char* point : {"window:before_end", "window:after_end", "window:before_drop",
                            "window:after_drop", "window:before_forget"}) {
    clock_->PassTo(now_us);
    EndAt(point, [this] {
      clock_->AdvanceSeconds(20 * kDayS);
      ASSERT_TRUE(engine_->Expire().ok());
      TickAll();
    });
    const bool has_ended = std::string(point) != "window:before_end";
    EXPECT_EQ(Noted().size(), has_ended ? 0u : 2u) << point;
  }
}

TEST_F(PushCrashTest, WhileWindowsAreMerged) {
  const std::vector<uint64_t> noted = Noted();
  const int64_t now_us = clock_->WallMicros();
  const int day = day_;
  for (const char* point :
       {"merge:before_read_back", "merge:before_commit", "merge:after_commit"}) {
    clock_->PassTo(now_us);
    day_ = day;
    EndAt(point, [this] { LiveDays(20); });
    EXPECT_EQ(Noted(), noted) << point;
    EXPECT_EQ(Confirmed(), 1u);
    TickAll();
    ExpectReconciled();
  }
}

}  // namespace
}  // namespace cistern::testing
