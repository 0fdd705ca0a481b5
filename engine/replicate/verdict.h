// What becomes of a batch that was not acknowledged. Pure.
//
// Source of the codes: native_protocol_v5.spec section 8, and Apache Cassandra 5.0's use of them.
#ifndef CISTERN_ENGINE_REPLICATE_VERDICT_H_
#define CISTERN_ENGINE_REPLICATE_VERDICT_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "cistern/status.h"
#include "engine/cql/protocol.h"

namespace cistern::replicate {

enum class Verdict : uint8_t {
  kSendAgain,     // after a pause, to whatever host; a repeat is harmless
  kSlowDown,      // the same, and the window is halved
  kAwaitCluster,  // nothing goes to the cluster until it answers again
  kHoldTable,     // this user may not do that with the table: its seals wait, others go on
  kAskSchema,     // compare the table with the cluster's: drift holds the table, not the seal
  kBindAnew,      // its seal is bound again, for the protocol version and the table that there are
  kPark,          // this seal is refused; its words are kept, the others go on
};

// What the cluster answered, or that it did not.
struct Refusal {
  std::optional<cql::ErrorCode> error_code;  // of the ERROR response; none came: see `status`
  StatusCode status = StatusCode::kOk;  // of the session
  uint32_t attempts = 1;                // of this batch, this one included
  // Since this batch was first refused:
  bool saw_equal_schema = false;  // the table was compared with the cluster's: no drift
  bool others_went = false;       // the cluster has acknowledged another batch
};

// After so many attempts a server's trouble with one batch is taken for the batch's own, if others
// go; if none does, the cluster is in trouble and parking every seal would only make work.
inline constexpr uint32_t kTroubleAttemptsMax = 10;

[[nodiscard]] Verdict Judge(const Refusal& refusal);

// "send again"
[[nodiscard]] std::string_view VerdictName(Verdict verdict);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_VERDICT_H_
