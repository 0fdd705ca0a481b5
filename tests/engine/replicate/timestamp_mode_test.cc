#include "engine/replicate/timestamp_mode.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/engine/replicate/push_test_util.h"

namespace cistern::replicate {
namespace {

TEST(MicrosOfTicks, RoundsDownInEveryUnit) {
  EXPECT_EQ(MicrosOfTicks(TimeUnit::kSeconds, 3), 3'000'000);
  EXPECT_EQ(MicrosOfTicks(TimeUnit::kMillis, -3), -3'000);
  EXPECT_EQ(MicrosOfTicks(TimeUnit::kMicros, 3), 3);
  EXPECT_EQ(MicrosOfTicks(TimeUnit::kTicks100ns, 39), 3);
  EXPECT_EQ(MicrosOfTicks(TimeUnit::kTicks100ns, -31), -4);
  EXPECT_EQ(MicrosOfTicks(TimeUnit::kNanos, -1), -1);
  EXPECT_EQ(MicrosOfTicks(TimeUnit::kNanos, -1'000), -1);
  EXPECT_EQ(MicrosOfTicks(TimeUnit::kNanos, 1'999), 1);
}

TEST(MicrosOfTicks, EndsWithInt64) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(MicrosOfTicks(TimeUnit::kSeconds, kMax / 10), kMax);
  EXPECT_EQ(MicrosOfTicks(TimeUnit::kMillis, kMin / 10), kMin);
  EXPECT_EQ(MicrosOfTicks(TimeUnit::kMicros, kMin), kMin);
}

TEST(PushTimestamp, IsTheWriteOrTheEvent) {
  const auto schema = SmallTable();
  const VersionColumns rows =
      PageOf(*schema, {Small(1'234, 99, 0, kVersionLiveness, Cell::Fixed(1), Cell::Absent())});
  EXPECT_EQ(PushTimestamp(TimestampMode::kWriteTime, *schema, rows, 0), 99);
  EXPECT_EQ(PushTimestamp(TimestampMode::kEventTime, *schema, rows, 0), 1'234'000);
}

TEST(PushTimestamp, OfATimeuuidIsItsTime) {
  const auto schema = ParseTable(
      "CREATE TABLE k.t (id text, day date, ts timeuuid, a int, PRIMARY KEY ((id, day), ts)) "
      "WITH comment = 'cistern: bucket day = 1 day'");
  std::string uuid;
  bool is_below = false;
  ASSERT_TRUE(AppendEventTime(*schema, kDayStartS * 10'000'000 + 19, &is_below, &uuid));
  const VersionColumns rows = PageOf(
      *schema, {TestVersion{5, 0, kVersionLiveness, {Cell::Bytes(uuid), Cell::Absent()}}});
  EXPECT_EQ(PushTimestamp(TimestampMode::kEventTime, *schema, rows, 0),
            kDayStartS * 1'000'000 + 1);
}

TEST(CheckTimestampMode, OnlyEventTimeMindsDeletes) {
  const auto schema = SmallTable();
  const auto page = [&](uint8_t flags, Cell a) {
    return PageOf(*schema, {Small(1, 9, 0, flags, std::move(a), Cell::Absent())});
  };
  const auto code = [&](TimestampMode mode, const VersionColumns& rows) {
    return CheckTimestampMode(mode, *schema, rows).code();
  };
  const VersionColumns plain = page(kVersionLiveness, Cell::Fixed(1));
  const VersionColumns row_delete = page(kVersionDeleteRow, Cell::Absent());
  const VersionColumns null = page(0, Cell::Null());
  for (const VersionColumns* rows : {&plain, &row_delete, &null}) {
    EXPECT_EQ(code(TimestampMode::kWriteTime, *rows), StatusCode::kOk);
  }
  EXPECT_EQ(code(TimestampMode::kEventTime, plain), StatusCode::kOk);
  EXPECT_EQ(code(TimestampMode::kEventTime, row_delete), StatusCode::kNotSupported);
  EXPECT_EQ(code(TimestampMode::kEventTime, null), StatusCode::kNotSupported);
}

}  // namespace
}  // namespace cistern::replicate
