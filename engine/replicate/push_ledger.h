// PushLedger: what the replicator asks to be made durable. The engine writes it, between its own
// steps.
#ifndef CISTERN_ENGINE_REPLICATE_PUSH_LEDGER_H_
#define CISTERN_ENGINE_REPLICATE_PUSH_LEDGER_H_

#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "cistern/result.h"
#include "cistern/status.h"
#include "storage/outbox.h"
#include "storage/push_records.h"

namespace cistern::replicate {

// Called from the loop's thread, in small batches. kBusy and kNoSpace: not now, and nothing has
// changed; other errors are the store's.
class PushLedger {
 public:
  virtual ~PushLedger() = default;
  // Upstream has every row of these seals, each proved so far, which is kept. One that is confirmed
  // already, or gone, is passed over. Gives the numbers of those that it confirmed.
  [[nodiscard]] virtual Result<std::set<uint64_t>> Confirm(std::span<const ProvenSeal> seals) = 0;
  // How far seals are, or that they are parked. One that is no more in the outbox is passed over.
  [[nodiscard]] virtual Status Note(std::span<const std::pair<SealName, PushRecord>> records) = 0;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_PUSH_LEDGER_H_
