// FrameRecorder: a relay between the product and the server that keeps the batches it sends, frame
// by frame, and counts every byte of both directions.
#ifndef CISTERN_BENCH_PUSH_FRAME_RECORDER_H_
#define CISTERN_BENCH_PUSH_FRAME_RECORDER_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "engine/cql/transport.h"
#include "tests/support/loopback_server.h"

namespace cistern::bench {

// The connections it relays must speak v5 with LZ4.
class FrameRecorder {
 public:
  explicit FrameRecorder(cql::Endpoint server);

  // What the product is to connect to.
  [[nodiscard]] cql::Endpoint endpoint() const { return {"127.0.0.1", relay_.port()}; }

  // Of all connections, and what they said beside their batches.
  [[nodiscard]] uint64_t bytes_sent() const { return bytes_sent_; }
  [[nodiscard]] uint64_t bytes_received() const { return bytes_received_; }
  // Each the envelopes of the BATCHes that one frame carried, in the order they were sent.
  [[nodiscard]] std::vector<std::string> TakeFrames();

 private:
  void Relay(testing::ServerStream& client);

  const cql::Endpoint server_;
  std::atomic<uint64_t> bytes_sent_ = 0;
  std::atomic<uint64_t> bytes_received_ = 0;
  std::mutex mutex_;
  std::vector<std::string> frames_;
  testing::LoopbackServer relay_;  // the last: its threads use all else
};

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PUSH_FRAME_RECORDER_H_
