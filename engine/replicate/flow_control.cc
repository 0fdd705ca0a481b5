#include "engine/replicate/flow_control.h"

#include <algorithm>

#include "lib/base/check.h"

namespace cistern::replicate {
namespace {

FlowLimits Ordered(FlowLimits limits) {
  limits.floor_bytes = std::max<uint64_t>(limits.floor_bytes, 1);
  limits.ceiling_bytes = std::max(limits.ceiling_bytes, limits.floor_bytes);
  limits.start_bytes = std::clamp(limits.start_bytes, limits.floor_bytes, limits.ceiling_bytes);
  return limits;
}

}  // namespace

FlowControl::FlowControl(const FlowLimits& limits)
    : limits_(Ordered(limits)), window_bytes_(limits_.start_bytes) {}

uint64_t FlowControl::NoteSent(uint64_t byte_count) {
  in_flight_bytes_ += byte_count;
  return next_number_++;
}

void FlowControl::NoteDone(uint64_t number, uint64_t byte_count, int64_t latency_us) {
  // A window that is not used says nothing about what the cluster takes.
  const bool was_full = in_flight_bytes_ * 2 >= window_bytes_;
  Land(byte_count);
  if (latency_us > limits_.slow_us) return Shrink(number);
  if (!was_full || number < shrunk_before_) return;
  grown_bytes_ += byte_count;
  if (grown_bytes_ < window_bytes_) return;
  grown_bytes_ = 0;
  window_bytes_ = std::min(window_bytes_ + limits_.step_bytes, limits_.ceiling_bytes);
}

void FlowControl::NoteOverload(uint64_t number, uint64_t byte_count) {
  Land(byte_count);
  Shrink(number);
}

void FlowControl::NoteLost(uint64_t byte_count) { Land(byte_count); }

void FlowControl::Land(uint64_t byte_count) {
  CISTERN_CHECK(byte_count <= in_flight_bytes_);
  in_flight_bytes_ -= byte_count;
}

void FlowControl::Shrink(uint64_t number) {
  if (number < shrunk_before_) return;  // the same trouble, told again
  shrunk_before_ = next_number_;
  grown_bytes_ = 0;
  window_bytes_ = std::max(window_bytes_ / 2, limits_.floor_bytes);
}

}  // namespace cistern::replicate
