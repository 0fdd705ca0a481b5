#include "engine/cql/connection.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

constexpr size_t kStreamCountMax = 32'768;
constexpr size_t kOutboxBytesMax = 256 * 1024;  // then it is sent without waiting for the turn
constexpr uint8_t kTlsAlert = 0x15;             // what a server with TLS begins its refusal with

}  // namespace

Connection::Connection(EventLoop& loop, ConnectionOptions options, ConnectionEvents events)
    : loop_(loop), options_(std::move(options)), events_(std::move(events)),
      version_(options_.version) {
  const size_t stream_count = options_.requests_max + options_.late_requests_max + 1;
  CISTERN_CHECK(stream_count <= kStreamCountMax);
  pending_.resize(stream_count);
  is_taken_.resize(stream_count);
  // The lowest is taken first.
  for (size_t i = stream_count; i-- > 0;) free_streams_.push_back(static_cast<int16_t>(i));
  Connect();
}

Connection::~Connection() { Close(); }

bool Connection::has_room() const {
  // What timed out is no longer in flight, and yet it may still wait to be sent.
  return active_count_ < options_.requests_max &&
         (active_count_ == 0 || bytes_in_flight_ < options_.bytes_in_flight_max) &&
         transport_->queued_bytes() <= options_.bytes_in_flight_max;
}

Status Connection::Send(const RequestEncoder& encode, AnswerKind asked, int64_t timeout_us,
                        AnswerCallback done) {
  if (!is_ready()) return Status::Closed(Concat({"the connection to ", where(), " is not ready"}));
  const auto full = [this] {
    return Status::Busy(Concat({active_count_, " requests with ", bytes_in_flight_,
        " bytes are in flight to ", where(), "; try again when one of them is answered"}));
  };
  if (!has_room() || free_streams_.empty()) return full();
  const int16_t stream = free_streams_.back();
  const size_t begin = outbox_.size();
  CISTERN_RETURN_IF_ERROR(encode({version_, stream}, &outbox_));
  const size_t bytes = outbox_.size() - begin;
  if (active_count_ != 0 && bytes_in_flight_ + bytes > options_.bytes_in_flight_max) {
    outbox_.resize(begin);
    return full();
  }
  free_streams_.pop_back();
  const auto slot = static_cast<size_t>(stream);
  const int64_t wait_us = timeout_us > 0 ? timeout_us : options_.request_timeout_us;
  const int64_t now_us = loop_.NowUs();
  is_taken_[slot] = true;
  pending_[slot] = Pending{.done = std::move(done), .asked = asked, .asked_us = now_us,
                           .due_us = now_us + wait_us, .bytes = bytes};
  ++active_count_;
  bytes_in_flight_ += bytes;
  outbox_streams_.push_back(stream);
  ArmRequestTimer(pending_[slot].due_us);
  if (!is_flush_posted_) {
    is_flush_posted_ = true;
    loop_.Post([this, alive = std::weak_ptr<int>(alive_)] {
      if (alive.expired()) return;
      is_flush_posted_ = false;
      if (is_ready()) Flush();
    });
  }
  if (outbox_.size() >= kOutboxBytesMax) Flush();
  return Status::Ok();
}

// All envelopes of a turn leave in as few frames as they fit.
void Connection::Flush() {
  if (outbox_.empty()) return;
  sendable_.clear();
  encoder_.Encode(outbox_, &sendable_);
  for (const int16_t stream : outbox_streams_) {
    Pending& sent = pending_[static_cast<size_t>(stream)];
    sent.begin = sent_bytes_;
    sent.is_flushed = true;
  }
  outbox_.clear();
  outbox_streams_.clear();
  const Status status = transport_->Send(sendable_);
  sent_bytes_ += sendable_.size();
  for (std::string* buffer : {&outbox_, &sendable_}) {
    if (buffer->capacity() > limits::kCqlBufferKeptBytes) std::string().swap(*buffer);
  }
  // Its queue holds one longest request more than has_room allows. Only a transport that ended
  // refuses, and then its own word is on the way.
  CISTERN_CHECK(status.ok() || status.code() == StatusCode::kClosed);
}

