#include "engine/replicate/drain_order.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace cistern::replicate {
namespace {

// What one seal counts at most, and what either kind can be behind: the other does not take all for
// hours behind a huge one, nor behind many whose buckets had to wait.
constexpr int64_t kCreditBytesMax = 16 * 1024 * 1024;

DrainPolicy Clamped(DrainPolicy policy) {
  policy.live_percent = std::clamp<uint32_t>(policy.live_percent, 1, 99);
  return policy;
}

// The earliest seal of each bucket: the only one that may go.
std::vector<size_t> FirstSeals(std::span<const DrainItem> items) {
  const auto less = [](const BucketKey* a, const BucketKey* b) {
    return std::tie(a->table_id, a->entity, a->start_s, a->split) <
           std::tie(b->table_id, b->entity, b->start_s, b->split);
  };
  std::map<const BucketKey*, size_t, decltype(less)> first(less);
  for (size_t i = 0; i < items.size(); ++i) {
    const auto [at, is_new] = first.try_emplace(&items[i].bucket, i);
    if (!is_new && items[i].seal < items[at->second].seal) at->second = i;
  }
  std::vector<size_t> seals;
  seals.reserve(first.size());
  for (const auto& [bucket, i] : first) seals.push_back(i);
  return seals;
}

// Whether a goes before b among those of one kind.
bool GoesBefore(const DrainItem& a, const DrainItem& b, bool newest_first) {
  const int64_t start_a = a.bucket.start_s;
  const int64_t start_b = b.bucket.start_s;
  if (start_a != start_b) return newest_first ? start_a > start_b : start_a < start_b;
  return a.seal < b.seal;
}

}  // namespace

DrainOrder::DrainOrder(const DrainPolicy& policy) : policy_(Clamped(policy)) {}

std::optional<size_t> DrainOrder::Choose(std::span<const DrainItem> items, int64_t now_s) const {
  struct Best {
    std::optional<size_t> live;
    std::optional<size_t> other;
  } best;
  const bool shares = policy_.mode == DrainMode::kLiveFirst;
  for (const size_t i : FirstSeals(items)) {
    const DrainItem& item = items[i];
    if (item.state != DrainItem::State::kWaiting) continue;
    const bool is_live = shares && policy_.IsLive(item.bucket_end_s, now_s);
    std::optional<size_t>& of_kind = is_live ? best.live : best.other;
    const bool newest_first = is_live || policy_.mode == DrainMode::kNewest;
    if (!of_kind || GoesBefore(item, items[*of_kind], newest_first)) of_kind = i;
  }
  if (!best.live) return best.other;
  return LiveIsNext() || !best.other ? best.live : best.other;
}

void DrainOrder::NotePushed(const DrainItem& item, std::span<const DrainItem> waiting,
                            int64_t now_s, uint64_t byte_count) {
  const auto bytes = static_cast<int64_t>(std::min<uint64_t>(byte_count, kCreditBytesMax));
  const int64_t live_percent = policy_.live_percent;
  const bool is_live = policy_.IsLive(item.bucket_end_s, now_s);
  const bool both_wait = std::any_of(waiting.begin(), waiting.end(), [&](const DrainItem& other) {
    return other.state == DrainItem::State::kWaiting &&
           policy_.IsLive(other.bucket_end_s, now_s) != is_live;
  });
  if (!both_wait) {
    credit_ = 0;
    return;
  }
  credit_ += is_live ? -bytes * (100 - live_percent) : bytes * live_percent;
  credit_ = std::clamp(credit_, -100 * kCreditBytesMax, 100 * kCreditBytesMax);
}

}  // namespace cistern::replicate
