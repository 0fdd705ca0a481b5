#include "engine/replicate/bandwidth_cap.h"

#include <algorithm>

namespace cistern::replicate {
namespace {

constexpr int64_t kMicro = 1'000'000;
// Both so that a second's tokens in millionths, and what is owed, stay within int64.
constexpr int64_t kRateMax = 1'000'000'000'000;
constexpr int64_t kDebtBytesMax = 1'000'000'000'000;

}  // namespace

BandwidthCap::BandwidthCap(uint64_t bytes_per_s)
    : bytes_per_s_(static_cast<int64_t>(std::min<uint64_t>(bytes_per_s, kRateMax))) {}

int64_t BandwidthCap::TokensAt(int64_t now_us) const {
  const int64_t burst = bytes_per_s_ * kMicro;
  if (!is_started_) return burst;
  const int64_t missing = burst - micro_tokens_;
  // Compared before it is multiplied: a cap may rest for years.
  const int64_t passed_us = std::max<int64_t>(now_us - counted_us_, 0);
  if (passed_us >= missing / bytes_per_s_ + 1) return burst;
  return std::min(micro_tokens_ + passed_us * bytes_per_s_, burst);
}

int64_t BandwidthCap::WaitUs(int64_t now_us) const {
  if (bytes_per_s_ == 0) return 0;
  const int64_t tokens = TokensAt(now_us);
  return tokens > 0 ? 0 : (-tokens) / bytes_per_s_ + 1;
}

void BandwidthCap::Take(uint64_t byte_count, int64_t now_us) {
  if (bytes_per_s_ == 0) return;
  const auto bytes = static_cast<int64_t>(std::min<uint64_t>(byte_count, kDebtBytesMax));
  micro_tokens_ = std::max(TokensAt(now_us) - bytes * kMicro, -kDebtBytesMax * kMicro);
  counted_us_ = is_started_ ? std::max(counted_us_, now_us) : now_us;
  is_started_ = true;
}

}  // namespace cistern::replicate