void Connection::OnReceived(std::string_view bytes) {
  if (!has_received_ && !options_.transport.tls && static_cast<uint8_t>(bytes[0]) == kTlsAlert) {
    return Fail(Status::InvalidArgument(Concat({where(), " speaks TLS on this port; turn TLS "
        "on"})));
  }
  has_received_ = true;
  received_last_us_ = loop_.NowUs();
  decoder_.Feed(bytes);
  const std::weak_ptr<int> alive(alive_);
  for (;;) {
    const Result<std::optional<Envelope>> next = decoder_.Next();
    if (!next.ok()) {
      return Fail(Status(next.status().code(), Concat({"from ", where(), ": ",
          next.status().message(), "; the connection is closed and made anew"})));
    }
    if (!next.value().has_value()) return;
    const bool goes_on = HandleEnvelope(**next);
    if (alive.expired() || !goes_on || state_ == State::kClosed) return;
  }
}

// False: what else came over this transport counts no more.
bool Connection::HandleEnvelope(const Envelope& envelope) {
  const Result<Response> response = DecodeResponse(version_, envelope);
  if (!response.ok()) {
    Fail(Status(response.status().code(), Concat({"from ", where(), ": ",
        response.status().message(), "; the connection is closed and made anew"})));
    return false;
  }
  if (state_ != State::kReady) {
    const ProtocolVersion version_asked = version_;
    const std::weak_ptr<int> alive(alive_);
    HandleHandshake(*response);
    return !alive.expired() && version_ == version_asked;
  }
  if (response->stream == kEventStream) {
    events_.pushed(response->message);
    return true;
  }
  if (envelope.header.opcode == Opcode::kEvent) {  // it reads as a RESULT SchemaChange does
    Fail(Status::Corruption(Concat({where(), " sent an EVENT as the answer to a request; the "
        "connection is closed and made anew"})));
    return false;
  }
  HandleAnswer(*response);
  return true;
}

void Connection::HandleAnswer(const Response& response) {
  const auto slot = static_cast<size_t>(response.stream);
  const bool is_known = response.stream >= 0 && slot < pending_.size() && is_taken_[slot] &&
                        pending_[slot].is_flushed;
  if (!is_known) {
    return Fail(Status::Corruption(Concat({where(), " answered a request that nobody sent "
        "(stream ", response.stream, "); the connection is closed and made anew"})));
  }
  // Before it is taken for an answer: what was asked for has an unknown end, as all that is open.
  if (!IsAnswer(pending_[slot].asked, response.message)) {
    return Fail(Status::Corruption(Concat({where(), " answered with ",
        MessageName(response.message), ", which is no answer to what was asked; the connection is "
        "closed and made anew"})));
  }
  const bool is_late = pending_[slot].done == nullptr;
  const Pending answered = Release(response.stream);
  if (is_late) {
    --late_count_;
    return;
  }
  answered.done({.fate = RequestFate::kAnswered, .status = Status::Ok(), .response = &response});
}

// Frees the stream; of a request that is late its bytes are no longer counted.
Connection::Pending Connection::Release(int16_t stream) {
  const auto slot = static_cast<size_t>(stream);
  Pending released = std::exchange(pending_[slot], Pending());
  is_taken_[slot] = false;
  free_streams_.push_back(stream);
  if (released.done != nullptr) {
    --active_count_;
    bytes_in_flight_ -= released.bytes;
  }
  return released;
}

// One timer for all requests, at the earliest of their ends or before it.
void Connection::ArmRequestTimer(int64_t due_us) {
  if (request_timer_ != 0 && request_timer_due_us_ <= due_us) return;
  if (request_timer_ != 0) loop_.Cancel(request_timer_);
  request_timer_due_us_ = due_us;
  request_timer_ = loop_.After(due_us - loop_.NowUs(), [this] {
    request_timer_ = 0;
    WatchRequests();
  });
}

void Connection::WatchRequests() {
  const int64_t now_us = loop_.NowUs();
  std::vector<int16_t> expired;
  bool is_silent = false;  // not one byte since one of them was asked
  int64_t next_us = INT64_MAX;
  for (size_t slot = 0; slot < pending_.size(); ++slot) {
    if (!is_taken_[slot] || pending_[slot].done == nullptr) continue;
    if (pending_[slot].due_us <= now_us) {
      expired.push_back(static_cast<int16_t>(slot));
      is_silent |= received_last_us_ < pending_[slot].asked_us;
    } else {
      next_us = std::min(next_us, pending_[slot].due_us);
    }
  }
  if (next_us != INT64_MAX) ArmRequestTimer(next_us);
  const std::weak_ptr<int> alive(alive_);
  for (const int16_t stream : expired) {
    Expire(stream);
    if (alive.expired() || state_ == State::kClosed) return;
  }
  // All that is sent again over a link that swallows it would be lost as well.
  if (is_silent) AskWhetherItLives();
}

