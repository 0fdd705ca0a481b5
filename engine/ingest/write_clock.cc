#include "engine/ingest/write_clock.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "storage/info_log.h"

namespace cistern {

namespace {

constexpr uint64_t kRecordHeadroomBytes = 64 * 1024;  // a record of meta, with room for more

// Timestamps are whole milliseconds where one is left. What is below says nothing that anyone
// asks of a gateway's clock, and would take ten bits of each row in its page.
constexpr int64_t kStampGrainUs = 1000;

// What is known of time is kept so often, where no rotation does it: the next boot counts from
// there. A wall clock that dwells is kept more often, so that short boots bring it forward too.
constexpr int64_t kKeepIntervalUs = 3'600'000'000;
constexpr int64_t kKeepDwellIntervalUs = 600'000'000;
constexpr int64_t kKeepAtCloseUs = 60'000'000;

// No clock shows a time so far away; two such times have a difference.
int64_t Bounded(int64_t time_us) {
  constexpr int64_t kFar = int64_t{1} << 60;
  return std::clamp(time_us, -kFar, kFar);
}

}  // namespace

WriteClock::WriteClock(std::shared_ptr<Clock> clock, ClockLimits limits, Store* store,
                       BootTable* boots)
    : clock_(std::move(clock)),
      limits_(limits),
      store_(store),
      boots_(boots),
      boot_id_(clock_->BootId().substr(0, 64)),
      guard_(limits, store->state().clock, boot_id_, Bounded(clock_->MonotonicMicros())),
      kept_(store->state().clock) {
  last_us_ = store_->state().write_us_last;
  // The state record may be older than a boot's resolution, which moved its rows up.
  for (uint32_t boot = 1; boot < boots_->next_number(); ++boot) {
    const BootRecord record = boots_->record(boot);
    if (!record.resolved) continue;
    last_us_ = std::max(last_us_.load(), record.base_us + record.last_count_us);
  }
  // A process that restarts within an untrusted boot goes on with its record.
  const uint32_t newest = boots_->next_number() - 1;
  if (newest > 0) {
    const BootRecord record = boots_->record(newest);
    // A machine that cannot tell its boots apart never goes on with one.
    if (!record.resolved && !boot_id_.empty() && record.boot_id == boot_id_) {
      boot_ = newest;
      // Its rows may be in segments already, where replay does not meet them.
      boot_count_us_ = std::max<int64_t>(last_us_.load() - record.base_us, -1);
    }
  }
  ClockReading reading = Read();
  (void)Judge(&reading, true);
}

int64_t WriteClock::Effective(int64_t write_us, uint32_t boot) const {
  return boot == 0 ? write_us : boots_->record(boot).base_us + write_us;
}

void WriteClock::NoteIssued(int64_t write_us, uint32_t boot) {
  if (boot != 0 && boot == boot_) boot_count_us_ = std::max(boot_count_us_, write_us);
  last_us_ = std::max(last_us_.load(), Effective(write_us, boot));
}

ClockReading WriteClock::Read() const {
  return {Bounded(clock_->WallMicros()), Bounded(clock_->MonotonicMicros()), ClockSync::kUnknown};
}

// Whether something has set the clock costs a system call: writes ask where it decides.
bool WriteClock::Judge(ClockReading* reading, bool ask_sync) {
  if (ask_sync) reading->sync = clock_->Sync();
  bool believed = guard_.Observe(*reading) == ClockVerdict::kBelieved;
  if (!believed && !ask_sync) {
    reading->sync = clock_->Sync();
    believed = guard_.Observe(*reading) == ClockVerdict::kBelieved;
  }
  Publish();
  if (believed == is_doubted_) Tell();
  return believed;
}

void WriteClock::Publish() {
  const ClockRecord& known = guard_.record();
  const bool believed = guard_.verdict() == ClockVerdict::kBelieved;
  if (known.trusted_us != 0) {
    now_less_monotonic_us_ = known.trusted_us - known.monotonic_us;
    certain_less_monotonic_us_ = known.certain_us - known.monotonic_us;
  }
  trusted_ = believed;
  settled_ = believed && boot_ == 0;
}

// That the wall clock is doubted from now on, or no longer.
void WriteClock::Tell() {
  is_doubted_ = guard_.verdict() != ClockVerdict::kBelieved;
  store_->db().opened().info_log->Write(is_doubted_ ? LogLevel::kWarning : LogLevel::kInfo,
                                        guard_.Why());
}

// All effective; those of a boot are moved up with its base once time is known.
Result<IssuedStamps> WriteClock::Issue() {
  ClockReading reading = Read();
  if (Judge(&reading, false)) {
    if (boot_ != 0) CISTERN_RETURN_IF_ERROR(ResolveBoot(reading.wall_us, reading.monotonic_us));
    BeginAt(reading.wall_us - reading.wall_us % kStampGrainUs);
    return IssuedStamps{least_us_, 0, 0, reading.wall_us / 1'000'000};
  }
  if (boot_ == 0) CISTERN_RETURN_IF_ERROR(OpenBoot(reading.monotonic_us));
  const BootRecord record = boots_->record(boot_);
  BeginAt(record.base_us + std::max<int64_t>(reading.monotonic_us - record.monotonic_us, 0));
  return IssuedStamps{least_us_, record.base_us, boot_, 0};
}

void WriteClock::BeginAt(int64_t clock_us) {
  least_us_ = std::max({clock_us, least_us_, is_apart_ ? last_us_.load() + 1 : INT64_MIN});
  is_apart_ = false;
}

void WriteClock::NoteGiven(int64_t largest_us) {
  last_us_ = std::max(last_us_.load(), largest_us);
  if (boot_ == 0) return;
  boot_count_us_ = std::max(boot_count_us_, largest_us - boots_->record(boot_).base_us);
}

Status WriteClock::Poll() {
  ClockReading reading = Read();
  const bool believed = Judge(&reading, true);
  if (believed && boot_ != 0 && store_->CheckHeadroom(kRecordHeadroomBytes).ok()) {
    CISTERN_RETURN_IF_ERROR(ResolveBoot(reading.wall_us, reading.monotonic_us));
  }
  const bool dwells = guard_.record().pending_us != 0;
  const int64_t age_us = guard_.record().monotonic_us - kept_.monotonic_us;
  const bool is_old = age_us >= (dwells ? kKeepDwellIntervalUs : kKeepIntervalUs);
  return is_old || HasLeapt() ? KeepRecord() : Status::Ok();
}

Status WriteClock::Keep() {
  const int64_t age_us = guard_.record().monotonic_us - kept_.monotonic_us;
  return age_us >= kKeepAtCloseUs || HasLeapt() ? KeepRecord() : Status::Ok();
}

// Whether what is known is something else than what was kept and the time that has passed since.
bool WriteClock::HasLeapt() const {
  const ClockRecord& known = guard_.record();
  if (known.boot_id != kept_.boot_id || known.witnessed != kept_.witnessed ||
      known.vouched != kept_.vouched || (known.pending_us == 0) != (kept_.pending_us == 0)) {
    return true;
  }
  const int64_t passed_us = known.monotonic_us - kept_.monotonic_us;
  return known.trusted_us != 0 &&
         std::abs(known.trusted_us - kept_.trusted_us - passed_us) > limits_.step_us;
}

Status WriteClock::KeepRecord() {
  if (!store_->CheckHeadroom(kRecordHeadroomBytes).ok()) return Status::Ok();  // later, then
  CISTERN_RETURN_IF_ERROR(store_->PutClock(guard_.record()));
  kept_ = guard_.record();
  return Status::Ok();
}

ClockRecord WriteClock::TakeRecord() {
  kept_ = guard_.record();
  return kept_;
}

Status WriteClock::Confirm() {
  ClockReading reading = Read();
  if (reading.wall_us < limits_.floor_us ||
      reading.wall_us > limits::kEventSecondsMax * 1'000'000) {
    (void)Judge(&reading, false);
    return Status::OutOfRange(
        "the machine's wall clock stands before clock_floor_s or after the year 9999: set it "
        "first, then confirm it");
  }
  CISTERN_RETURN_IF_ERROR(store_->CheckHeadroom(2 * kRecordHeadroomBytes));
  guard_.Confirm(reading);
  Publish();
  Tell();
  CISTERN_RETURN_IF_ERROR(KeepRecord());
  return boot_ == 0 ? Status::Ok() : ResolveBoot(reading.wall_us, reading.monotonic_us);
}

ClockReport WriteClock::Report() {
  ClockReading reading = Read();
  ClockReport report;
  report.trusted = Judge(&reading, true);
  report.wall_us = reading.wall_us;
  report.sync = reading.sync;
  report.rows_wait = boot_ != 0;
  report.now_us = report.trusted ? reading.wall_us : guard_.record().trusted_us;
  report.certain_us = std::min(guard_.record().certain_us, report.now_us);
  report.dwell_left_us = guard_.dwell_left_us();
  report.why = guard_.Why();
  return report;
}

Status WriteClock::OpenBoot(int64_t monotonic_us) {
  const uint32_t number = boots_->next_number();
  // Not before the time that was believed last and what has passed since: a row with a TTL would be
  // born expired. Above all that was given, as Part() would see to.
  const int64_t base_us = std::max(last_us_.load() + 1, guard_.record().trusted_us);
  const BootRecord record{boot_id_, monotonic_us, base_us, false};
  CISTERN_RETURN_IF_ERROR(store_->PutBoot(number, record));
  boots_->Set(number, record);
  boot_ = number;
  boot_count_us_ = -1;
  return Status::Ok();
}

// The true time of the boot's start is known now. Its rows move up to it, never down:
// they stay above everything written before them and below everything after.
Status WriteClock::ResolveBoot(int64_t wall_us, int64_t monotonic_us) {
  BootRecord record = boots_->record(boot_);
  record.base_us = std::max(record.base_us, wall_us - (monotonic_us - record.monotonic_us));
  record.resolved = true;
  record.last_count_us = std::max<int64_t>(boot_count_us_, 0);
  CISTERN_RETURN_IF_ERROR(store_->PutBoot(boot_, record));
  boots_->Set(boot_, record);
  last_us_ = std::max(last_us_.load(), record.base_us + boot_count_us_);
  boot_ = 0;
  boot_count_us_ = -1;
  Part();
  settled_ = trusted();
  return Status::Ok();
}

int64_t WriteClock::now_s() const {
  const int64_t offset_us = now_less_monotonic_us_.load();
  if (offset_us == INT64_MIN) return 0;
  const int64_t witness_us = Bounded(clock_->MonotonicMicros()) + offset_us;
  if (!trusted()) return witness_us / 1'000'000;
  // A clock that jumped since it was judged is not asked.
  const int64_t wall_us = Bounded(clock_->WallMicros());
  const bool agrees = std::abs(wall_us - witness_us) <= limits_.step_us;
  return (agrees ? wall_us : witness_us) / 1'000'000;
}

int64_t WriteClock::certain_s() const {
  const int64_t offset_us = certain_less_monotonic_us_.load();
  if (offset_us == INT64_MIN) return 0;
  return std::min((Bounded(clock_->MonotonicMicros()) + offset_us) / 1'000'000, now_s());
}

}  // namespace cistern
