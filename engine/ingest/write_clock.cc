#include "engine/ingest/write_clock.h"

#include <algorithm>
#include <utility>

namespace cistern {

namespace {
constexpr uint64_t kRecordHeadroomBytes = 64 * 1024;  // a boot record, with room for more

// Timestamps are whole milliseconds where one is left. What is below says nothing that anyone
// asks of a gateway's clock, and would take ten bits of each row in its page.
constexpr int64_t kStampGrainUs = 1000;
}

WriteClock::WriteClock(std::shared_ptr<Clock> clock, ClockLimits limits, Store* store,
                       BootTable* boots)
    : clock_(std::move(clock)),
      limits_(limits),
      store_(store),
      boots_(boots),
      boot_id_(clock_->BootId().substr(0, 64)) {
  const StateRecord state = store_->state();
  memory_.trusted_us = state.trusted_us;
  trusted_us_ = state.trusted_us;
  last_us_ = state.write_us_last;
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
  (void)Judge(clock_->WallMicros(), clock_->MonotonicMicros());
}

void WriteClock::NoteIssued(int64_t write_us, uint32_t boot) {
  if (boot != 0) {
    if (boot == boot_) boot_count_us_ = std::max(boot_count_us_, write_us);
    write_us += boots_->record(boot).base_us;
  }
  last_us_ = std::max(last_us_.load(), write_us);
}

bool WriteClock::Judge(int64_t wall_us, int64_t monotonic_us) {
  const bool believed = IsWallBelievable(wall_us, monotonic_us, limits_, memory_);
  if (believed) {
    memory_ = {std::max(memory_.trusted_us, wall_us), monotonic_us, true};
    // The ceiling follows the clock that is believed, also after a small step back.
    trusted_us_ = memory_.trusted_us;
  }
  trusted_ = believed;
  settled_ = believed && boot_ == 0;
  return believed;
}

// All effective; those of a boot are moved up with its base once time is known.
Result<IssuedStamps> WriteClock::Issue() {
  const int64_t wall_us = clock_->WallMicros();
  const int64_t monotonic_us = clock_->MonotonicMicros();
  if (Judge(wall_us, monotonic_us)) {
    if (boot_ != 0) CISTERN_RETURN_IF_ERROR(ResolveBoot(wall_us, monotonic_us));
    const int64_t grain_us = wall_us - wall_us % kStampGrainUs;
    BeginAt(grain_us);
    return IssuedStamps{least_us_, 0, 0, wall_us / 1'000'000};
  }
  if (boot_ == 0) CISTERN_RETURN_IF_ERROR(OpenBoot(monotonic_us));
  const BootRecord record = boots_->record(boot_);
  BeginAt(record.base_us + std::max<int64_t>(monotonic_us - record.monotonic_us, 0));
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
  const int64_t wall_us = clock_->WallMicros();
  const int64_t monotonic_us = clock_->MonotonicMicros();
  if (!Judge(wall_us, monotonic_us) || boot_ == 0) return Status::Ok();
  if (!store_->CheckHeadroom(kRecordHeadroomBytes).ok()) return Status::Ok();  // later, then
  return ResolveBoot(wall_us, monotonic_us);
}

Status WriteClock::OpenBoot(int64_t monotonic_us) {
  const uint32_t number = boots_->next_number();
  // Not before the newest time that was believed either: that has certainly passed, and a
  // row with a TTL would be born expired. Above all that was given, as Part() would see to.
  const int64_t base_us = std::max(last_us_.load() + 1, trusted_us_.load());
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
  if (trusted()) {
    const int64_t wall_us = clock_->WallMicros();
    // A clock that left its limits since it was judged is not asked.
    if (wall_us >= trusted_us_.load() - limits_.step_back_us &&
        wall_us <= trusted_us_.load() + limits_.ceiling_ahead_us) {
      return wall_us / 1'000'000;
    }
  }
  return std::max(trusted_us_.load(), last_us_.load()) / 1'000'000;
}

}  // namespace cistern
