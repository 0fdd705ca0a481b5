#include "bench/push/frame_replay.h"

#include <array>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "cistern/clock.h"
#include "engine/cql/envelope_stream.h"
#include "engine/cql/frame.h"
#include "engine/cql/request.h"
#include "engine/cql/response.h"
#include "engine/replicate/flow_control.h"
#include "lib/base/coding.h"

namespace cistern::bench {
namespace {

using cql::kEnvelopeHeaderBytes;

// Comes round long after a stream was answered.
constexpr size_t kStreams = 16'384;
constexpr size_t kStreamAt = 2;  // in an envelope
constexpr int64_t kWaitUs = 100'000;
constexpr size_t kHandlersMax = 256;
constexpr size_t kQueuedBytesMax = size_t{16} << 20;

class FrameReplay {
 public:
  FrameReplay(const std::vector<ReplayFrame>& frames, size_t in_flight_batches_max)
      : frames_(frames), in_flight_batches_max_(in_flight_batches_max), flow_({}) {}

  Result<PushCost> Run(const PushServer& server) {
    CISTERN_ASSIGN_OR_RETURN(loop_, cql::EventLoop::Create(SystemClock()));
    cql::TransportOptions options;
    options.endpoint = server.endpoint;
    options.queued_bytes_max = kQueuedBytesMax;
    cql::TransportEvents events;
    events.connected = [this] { ShakeHands(); };
    events.received = [this](std::string_view bytes) { OnReceived(bytes); };
    events.drained = [] {};
    events.closed = [this](const Status& status) { failure_ = status; };
    transport_ = std::make_unique<cql::Transport>(*loop_, std::move(options), std::move(events));
    while (failure_.ok() && !is_ready_) loop_->Wait(kWaitUs, kHandlersMax);
    const PushMeter meter(server);
    SendSome();
    while (failure_.ok() && (next_ < frames_.size() || in_flight_ > 0)) {
      loop_->Wait(kWaitUs, kHandlersMax);
    }
    const PushCost cost = meter.Cost();
    transport_->Close();
    CISTERN_RETURN_IF_ERROR(failure_);
    return cost;
  }

 private:
  struct Flight {
    uint64_t number = 0;
    uint32_t bytes = 0;
    int64_t sent_us = 0;
  };

  void Check(const Status& status) {
    if (failure_.ok()) failure_ = status;
  }
  void ShakeHands() {
    std::string startup;
    Check(cql::AppendStartup({cql::ProtocolVersion::kV5, 0},
                             {.compression = cql::Compression::kLz4, .driver_name = "replay",
                              .driver_version = "1", .throw_on_overload = true},
                             &startup));
    Check(transport_->Send(startup));
  }
  void OnReceived(std::string_view bytes) {
    decoder_.Feed(bytes);
    while (failure_.ok()) {
      const auto next = decoder_.Next();
      Check(next.status());
      if (!next.ok() || !next->has_value()) break;
      OnAnswer(**next);
    }
    if (is_ready_) SendSome();
  }
  void OnAnswer(const cql::Envelope& envelope) {
    if (envelope.header.opcode == cql::Opcode::kReady) {
      decoder_.Establish(cql::ProtocolVersion::kV5, cql::Compression::kLz4);
      is_ready_ = true;
      return;
    }
    if (envelope.header.opcode != cql::Opcode::kResult) return Check(WordsOf(envelope));
    const Flight& flight = flights_[static_cast<size_t>(envelope.header.stream)];
    flow_.NoteDone(flight.number, flight.bytes, loop_->NowUs() - flight.sent_us);
    --in_flight_;
  }
  static Status WordsOf(const cql::Envelope& envelope) {
    const auto response = cql::DecodeResponse(cql::ProtocolVersion::kV5, envelope);
    CISTERN_RETURN_IF_ERROR(response.status());
    const auto* error = std::get_if<cql::ErrorResponse>(&response->message);
    return Status::Internal(error == nullptr ? "the server answers something else"
                                             : cql::DescribeError(*error));
  }
  // As a frame was one turn of the product, it goes as one.
  void SendSome() {
    for (; failure_.ok() && next_ < frames_.size(); ++next_) {
      const ReplayFrame& frame = frames_[next_];
      const auto& sizes = frame.batch_bytes;
      const uint64_t sum = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
      if (in_flight_ > 0 && in_flight_ + sizes.size() > in_flight_batches_max_) return;
      if (!flow_.Admits(sum)) return;
      auto stream = static_cast<size_t>(frame.first_stream);
      for (const uint32_t bytes : sizes) {
        flights_[stream] = {flow_.NoteSent(bytes), bytes, loop_->NowUs()};
        stream = (stream + 1) % kStreams;
      }
      in_flight_ += sizes.size();
      Check(transport_->Send(frame.bytes));
    }
  }

  const std::vector<ReplayFrame>& frames_;
  const size_t in_flight_batches_max_;
  std::unique_ptr<cql::EventLoop> loop_;
  std::unique_ptr<cql::Transport> transport_;
  cql::EnvelopeDecoder decoder_{cql::Direction::kResponse};
  replicate::FlowControl flow_;
  std::array<Flight, kStreams> flights_;  // by stream
  size_t next_ = 0;
  size_t in_flight_ = 0;
  bool is_ready_ = false;
  Status failure_;
};

}  // namespace

std::vector<ReplayFrame> EncodeFrames(std::vector<std::string> batches) {
  std::vector<ReplayFrame> frames;
  size_t stream = 0;
  for (std::string& envelopes : batches) {
    ReplayFrame& frame = frames.emplace_back();
    frame.first_stream = static_cast<int16_t>(stream);
    for (size_t at = 0; at < envelopes.size();) {
      envelopes[at + kStreamAt] = static_cast<char>(stream >> 8);
      envelopes[at + kStreamAt + 1] = static_cast<char>(stream);
      stream = (stream + 1) % kStreams;
      const auto body = GetBig<uint32_t>(&envelopes[at + kEnvelopeHeaderBytes - sizeof(uint32_t)]);
      frame.batch_bytes.push_back(static_cast<uint32_t>(kEnvelopeHeaderBytes) + body);
      at += frame.batch_bytes.back();
    }
    cql::AppendFrame(cql::Compression::kLz4, envelopes, true, &frame.bytes);
  }
  return frames;
}

Result<PushCost> ReplayFrames(const std::vector<ReplayFrame>& frames, const PushServer& server,
                              size_t in_flight_batches_max) {
  return std::make_unique<FrameReplay>(frames, in_flight_batches_max)->Run(server);
}

}  // namespace cistern::bench
