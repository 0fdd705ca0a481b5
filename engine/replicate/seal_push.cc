#include "engine/replicate/seal_push.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"

namespace cistern::replicate {
SealPush::SealPush(DrainItem item, SealSource source, PushPosition from, uint64_t checkpoint_bytes)
    : item_(std::move(item)),
      source_(std::move(source)),
      checkpoint_bytes_(checkpoint_bytes),
      acked_(from),
      durable_(from) {
  Restart(from);
}

void SealPush::Restart(const PushPosition& from) {
  stream_ = std::make_unique<BatchStream>(source_.binder, source_.options, source_.content, from);
  is_lost_ = false;
}

void SealPush::GoOnFrom(const PushPosition& acknowledged) {
  acked_ = acknowledged;
  Restart(acknowledged);
}

bool SealPush::MaySend(size_t flight_count_max) const {
  return !is_lost_ && flights_.size() < flight_count_max && !stream_->at_end();
}

Result<std::optional<uint64_t>> SealPush::Next(std::optional<int64_t> now_s, int64_t now_us,
                                               PushBatch* batch) {
  CISTERN_RETURN_IF_ERROR(stream_->Next(now_s, batch));
  flights_.push_back({next_ticket_, batch->next, batch->byte_count(), batch->empty(), false});
  if (batch->empty()) {
    ++next_ticket_;
    MoveOn(now_us);
    return std::optional<uint64_t>();
  }
  return std::optional<uint64_t>(next_ticket_++);
}

SealPush::Flight* SealPush::Find(uint64_t ticket) {
  const auto at = std::find_if(flights_.begin(), flights_.end(),
                               [ticket](const Flight& f) { return f.ticket == ticket; });
  CISTERN_CHECK(at != flights_.end());
  return &*at;
}

std::optional<PushPosition> SealPush::EndOf(uint64_t ticket) const {
  const auto at = std::find_if(flights_.begin(), flights_.end(),
                               [ticket](const Flight& f) { return f.ticket == ticket; });
  return at == flights_.end() ? std::nullopt : std::optional(at->next);
}

void SealPush::Acknowledge(uint64_t ticket, int64_t now_us) {
  if (ticket < first_ticket_) {
    --orphans_;
    return;
  }
  Find(ticket)->is_acked = true;
  MoveOn(now_us);
  EndIfAnswered();
}

bool SealPush::Lose(uint64_t ticket) {
  if (ticket < first_ticket_) {
    --orphans_;
    return false;
  }
  const bool is_first = !is_lost_;
  is_lost_ = true;
  Find(ticket)->is_lost = true;
  EndIfAnswered();
  return is_first;
}

// Over what is acknowledged at the front.
void SealPush::MoveOn(int64_t now_us) {
  while (!flights_.empty() && flights_.front().is_acked) {
    acked_ = flights_.front().next;
    acked_bytes_ += flights_.front().byte_count;
    flights_.pop_front();
    if (!checkpoint_ && acked_bytes_ - durable_bytes_ >= checkpoint_bytes_) {
      checkpoint_ = PushCheckpoint{acked_, now_us};
      durable_bytes_ = acked_bytes_;
    }
  }
}

// Behind a lost batch nothing counts any more: it is only waited for.
void SealPush::EndIfAnswered() {
  const bool all_answered = std::all_of(flights_.begin(), flights_.end(),
                                        [](const Flight& f) { return f.is_acked || f.is_lost; });
  if (is_lost_ && all_answered) flights_.clear();
}

void SealPush::Rewind() {
  CISTERN_CHECK(is_interrupted());
  Restart(acked_);
}

void SealPush::RewindToDurable() {
  for (const Flight& flight : flights_) orphans_ += flight.is_acked || flight.is_lost ? 0 : 1;
  flights_.clear();
  first_ticket_ = next_ticket_;
  acked_ = durable_;
  checkpoint_.reset();
  durable_bytes_ = acked_bytes_;
  Restart(durable_);
}

std::optional<PushPosition> SealPush::Durable(int64_t now_us, int64_t hold_us) const {
  if (!checkpoint_ || now_us - checkpoint_->acked_us < hold_us) return std::nullopt;
  return checkpoint_->position;
}

void SealPush::NoteDurable() {
  CISTERN_CHECK(checkpoint_.has_value());
  durable_ = checkpoint_->position;
  checkpoint_.reset();
}

}  // namespace cistern::replicate
