#include "engine/replicate/push_expiry.h"

#include <algorithm>
#include <string>

#include "cistern/limits.h"
#include "lib/base/concat.h"

namespace cistern::replicate {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kTtlMax = limits::kTtlSecondsMax;

int64_t SecondOf(int64_t micros) {
  const int64_t seconds = micros / kMicrosPerSecond;
  return micros % kMicrosPerSecond < 0 ? seconds - 1 : seconds;
}

}  // namespace

std::optional<int32_t> PageNow(const VersionColumns& rows) {
  int64_t first_s = std::numeric_limits<int64_t>::max();  // of expiry
  int64_t last_s = 0;
  for (const uint32_t expiry_s : rows.expiry_s) {
    if (expiry_s == 0) continue;
    first_s = std::min(first_s, int64_t{expiry_s});
    last_s = std::max(last_s, int64_t{expiry_s});
  }
  if (last_s == 0) return std::nullopt;
  const int64_t written_s = SecondOf(*std::max_element(rows.write_us.begin(), rows.write_us.end()));
  int64_t now_s = std::min(written_s, first_s - 1);
  now_s = std::max(now_s, last_s - kTtlMax);
  return static_cast<int32_t>(std::clamp(now_s, int64_t{0}, kNowSecondsMax));
}

std::optional<ExactTtl> ExactTtlOf(int32_t page_now_s, uint32_t expiry_s) {
  const int64_t last_now_s = std::min(int64_t{expiry_s} - 1, kNowSecondsMax);
  const int64_t first_now_s = std::max(int64_t{expiry_s} - kTtlMax, int64_t{0});
  if (first_now_s > last_now_s) return std::nullopt;
  const int64_t now_s = std::clamp(int64_t{page_now_s}, first_now_s, last_now_s);
  return ExactTtl{static_cast<int32_t>(now_s),
                  static_cast<int32_t>(int64_t{expiry_s} - now_s)};
}

std::optional<ExactTtl> EventTtlOf(uint32_t expiry_s) {
  const int64_t step = (int64_t{expiry_s} - 1) / kEventNowStepS * kEventNowStepS;
  return ExactTtlOf(static_cast<int32_t>(std::min(step, kNowSecondsMax)), expiry_s);
}

std::optional<int32_t> EventPageNow(const VersionColumns& rows) {
  const auto last = std::max_element(rows.expiry_s.begin(), rows.expiry_s.end());
  if (last == rows.expiry_s.end() || *last == 0) return std::nullopt;
  const std::optional<ExactTtl> exact = EventTtlOf(*last);
  return exact ? exact->now_s : static_cast<int32_t>(kNowSecondsMax);
}

Result<int32_t> RemainingTtl(uint32_t expiry_s, std::optional<int64_t> now_s) {
  if (!now_s) {
    return Status::Busy("the time is not known, so neither is what remains of a row's TTL: over "
                        "protocol v4 rows that expire wait for a trusted clock");
  }
  int64_t ttl_s = 0;
  const bool overflows = __builtin_sub_overflow(int64_t{expiry_s}, *now_s, &ttl_s);
  if (overflows || ttl_s > kTtlMax) {
    return Status::Busy(Concat({"a row expires at second ", expiry_s,
        ", more than 20 years after the clock's ", *now_s, ": the clock is behind; set it"}));
  }
  return static_cast<int32_t>(std::max<int64_t>(ttl_s, 1));
}

}  // namespace cistern::replicate
