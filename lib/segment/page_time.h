// The two predictions inside a page: a write time from the event time, a second of
// expiry from the write time. Both sides of the format compute them here.
#ifndef CISTERN_SEGMENT_PAGE_TIME_H_
#define CISTERN_SEGMENT_PAGE_TIME_H_

#include <cstdint>

#include "cistern/schema.h"

namespace cistern {

// Division towards minus infinity.
[[nodiscard]] inline int64_t FloorDivide(int64_t value, int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

// Whether write times can be told from the event time column: it is on the fixed lane.
[[nodiscard]] inline bool PredictsWriteTime(const TableSchema& schema) {
  return schema.columns[schema.time_column()].type.lane() == Lane::kFixed;
}

// An event time in microseconds, modulo 2^64.
[[nodiscard]] inline uint64_t PredictedWriteUs(TimeUnit unit, int64_t event_time) {
  const auto time = static_cast<uint64_t>(event_time);
  switch (unit) {
    case TimeUnit::kSeconds: return time * 1'000'000;
    case TimeUnit::kMillis: return time * 1000;
    case TimeUnit::kMicros: return time;
    case TimeUnit::kTicks100ns: return static_cast<uint64_t>(FloorDivide(event_time, 10));
    case TimeUnit::kNanos: return static_cast<uint64_t>(FloorDivide(event_time, 1000));
  }
  return time;
}

[[nodiscard]] inline int64_t PredictedExpiryS(int64_t write_us) {
  return FloorDivide(write_us, 1'000'000);
}

}  // namespace cistern

#endif  // CISTERN_SEGMENT_PAGE_TIME_H_
