// What the crash tests write: their tables, and what each row of them holds.
#ifndef CISTERN_TESTS_CRASH_CRASH_TABLES_H_
#define CISTERN_TESTS_CRASH_CRASH_TABLES_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cistern/clock.h"
#include "tests/support/expected_state.h"
#include "tests/support/rng.h"

namespace cistern::testing {

inline constexpr uint64_t kEntitiesOfWriter = 3;
inline constexpr int64_t kFirstTimeMs = 1'704'067'200'000;  // 2024-01-01
// Three entities, a row a minute each: a bucket of a day is 1,440 rows.
inline constexpr int64_t kStepMs = 60'000;
inline constexpr uint64_t kValueSalt = 0x5eed'7011;

inline constexpr const char* kTable =
    "CREATE TABLE crash.rows (sensor text, day date, ts timestamp, number bigint, a double,"
    " b int, c text, PRIMARY KEY ((sensor, day), ts))";

// Its rows expire while the life goes on; only that they are counted is looked at.
inline constexpr const char* kBriefTable =
    "CREATE TABLE crash.brief (sensor text, slot timestamp, ts timestamp, a double,"
    " PRIMARY KEY ((sensor, slot), ts)) WITH comment = 'cistern: bucket slot = 1 minute'"
    " AND default_time_to_live = 1";
inline constexpr uint64_t kBriefRows = 5;

// Windows of an hour, and so many of them that they are merged.
inline constexpr const char* kSpreadTable =
    "CREATE TABLE crash.spread (sensor text, slot timestamp, ts timestamp, number bigint,"
    " PRIMARY KEY ((sensor, slot), ts)) WITH comment = 'cistern: bucket slot = 1 minute'"
    " AND default_time_to_live = 86400";
inline constexpr uint64_t kSpreadRows = 8;

// Two declarations that take turns: each row says in every one of its columns which it is.
inline constexpr const char* kChangingTables[] = {
    "CREATE TABLE crash.changing (sensor text, day date, ts timestamp, a int, b text,"
    " PRIMARY KEY ((sensor, day), ts))",
    "CREATE TABLE crash.changing (sensor text, day date, ts timestamp, c text, d int, a int,"
    " PRIMARY KEY ((sensor, day), ts))"};
inline constexpr int64_t kChangingRows = 50;  // by time; written over and over

// The machine's clock, put forward by what the store's lives have asked for.
class ForwardClock final : public Clock {
 public:
  explicit ForwardClock(const ExpectedState* state) : state_(state) {}
  int64_t WallMicros() override { return system_->WallMicros() + state_->clock_ahead_us.load(); }
  int64_t MonotonicMicros() override {
    return system_->MonotonicMicros() + state_->clock_ahead_us.load();
  }
  std::string BootId() override { return system_->BootId(); }

 private:
  const std::shared_ptr<Clock> system_ = SystemClock();
  const ExpectedState* const state_;
};

inline std::string EntityName(size_t writer, uint64_t which) {
  std::string name(1, 'w');
  name.append(std::to_string(writer)).append("-").append(std::to_string(which));
  return name;
}

// Neighbours swap places, so that rows come late as well as in order.
inline int64_t TimeOfRow(uint64_t n) {
  const uint64_t slot = n / kEntitiesOfWriter;
  const uint64_t shuffled = Mix(slot / 4) % 3 == 0 ? slot ^ 3 : slot;
  return kFirstTimeMs + static_cast<int64_t>(shuffled) * kStepMs;
}

struct RowValues {
  double a;
  int32_t b;
  std::string c;
};

inline RowValues ValuesOfRow(size_t writer, uint64_t n) {
  const uint64_t mixed = Mix(n * kExpectedWritersMax + writer + kValueSalt);
  RowValues v;
  v.a = static_cast<double>(mixed % 100000) / 100.0;
  v.b = static_cast<int32_t>(mixed >> 32);
  v.c = std::string(mixed % 23, static_cast<char>('a' + mixed % 26));
  return v;
}

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_CRASH_CRASH_TABLES_H_
