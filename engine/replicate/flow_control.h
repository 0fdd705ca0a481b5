// How many bytes may be on their way to the cluster. Pure.
//
// Additive increase, multiplicative decrease, as TCP does it: each window's worth of good answers
// adds a step, an overload or slow answers halve the window, once for all that was on
// its way together. So many gateways share one cluster fairly, and a slow one is not flooded.
#ifndef CISTERN_ENGINE_REPLICATE_FLOW_CONTROL_H_
#define CISTERN_ENGINE_REPLICATE_FLOW_CONTROL_H_

#include <cstdint>

namespace cistern::replicate {

// Bytes count as they are sent, before compression: it is the server's memory that they take.
struct FlowLimits {
  uint64_t floor_bytes = 64 * 1024;
  uint64_t start_bytes = 256 * 1024;
  uint64_t ceiling_bytes = 4 * 1024 * 1024;
  uint64_t step_bytes = 64 * 1024;
  // An answer that takes longer is slow. A quarter of the server's own write timeout (2 s).
  int64_t slow_us = 500'000;
};

// One thread at a time.
class FlowControl {
 public:
  explicit FlowControl(const FlowLimits& limits);

  // Whether a batch of so many bytes may go. One always may when nothing is on its way.
  [[nodiscard]] bool Admits(uint64_t byte_count) const {
    return in_flight_bytes_ == 0 || in_flight_bytes_ + byte_count <= window_bytes_;
  }
  // Its number, to be given back with its answer.
  [[nodiscard]] uint64_t NoteSent(uint64_t byte_count);
  // Every batch that was sent has exactly one of these.
  void NoteDone(uint64_t number, uint64_t byte_count, int64_t latency_us);
  void NoteOverload(uint64_t number, uint64_t byte_count);  // also a timeout
  void NoteLost(uint64_t byte_count);  // without an answer: its connection ended

  [[nodiscard]] uint64_t window_bytes() const { return window_bytes_; }
  [[nodiscard]] uint64_t in_flight_bytes() const { return in_flight_bytes_; }

 private:
  void Land(uint64_t byte_count);
  void Shrink(uint64_t number);

  const FlowLimits limits_;
  uint64_t window_bytes_;
  uint64_t in_flight_bytes_ = 0;
  uint64_t grown_bytes_ = 0;      // answered since the last step
  uint64_t next_number_ = 1;
  uint64_t shrunk_before_ = 0;    // batches below were sent before the window was last halved
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_FLOW_CONTROL_H_
