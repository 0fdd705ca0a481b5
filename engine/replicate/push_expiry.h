// How a row's second of expiry reaches the server. Pure.
//
// Rows hold the second at which they expire; CQL takes a TTL and adds it to a "now".
//
//   v5  The request names its now: every page fixes one second N for all of its rows and a row
//       is sent with now_in_seconds = N and TTL = expiry - N. The server stores N + TTL: the exact
//       expiry, on every repeat, whenever it comes. N depends on the page's rows alone. A row
//       whose TTL by N is none that CQL takes (the spread of the page's expiries is wider than
//       20 years) is sent with a now of its own, see ExactTtlOf.
//       In event time the now is of the expiry instead, see EventTtlOf; and so it is of a row that
//       expires shortly before the server's last second, see ExpiresLate.
//   v4  The server's now is the moment when the request arrives: the TTL is what remains of
//       it at the moment of sending, by the trusted clock.
//
// Never the remaining TTL with an old now: that would subtract the row's age twice.
//
// TTL 0 means for ever, also in a table with a default_time_to_live; a text without a TTL, and a
// TTL bound UNSET, take the table's default. So a version that never expires says TTL 0 in a
// table that has a default, or may have one.
//
// Deletions never travel with an old now: the server begins to count gc_grace_seconds there,
// and could forget a tombstone before all replicas have it. See row_emission.h.
//
// Source: org.apache.cassandra.cql3.Attributes and native_protocol_v5.spec section 4.1.4.
#ifndef CISTERN_ENGINE_REPLICATE_PUSH_EXPIRY_H_
#define CISTERN_ENGINE_REPLICATE_PUSH_EXPIRY_H_

#include <cstdint>
#include <limits>
#include <optional>

#include "cistern/result.h"
#include "lib/row/version_columns.h"

namespace cistern::replicate {

// Largest now_in_seconds: the field is a signed 32-bit number, and Cassandra 4 takes it so.
inline constexpr int64_t kNowSecondsMax = std::numeric_limits<int32_t>::max();

// The page's N: the newest write second in it, but before the first expiry, at most
// limits::kTtlSecondsMax before the last, and within 0..kNowSecondsMax. None: no row of the page
// expires. REQUIRES: boots are resolved.
[[nodiscard]] std::optional<int32_t> PageNow(const VersionColumns& rows);

// expiry = now_s + ttl_s, with 1 <= ttl_s <= limits::kTtlSecondsMax.
struct ExactTtl {
  int32_t now_s = 0;
  int32_t ttl_s = 0;
  friend bool operator==(const ExactTtl&, const ExactTtl&) = default;
};

// By the page's now where that gives a TTL that CQL takes, otherwise by the nearest now that
// does. Depends on its arguments alone, so a repeat is equal byte for byte. Nothing: no now up to
// kNowSecondsMax reaches `expiry_s`, which lies after 2058. REQUIRES: expiry_s > 0.
[[nodiscard]] std::optional<ExactTtl> ExactTtlOf(int32_t page_now_s, uint32_t expiry_s);

// The distance between the nows of event time. Once a cell is over, Cassandra keeps it as a
// tombstone for gc_grace_seconds (10 days, if nobody says otherwise) from its now on: so the now
// lies near the expiry, and is still one for the rows of hours.
inline constexpr int64_t kEventNowStepS = 5 * 86'400;

// The same in event time, where all versions of a row have one timestamp. Of two cells that also
// expire in the same second Cassandra keeps the one with the smaller TTL, and asks for the larger
// value, as merging does here, only where those are equal. So the TTL depends on the expiry alone:
// the now is the last multiple of kEventNowStepS before it, if the field can say that.
// Source: org.apache.cassandra.db.rows.Cells.resolveRegular of 5.0.8. REQUIRES: expiry_s > 0.
[[nodiscard]] std::optional<ExactTtl> EventTtlOf(uint32_t expiry_s);
// The last second that a server takes whose storage is compatible with Cassandra 4. It judges TTL
// plus its own now, whatever now the request names: so a row that was written long before is
// refused though it expires in time. Source: Attributes.getTimeToLive and
// ExpirationDateOverflowHandling of Apache Cassandra 5.0.8.
inline constexpr int64_t kExpirySecondsMaxOf4 = std::numeric_limits<int32_t>::max() - 1;
// For an outage of so long it is not.
inline constexpr int64_t kOutageSecondsMax = int64_t{3} * 366 * 86'400;

// True: it expires within kOutageSecondsMax before that second, so its now is that of EventTtlOf,
// in whatever mode its table is.
[[nodiscard]] inline bool ExpiresLate(uint32_t expiry_s) {
  return expiry_s <= kExpirySecondsMaxOf4 && expiry_s > kExpirySecondsMaxOf4 - kOutageSecondsMax;
}

// The page's now in event time: that of its last expiry. None: no row of the page expires.
[[nodiscard]] std::optional<int32_t> EventPageNow(const VersionColumns& rows);

// Whether a version is over at second `now_s` of the trusted clock. Nothing is, as long as the
// time is not known.
[[nodiscard]] inline bool IsExpired(uint32_t expiry_s, std::optional<int64_t> now_s) {
  return expiry_s != 0 && now_s && int64_t{expiry_s} <= *now_s;
}

// What remains of a version that is not over yet, for v4.
//   kBusy  wait for the clock: the time is not known, or the clock is behind that of the write,
//          so that more than 20 years remain
[[nodiscard]] Result<int32_t> RemainingTtl(uint32_t expiry_s, std::optional<int64_t> now_s);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_PUSH_EXPIRY_H_
