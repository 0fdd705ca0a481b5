#include "storage/confirmed_seals.h"

#include <algorithm>
#include <span>
#include <utility>

#include "lib/base/coding.h"
#include "storage/sequence_intervals.h"

namespace cistern {

namespace {

// A change is: u8, 0 for seals that wait again and 1 + ProofLevel for confirmed ones; then the
// numbers of the seals as intervals.
constexpr uint8_t kWaits = 0;
constexpr uint8_t kLevelMax = 1 + static_cast<uint8_t>(ProofLevel::kRows);
constexpr size_t kSealsMax = 64 * 1024;  // of a change: intervals hold no more than 2^20

uint8_t LevelOf(ProofLevel proof) { return static_cast<uint8_t>(1 + static_cast<uint8_t>(proof)); }

void PutChanges(uint8_t level, std::vector<uint64_t> seals, std::string* out) {
  std::sort(seals.begin(), seals.end());
  for (size_t at = 0; at < seals.size(); at += kSealsMax) {
    const auto part = std::span(seals).subspan(at, std::min(kSealsMax, seals.size() - at));
    out->push_back(static_cast<char>(level));
    PutIntervals(out, IntervalsOf({part.begin(), part.end()}));
  }
}

}  // namespace

std::string CatalogConfirmedKey(uint64_t window_id) {
  std::string key = "C";
  PutBig(&key, window_id);
  return key;
}

void PutConfirmed(const ConfirmedSeals& seals, std::string* out) {
  std::map<uint8_t, std::vector<uint64_t>> by_level;
  for (const auto& [seal, proof] : seals) by_level[LevelOf(proof)].push_back(seal);
  for (auto& [level, numbers] : by_level) PutChanges(level, std::move(numbers), out);
}

void PutWaiting(std::vector<uint64_t> seals, std::string* out) {
  PutChanges(kWaits, std::move(seals), out);
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
    for (const SequenceInterval& interval : seals) {
      for (uint64_t n = 0; n < interval.length; ++n) {
        if (level == kWaits) confirmed.erase(interval.first + n);
        else confirmed[interval.first + n] = static_cast<ProofLevel>(level - 1);
      }
    }
  }
  if (!in.ok()) return in.status();
  return confirmed;
}

}  // namespace cistern
