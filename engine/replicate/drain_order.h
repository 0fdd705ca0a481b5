// Which seal of the outbox is pushed next. Pure.
#ifndef CISTERN_ENGINE_REPLICATE_DRAIN_ORDER_H_
#define CISTERN_ENGINE_REPLICATE_DRAIN_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cistern/replication_options.h"
#include "storage/keyspace.h"

namespace cistern::replicate {

struct DrainPolicy {
  DrainMode mode = DrainMode::kLiveFirst;
  // kLiveFirst: buckets that end at most so long before now are live, and take so many of a
  // hundred bytes while both kinds wait. What one kind leaves the other takes.
  int64_t live_span_s = 3600;
  uint32_t live_percent = 70;  // clamped to 1..99

  [[nodiscard]] bool IsLive(int64_t bucket_end_s, int64_t now_s) const {
    return bucket_end_s >= now_s - live_span_s;
  }
};

// One entry of the outbox. What waits and may not go is told too: it holds back the later seals of
// its bucket.
struct DrainItem {
  enum class State : uint8_t { kWaiting, kPushing, kParked };
  BucketKey bucket;
  uint64_t seal = 0;
  int64_t bucket_end_s = 0;
  State state = State::kWaiting;
};

// Chooses among a bounded part of the outbox: what lies at the end or ends that the mode begins
// with. Seals of one bucket go one after the other; one that is being pushed or parked holds
// back those behind it. Remembers only how the bytes were shared. One thread at a time.
class DrainOrder {
 public:
  explicit DrainOrder(const DrainPolicy& policy);

  // Index of the next one; nothing: none may go. REQUIRES: of each bucket, its earliest seal in the
  // outbox is among `items`.
  [[nodiscard]] std::optional<size_t> Choose(std::span<const DrainItem> items,
                                             int64_t now_s) const;
  // Bytes of a seal that was chosen; while one of the other kind is among `waiting` they count
  // against its share. What a kind took alone is no debt: after an outage the newest goes first.
  void NotePushed(const DrainItem& item, std::span<const DrainItem> waiting, int64_t now_s,
                  uint64_t byte_count);

 private:
  [[nodiscard]] bool LiveIsNext() const { return credit_ >= 0; }

  const DrainPolicy policy_;
  // By how much the live ones are behind their share, in hundredths of bytes; bounded both ways.
  int64_t credit_ = 0;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_DRAIN_ORDER_H_
