// The limit of any client: frames that were encoded beforehand, sent over one connection as fast as
// the product's own flow control lets them go. Nothing is read, bound, encoded or packed meanwhile.
#ifndef CISTERN_BENCH_PUSH_FRAME_REPLAY_H_
#define CISTERN_BENCH_PUSH_FRAME_REPLAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/push/measure.h"
#include "cistern/result.h"

namespace cistern::bench {

struct ReplayFrame {
  std::string bytes;                   // as they are sent
  std::vector<uint32_t> batch_bytes;   // of each batch, unpacked
  int16_t first_stream = 0;            // its batches count from here
};

// Each of `batches` (FrameRecorder::TakeFrames) becomes one frame of v5 with LZ4. Only the numbers
// of the streams are other ones: they count up, as nobody knows beforehand which will be free.
[[nodiscard]] std::vector<ReplayFrame> EncodeFrames(std::vector<std::string> batches);

// Sends all of them and waits for their answers. The handshake is not in the time.
[[nodiscard]] Result<PushCost> ReplayFrames(const std::vector<ReplayFrame>& frames,
                                            const PushServer& server,
                                            size_t in_flight_batches_max);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PUSH_FRAME_REPLAY_H_
