#include "storage/confirmed_seals.h"

#include <algorithm>
#include <iterator>

#include "lib/base/coding.h"
#include "storage/sequence_intervals.h"

namespace cistern {

namespace {

// A change is: u8, 0 for seals that wait again and 1 + ProofLevel for confirmed ones; then the
// numbers of the seals as intervals.
constexpr uint8_t kWaits = 0;
constexpr uint8_t kLevelMax = 1 + static_cast<uint8_t>(ProofLevel::kRows);
constexpr uint64_t kSealsMax = 64 * 1024;  // of a change: intervals hold no more than 2^20

uint8_t LevelOf(ProofLevel proof) { return static_cast<uint8_t>(1 + static_cast<uint8_t>(proof)); }

// Writes changes of one level, each of at most kSealsMax seals.
class ChangeWriter {
 public:
  ChangeWriter(uint8_t level, std::string* out) : level_(level), out_(out) {}
  void Add(uint64_t first, uint64_t length) {
    while (length > 0) {
      const uint64_t part = std::min(length, kSealsMax - count_);
      intervals_.push_back({first, part});
      count_ += part;
      first += part;
      length -= part;
      if (count_ == kSealsMax) End();
    }
  }
  void End() {
    if (intervals_.empty()) return;
    out_->push_back(static_cast<char>(level_));
    PutIntervals(out_, intervals_);
    intervals_.clear();
    count_ = 0;
  }

 private:
  const uint8_t level_;
  std::string* const out_;
  SequenceIntervals intervals_;
  uint64_t count_ = 0;
};

}  // namespace

void ConfirmedSeals::Wait(uint64_t first, uint64_t length) {
  const uint64_t end = first + length;
  auto at = spans_.lower_bound(first);
  if (at != spans_.begin()) {
    Span& before = std::prev(at)->second;
    const Span was = before;
    before.end = std::min(was.end, first);
    if (was.end > end) at = spans_.insert_or_assign(at, end, was);
  }
  while (at != spans_.end() && at->first < end) {
    if (at->second.end > end) spans_.emplace(end, at->second);
    at = spans_.erase(at);
  }
}

void ConfirmedSeals::Confirm(uint64_t first, uint64_t length, ProofLevel proof) {
  Wait(first, length);
  uint64_t end = first + length;
  const auto behind = spans_.find(end);
  if (behind != spans_.end() && behind->second.proof == proof) {
    end = behind->second.end;
    spans_.erase(behind);
  }
  const auto at = spans_.lower_bound(first);
  if (at != spans_.begin()) {
    Span& before = std::prev(at)->second;
    if (before.end == first && before.proof == proof) {
      before.end = end;
      return;
    }
  }
  spans_.emplace(first, Span{end, proof});
}

std::optional<ProofLevel> ConfirmedSeals::ProofOf(uint64_t seal) const {
  const auto behind = spans_.upper_bound(seal);
  if (behind == spans_.begin()) return std::nullopt;
  const Span& span = std::prev(behind)->second;
  return seal < span.end ? std::optional(span.proof) : std::nullopt;
}

std::string CatalogConfirmedKey(uint64_t window_id) {
  std::string key = "C";
  PutBig(&key, window_id);
  return key;
}

void PutConfirmed(const ConfirmedSeals& seals, std::string* out) {
  for (const auto proof : {ProofLevel::kAck, ProofLevel::kCount, ProofLevel::kRows}) {
    ChangeWriter writer(LevelOf(proof), out);
    for (const auto& [first, span] : seals.spans()) {
      if (span.proof == proof) writer.Add(first, span.end - first);
    }
    writer.End();
  }
}

void PutWaiting(std::vector<uint64_t> seals, std::string* out) {
  ChangeWriter writer(kWaits, out);
  for (const SequenceInterval& i : IntervalsOf(std::move(seals))) writer.Add(i.first, i.length);
  writer.End();
}

Result<ConfirmedSeals> DecodeConfirmed(std::string_view bytes) {
  ConfirmedSeals confirmed;
  ByteReader in(bytes, "confirmed seals");
  while (in.ok() && in.remaining() > 0) {
    const uint8_t level = in.ReadU8("level");
    if (in.ok() && level > kLevelMax) in.Fail("level", "is not known");
    SequenceIntervals seals;
    ReadIntervals(&in, &seals);
    if (!in.ok()) break;
    for (const SequenceInterval& i : seals) {
      if (level == kWaits) confirmed.Wait(i.first, i.length);
      else confirmed.Confirm(i.first, i.length, static_cast<ProofLevel>(level - 1));
    }
  }
  if (!in.ok()) return in.status();
  return confirmed;
}

std::string CompactConfirmed(std::string bytes) {
  const auto confirmed = DecodeConfirmed(bytes);
  if (!confirmed.ok()) return bytes;
  std::string compact;
  PutConfirmed(*confirmed, &compact);
  return compact;
}

}  // namespace cistern
