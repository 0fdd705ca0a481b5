#include "bench/push/frame_recorder.h"

#include <optional>
#include <thread>
#include <utility>

#include "cistern/clock.h"
#include "engine/cql/envelope.h"
#include "engine/cql/frame.h"
#include "lib/base/check.h"

namespace cistern::bench {
namespace {

constexpr size_t kQueuedBytesMax = size_t{64} << 20;

cql::EnvelopeHeader HeaderOf(std::string_view envelopes) {
  const auto header = cql::ParseEnvelopeHeader(envelopes, cql::Direction::kRequest, SIZE_MAX);
  CISTERN_CHECK(header.ok());
  return *header;
}

// The requests of one connection: bare up to STARTUP, framed from then on.
class RequestParser {
 public:
  // Appends the batches of each frame that ended.
  void Feed(std::string_view bytes, std::vector<std::string>* frames) {
    input_.append(bytes);
    while (framed_ ? NextFrame(frames) : NextBare()) {
    }
  }

 private:
  bool NextBare() {
    if (input_.size() < cql::kEnvelopeHeaderBytes) return false;
    const cql::EnvelopeHeader header = HeaderOf(input_);
    const size_t whole = cql::kEnvelopeHeaderBytes + header.body_bytes;
    if (input_.size() < whole) return false;
    framed_ = header.opcode == cql::Opcode::kStartup;
    input_.erase(0, whole);
    return true;
  }
  bool NextFrame(std::vector<std::string>* frames) {
    const auto frame = cql::ParseFrame(cql::Compression::kLz4, input_, &unpacked_);
    CISTERN_CHECK(frame.ok());
    if (!frame->has_value()) return false;
    CISTERN_CHECK((*frame)->self_contained);  // no batch of ours is longer than a frame
    std::string batches = BatchesOf((*frame)->payload);
    if (!batches.empty()) frames->push_back(std::move(batches));
    input_.erase(0, (*frame)->frame_bytes);
    return true;
  }
  static std::string BatchesOf(std::string_view envelopes) {
    std::string batches;
    while (!envelopes.empty()) {
      const cql::EnvelopeHeader header = HeaderOf(envelopes);
      const size_t whole = cql::kEnvelopeHeaderBytes + header.body_bytes;
      if (header.opcode == cql::Opcode::kBatch) batches.append(envelopes.substr(0, whole));
      envelopes.remove_prefix(whole);
    }
    return batches;
  }

  std::string input_;
  std::string unpacked_;
  bool framed_ = false;
};

}  // namespace

FrameRecorder::FrameRecorder(cql::Endpoint server)
    : server_(std::move(server)), relay_([this](testing::ServerStream& s) { Relay(s); }) {}

std::vector<std::string> FrameRecorder::TakeFrames() {
  const std::lock_guard lock(mutex_);
  return std::exchange(frames_, {});
}

// Its thread turns the loop of the connection to the server, another one reads from the client.
void FrameRecorder::Relay(testing::ServerStream& client) {
  auto made = cql::EventLoop::Create(SystemClock());
  CISTERN_CHECK(made.ok());
  cql::EventLoop& loop = **made;
  cql::TransportOptions options;
  options.endpoint = server_;
  options.queued_bytes_max = kQueuedBytesMax;
  cql::TransportEvents events;
  events.connected = [] {};
  events.drained = [] {};
  events.received = [&](std::string_view bytes) {
    bytes_received_ += bytes.size();
    client.Write(bytes);
  };
  events.closed = [&](const Status&) { client.Shut(); };
  cql::Transport server(loop, std::move(options), std::move(events));
  std::thread reader([&] {
    RequestParser parser;
    while (std::optional<std::string> bytes = client.Read()) {
      bytes_sent_ += bytes->size();
      {
        const std::lock_guard lock(mutex_);
        parser.Feed(*bytes, &frames_);
      }
      loop.Post([&server, bytes = *std::move(bytes)] {
        CISTERN_CHECK(server.Send(bytes).code() != StatusCode::kBusy);
      });
    }
    loop.Stop();
  });
  loop.Run();
  reader.join();
}

}  // namespace cistern::bench
