// Bucket arithmetic: which span of event time a row belongs to. Pure; UTC; no clock.
//
// Buckets of n seconds, minutes or hours, of a day or of an ISO week have one width and
// are counted from 1970-01-01T00:00:00Z (weeks from Monday 1969-12-29); months and years
// follow the calendar. Times before 1970 round down like all others. A table may have had
// other rules for earlier event times; where one follows another a bucket of both begins.
#ifndef CISTERN_BUCKETING_BUCKETER_H_
#define CISTERN_BUCKETING_BUCKETER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "cistern/result.h"
#include "cistern/schema.h"

namespace cistern {

// Seconds since 1970, [start_s, end_s).
struct BucketSpan {
  int64_t start_s = 0;
  int64_t end_s = 0;
  friend bool operator==(const BucketSpan&, const BucketSpan&) = default;
};

// A table's rule with its constants worked out; cheap to copy, immutable, shared freely.
// Event times are ticks of the table's time unit.
class Bucketer {
 public:
  explicit Bucketer(const TableSchema& schema);

  // Event times that the table takes: the years 0001 to 9999, from 1000 where the bucket column
  // is a calendar number, less where the unit or an int that counts ends before.
  [[nodiscard]] int64_t min_ticks() const { return min_ticks_; }
  [[nodiscard]] int64_t max_ticks() const { return max_ticks_; }
  [[nodiscard]] bool InRange(int64_t ticks) const {
    return ticks >= min_ticks_ && ticks <= max_ticks_;
  }

  // Start of the bucket that holds `ticks`, in seconds since 1970: the hot path, without a
  // division for buckets of one width. REQUIRES: InRange(ticks).
  [[nodiscard]] int64_t StartOf(int64_t ticks) const {
    if (ticks < from_ticks_) return Former(ticks).StartOf(ticks);
    const uint64_t steps = StepsSinceBase(static_cast<uint64_t>(ticks) - base_ticks_);
    const int64_t start_s = base_s_ + static_cast<int64_t>(steps) * step_s_;
    return fixed_width_ ? start_s : CalendarStart(start_s);
  }
  [[nodiscard]] BucketSpan SpanOf(int64_t ticks) const {
    const int64_t start_s = StartOf(ticks);
    return {start_s, Next(start_s)};
  }

  // Start of the bucket that holds second `s`. REQUIRES: s in [min_s(), max_s()] or a
  // bucket or two beyond.
  [[nodiscard]] int64_t StartOfSecond(int64_t s) const;
  // Whether a bucket of the table starts there; for any second, as of a damaged key.
  [[nodiscard]] bool IsStart(int64_t s) const;
  // Starts of the neighbours of the bucket that starts at `start_s`.
  [[nodiscard]] int64_t Next(int64_t start_s) const;
  [[nodiscard]] int64_t Previous(int64_t start_s) const;

  // The rule for second `s` alone: its buckets go on for ever, both ways.
  [[nodiscard]] const Bucketer& At(int64_t s) const;
  // By the table's present rule: the number of the bucket that starts at `start_s`, counted
  // from the one of 1970-01-01, and back.
  [[nodiscard]] int64_t IndexOf(int64_t start_s) const;
  [[nodiscard]] int64_t StartOfIndex(int64_t index) const;

  // First and last second of event time, both included.
  [[nodiscard]] int64_t min_s() const { return min_s_; }
  [[nodiscard]] int64_t max_s() const { return max_s_; }

 private:
  Bucketer(const TableSchema& schema, const BucketRule& rule);
  void TakeFormerRules(const TableSchema& schema);
  [[nodiscard]] const Bucketer& Former(int64_t ticks) const;
  [[nodiscard]] int64_t CalendarStart(int64_t s) const;

  // offset_ticks / step_ticks_ by multiplication: the estimate is right or one too low.
  [[nodiscard]] uint64_t StepsSinceBase(uint64_t offset_ticks) const {
#ifdef __SIZEOF_INT128__
    __extension__ using Wide = unsigned __int128;
    const auto steps = static_cast<uint64_t>(Wide{offset_ticks} * reciprocal_ >> 64);
    return steps + (offset_ticks - steps * step_ticks_ >= step_ticks_ ? 1 : 0);
#else
    return offset_ticks / step_ticks_;
#endif
  }

  // Rules for event times before from_ticks_, each for those before its own; with the present
  // one as the last, without any before it.
  struct Era;
  int64_t from_ticks_ = INT64_MIN;
  std::shared_ptr<const std::vector<Era>> eras_;  // null: one rule for all times
  BucketUnit unit_;
  bool fixed_width_;
  int64_t width_s_ = 0;   // of fixed-width buckets
  int64_t anchor_s_ = 0;  // a start of a fixed-width bucket
  int64_t step_s_ = 0;    // the width, or a day under months and years
  int64_t min_s_ = 0;
  int64_t max_s_ = 0;
  int64_t min_ticks_ = 0;
  int64_t max_ticks_ = 0;
  int64_t base_s_ = 0;       // a multiple of the step at or before min_s_
  uint64_t base_ticks_ = 0;  // the same in ticks, two's complement
  uint64_t step_ticks_ = 1;
  uint64_t reciprocal_ = 0;  // floor((2^64 - 1) / step_ticks_)
};

// The bucket of an event time.
//   kOutOfRange  beyond what the table takes; names the column, its unit and, where the
//                value looks like one, the unit that it may be in
[[nodiscard]] Result<BucketSpan> BucketOf(const TableSchema& schema, int64_t ticks);
[[nodiscard]] Status EventTimeOutOfRange(const TableSchema& schema, int64_t ticks);

[[nodiscard]] int64_t NextBucketStart(const TableSchema& schema, int64_t start_s);
[[nodiscard]] int64_t PreviousBucketStart(const TableSchema& schema, int64_t start_s);

// First tick of a second; the ends of int64 where it lies beyond them.
[[nodiscard]] int64_t TicksFromSeconds(TimeUnit unit, int64_t seconds);

// "milliseconds"
[[nodiscard]] std::string_view TimeUnitWord(TimeUnit unit);

}  // namespace cistern

#endif  // CISTERN_BUCKETING_BUCKETER_H_
