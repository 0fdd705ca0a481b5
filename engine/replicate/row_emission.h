// Which statements a row version becomes. Pure.
//
// A version is one statement, with its own timestamp and expiry for all of its cells:
//
//   version                           statement
//   deletes the row                   DELETE of the row
//   with liveness                     INSERT: values, null for deleted cells, UNSET for absent ones
//   without                           UPDATE, the same; nothing if all its cells are absent
//   expired, older ones may exist     its cells deleted at its timestamp; with liveness an INSERT,
//                                     whose marker is expired as well
//   expired, nothing older exists     none
//
// A value of a collection that is not frozen deletes the elements that were there: it is bound as a
// deletion as well as a value.
//
// In a page that is sent with an old now (push_expiry.h) what deletes is apart from what sets:
// deletions go before, in requests without a now, so that their gc_grace_seconds begin
// when the server takes them. A version that sets some cells and deletes others is two
// statements there, otherwise never.
//
// In event time the versions of a row share one timestamp, at which a deletion would beat
// those that expire later. There an expired version is sent as it is: with its own expiry
// on v5, with one second to live on v4.
#ifndef CISTERN_ENGINE_REPLICATE_ROW_EMISSION_H_
#define CISTERN_ENGINE_REPLICATE_ROW_EMISSION_H_

#include <cstdint>
#include <optional>

#include "engine/replicate/push_statements.h"
#include "engine/replicate/timestamp_mode.h"

namespace cistern::replicate {

// What a regular cell of a state is bound as.
enum class CellBind : uint8_t { kUnset, kItself, kNull };
struct CellBinding {
  CellBind of_value = CellBind::kItself;
  CellBind of_null = CellBind::kNull;
  // Deletions alone are sent, among them that of the elements which a value replaces.
  [[nodiscard]] bool deletes_alone() const {
    return of_value == CellBind::kUnset && of_null == CellBind::kNull;
  }
  friend bool operator==(const CellBinding&, const CellBinding&) = default;
};

// A page is sent whole, or first its deletions and then its rows.
enum class PushPass : uint8_t { kWhole = 0, kDeletions = 1, kRows = 2 };

// What is asked of a version before it is sent.
struct VersionTraits {
  bool deletes_row = false;
  bool has_liveness = false;
  bool has_values = false;
  bool has_nulls = false;
  bool replaces_elements = false;  // has a value of a collection that is not frozen
  bool expires = false;
  bool is_expired = false;    // by the trusted clock
  bool may_shadow = false;  // a version that it beats may exist upstream, in this seal or to come
};

struct Emission {
  // How long what is set lives.
  enum class Life : uint8_t {
    kEndless,  // the text says TTL 0; of a deletion, which sets nothing, too
    kExpiry,   // until the version's own expiry
    kSecond,   // TTL 1: it is over, and no now can be named that would say so
  };
  StatementKind kind = StatementKind::kInsert;
  CellBinding cells;
  Life life = Life::kEndless;
  friend bool operator==(const Emission&, const Emission&) = default;
};

// How a page is pushed.
struct EmissionRules {
  PushPass pass = PushPass::kWhole;
  TimestampMode mode = TimestampMode::kWriteTime;
  bool names_now = false;  // v5: an expiry in the past can be told
};

// The statement of the version in this pass; nothing: it has none there.
[[nodiscard]] std::optional<Emission> EmitVersion(const VersionTraits& version,
                                                  const EmissionRules& rules);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_ROW_EMISSION_H_
