// What is said of windows: until when they stay, and why.
#include "engine/retain/window_outlook.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cistern {
namespace {

constexpr int64_t kDayS = 86'400;
constexpr int64_t kNowS = 1'800'000'000;  // 2027-01-15T08:00:00Z
constexpr int64_t kEndS = 1'799'971'200;  // of the window: midnight

// Of one day, with five segments, of which so many are confirmed.
WindowRecord Record(uint64_t confirmed_count = 0) {
  WindowRecord record;
  record.span = {kDayS, kEndS - kDayS, kEndS};
  record.version_count = 70;
  record.seal_count = 5;
  record.confirmed_count = confirmed_count;
  record.confirmed_us_last = (kEndS + 100) * 1'000'000;
  return record;
}
WindowOutlook Outlook(const WindowRecord& record, const RetentionLimits& limits = {},
                      bool settled = true, bool awaits_files = false) {
  const RetentionTime time{kNowS, kNowS, settled};
  const WindowOutlook outlook =
      OutlookOf(WindowFamily(12, nullptr, record), time, limits, awaits_files);
  EXPECT_EQ(outlook.window, "window 12");
  EXPECT_EQ(outlook.versions, 70u);
  const WindowFate fate = FateOf(record, time, limits);
  EXPECT_EQ(awaits_files || fate == WindowFate::kStays,
            !outlook.ends_at_s || *outlook.ends_at_s > kNowS)
      << "it goes when it is said to";
  return outlook;
}

TEST(WindowOutlook, WhatAwaitsFilesStaysWhateverItsTime) {
  WindowRecord record = Record(5);
  record.expiry_s_last = kNowS - 60;
  const WindowOutlook outlook = Outlook(record, {}, true, true);
  EXPECT_FALSE(outlook.ends_at_s.has_value());
  EXPECT_TRUE(outlook.why.starts_with("stays until files are back")) << outlook.why;
}

TEST(WindowOutlook, RowsLiveUntilTheLastOneExpires) {
  WindowRecord record = Record();
  record.expiry_s_last = kNowS + 60;
  const WindowOutlook outlook = Outlook(record);
  EXPECT_EQ(outlook.from_s, kEndS - kDayS);
  EXPECT_EQ(outlook.to_s, kEndS);
  EXPECT_EQ(outlook.ends_at_s, kNowS + 60);
  EXPECT_EQ(outlook.why, "rows live until 2027-01-15T08:01:00Z; upstream has not confirmed 5 of 5 "
                         "segments");
}

TEST(WindowOutlook, WhatNeverExpiresIsNamed) {
  WindowRecord record = Record();
  record.expiry_s_last = 1;
  record.endless_row_seals = 3;
  EXPECT_EQ(Outlook(record).ends_at_s, std::nullopt);
  const std::string unsent = "; upstream has not confirmed 5 of 5 segments";
  EXPECT_EQ(Outlook(record).why, "holds rows without TTL in 3 of 5 segments" + unsent);
  record.delete_seals = 2;
  EXPECT_EQ(Outlook(record).why,
            "holds rows without TTL in 3 of 5 segments and deletes in 2" + unsent);
  record.endless_row_seals = 0;
  EXPECT_EQ(Outlook(record).why, "holds deletes in 2 of 5 segments" + unsent);
}

TEST(WindowOutlook, LocalRetentionCountsFromConfirmation) {
  WindowRecord record = Record(4);
  record.endless_row_seals = 5;
  const std::string holds = "holds rows without TTL in 5 of 5 segments; ";
  EXPECT_EQ(Outlook(record).why, holds + "upstream has not confirmed 1 of 5 segments");
  record.confirmed_count = 5;
  EXPECT_EQ(Outlook(record, {.keep_confirmed_s = 2 * kDayS}).ends_at_s, kEndS + 100 + 2 * kDayS);
  EXPECT_EQ(Outlook(record, {.keep_confirmed_s = 2 * kDayS}).why,
            holds + "confirmed, kept until 2027-01-17T00:01:40Z");
  EXPECT_EQ(Outlook(record, {.keep_confirmed_s = INT64_MAX}).why,
            holds + "confirmed, kept for ever");
}

TEST(WindowOutlook, WhatMayBeGivenUpSaysWhen) {
  WindowRecord record = Record();
  record.expiry_s_last = static_cast<uint32_t>(kEndS + 9 * kDayS);
  const WindowOutlook outlook = Outlook(record, {.keep_unconfirmed_s = 7 * kDayS});
  EXPECT_EQ(outlook.ends_at_s, kEndS + 7 * kDayS) << "what comes first";
  EXPECT_EQ(outlook.why,
            "rows live until 2027-01-24T00:00:00Z; upstream has not confirmed 5 of 5 segments, "
            "given up at 2027-01-22T00:00:00Z");
}

TEST(WindowOutlook, TheWindowOfAllTimesHasNoTimes) {
  WindowRecord record = Record(5);
  record.span = WindowSpan{};
  record.endless_row_seals = 1;
  const WindowOutlook outlook = Outlook(record, {.keep_confirmed_s = 1});
  EXPECT_EQ(outlook.from_s, std::nullopt);
  EXPECT_EQ(outlook.to_s, std::nullopt);
  EXPECT_EQ(outlook.ends_at_s, std::nullopt);
  EXPECT_EQ(outlook.why, "holds rows without TTL in 1 of 5 segments; confirmed, which does not end "
                         "a window of all times");
}

TEST(WindowOutlook, WhatIsDueSaysSoWithTheReasonOfItsEnd) {
  WindowRecord record = Record();
  record.expiry_s_last = kNowS;
  EXPECT_EQ(Outlook(record).ends_at_s, kNowS);
  EXPECT_EQ(Outlook(record).why, "due to go: its rows have expired");
  record.endless_row_seals = 1;
  EXPECT_EQ(Outlook(record, {.keep_unconfirmed_s = 1}).why,
            "due to go: it was not confirmed within keep_unconfirmed_s");
  record.confirmed_count = 5;
  EXPECT_EQ(Outlook(record, {.keep_confirmed_s = 1}).why,
            "due to go: it is confirmed and its local retention is over");
  EXPECT_EQ(Outlook(record, {.keep_confirmed_s = 1}, false).why,
            "due to go: it is confirmed and its local retention is over; nothing goes while the "
            "clock is not trusted");
}

TEST(WindowOutlook, WhatIsOverByAClockThatNobodyConfirmedSaysSo) {
  WindowRecord record = Record();
  record.expiry_s_last = kNowS;
  const WindowOutlook outlook = OutlookOf(WindowFamily(12, nullptr, record),
                                          {kNowS, kNowS - 1, true}, {}, false);
  EXPECT_EQ(outlook.why, "rows live until 2027-01-15T08:00:00Z; upstream has not confirmed 5 of 5 "
                         "segments; it is over by a clock that nobody has confirmed, so it goes "
                         "when room is short (cistern clock)");
}

TEST(WindowOutlook, ASpillFamilyGoesWhenAllOfItIsSealed) {
  SpillRecord record;
  record.version_count = 10;
  record.sealed_count = 7;
  WindowOutlook outlook = OutlookOf(SpillFamily(3, nullptr, record));
  EXPECT_EQ(outlook.window, "spill family 3");
  EXPECT_EQ(outlook.versions, 3u);
  EXPECT_EQ(outlook.ends_at_s, std::nullopt);
  EXPECT_EQ(outlook.why, "holds rows of buckets that are not sealed: 3 of 10 row versions");
  record.sealed_count = 10;
  outlook = OutlookOf(SpillFamily(3, nullptr, record));
  EXPECT_EQ(outlook.why, "due to go: everything in it is sealed");
}

TEST(WindowOutlook, WindowsStandByClassAndTime) {
  SpillView view;
  const auto add = [&view](uint64_t id, WindowSpan span) {
    WindowRecord record;
    record.span = span;
    view.windows.push_back(std::make_shared<const WindowFamily>(id, nullptr, record));
  };
  add(1, {});
  add(2, {2 * kDayS, 0, 2 * kDayS});
  add(3, {kDayS, kDayS, 2 * kDayS});
  add(4, {kDayS, -kDayS, 0});
  std::vector<uint64_t> ids;
  for (const auto& window : WindowsInOrder(view)) ids.push_back(window->id);
  EXPECT_EQ(ids, (std::vector<uint64_t>{4, 3, 2, 1}));
}

}  // namespace
}  // namespace cistern