// Its answer may still come: the stream stays taken until it does.
void Connection::Expire(int16_t stream) {
  Pending& late = pending_[static_cast<size_t>(stream)];
  const AnswerCallback done = std::exchange(late.done, nullptr);
  --active_count_;
  bytes_in_flight_ -= late.bytes;
  ++late_count_;
  const std::weak_ptr<int> alive(alive_);
  done({.fate = RequestFate::kUnknown,
        .status = Status::IoError(Concat({"no answer from ", where(),
            " in time; the outcome is unknown, repeat it"}))});
  if (alive.expired() || late_count_ <= options_.late_requests_max) return;
  Fail(Status::IoError(Concat({where(), " has left ", late_count_, " requests without an answer; "
      "the connection is made anew"})));
}

// A link that swallows all gives no other sign than silence.
void Connection::WatchIdle() {
  idle_timer_ = 0;
  const int64_t idle_us = loop_.NowUs() - received_last_us_;
  int64_t next_us = options_.heartbeat_interval_us - idle_us;
  if (next_us <= 0) AskWhetherItLives();
  if (next_us <= 0) next_us = options_.heartbeat_interval_us;
  idle_timer_ = loop_.After(next_us, [this] { WatchIdle(); });
}

void Connection::AskWhetherItLives() {
  if (is_heartbeat_sent_) return;
  const Status sent = Send(
      [](const RequestHead& head, std::string* out) {
        AppendOptions(head, out);
        return Status::Ok();
      },
      AnswerKind::kSupported, options_.heartbeat_timeout_us,
      [this, alive = std::weak_ptr<int>(alive_)](const Answer& answer) {
        if (alive.expired()) return;
        is_heartbeat_sent_ = false;
        if (answer.fate == RequestFate::kAnswered || state_ == State::kClosed) return;
        Fail(Status::IoError(Concat({where(), " does not answer any more; the link is taken for "
            "broken"})));
      });
  is_heartbeat_sent_ = sent.ok();
  // No room: requests are in flight, and their own ends tell as much.
}

std::vector<std::pair<AnswerCallback, Answer>> Connection::TakeAll(const Status& why) {
  std::vector<std::pair<AnswerCallback, Answer>> all;
  const uint64_t begun = transport_->begun_bytes();
  for (size_t slot = 0; slot < pending_.size(); ++slot) {
    if (!is_taken_[slot] || pending_[slot].done == nullptr) continue;
    const bool is_sent = pending_[slot].is_flushed && pending_[slot].begin < begun;
    Pending taken = Release(static_cast<int16_t>(slot));
    const std::string words =
        why.message() + (is_sent ? "; the outcome of the request is unknown, repeat it"
                                 : "; the request was not sent");
    const RequestFate fate = is_sent ? RequestFate::kUnknown : RequestFate::kNotSent;
    all.emplace_back(std::move(taken.done), Answer{fate, Status(why.code(), words), nullptr});
  }
  outbox_.clear();
  outbox_streams_.clear();
  return all;
}

void Connection::Fail(const Status& status) {
  if (state_ == State::kClosed) return;
  const Status why(status.code(), status.message());  // `status` may belong to what is closed here
  const auto closed = events_.closed;
  state_ = State::kClosed;
  const auto all = TakeAll(why);
  transport_->Close();
  StopHandshake();
  if (request_timer_ != 0) loop_.Cancel(std::exchange(request_timer_, 0));
  if (idle_timer_ != 0) loop_.Cancel(std::exchange(idle_timer_, 0));
  password_ = Secret();
  const std::weak_ptr<int> alive(alive_);
  for (const auto& [done, answer] : all) done(answer);
  if (!alive.expired()) closed(why);
}

void Connection::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  auto all = TakeAll(Status::Closed(Concat({"the connection to ", where(), " was closed"})));
  transport_->Close();
  StopHandshake();
  if (request_timer_ != 0) loop_.Cancel(std::exchange(request_timer_, 0));
  if (idle_timer_ != 0) loop_.Cancel(std::exchange(idle_timer_, 0));
  password_ = Secret();
  if (all.empty()) return;
  loop_.Post([all = std::move(all)] {
    for (const auto& [done, answer] : all) done(answer);
  });
}

}  // namespace cistern::cql
