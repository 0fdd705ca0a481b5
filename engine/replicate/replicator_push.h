// What the two halves of Replicator know of a seal on its way.
#ifndef CISTERN_ENGINE_REPLICATE_REPLICATOR_PUSH_H_
#define CISTERN_ENGINE_REPLICATE_REPLICATOR_PUSH_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "engine/replicate/replicator.h"

namespace cistern::replicate {

struct Replicator::Push {
  Push(SealPush seal_push, std::shared_ptr<TableLink> table_link, RetryBackoff pauses)
      : seal(std::move(seal_push)), link(std::move(table_link)), backoff(pauses) {}

  SealPush seal;
  const std::shared_ptr<TableLink> link;
  RetryBackoff backoff;
  uint64_t byte_count = 0;         // of the seal's pages
  bool names_now = false;          // it was begun for protocol v5
  bool has_position = false;       // it went on from a record of the store
  int64_t resume_at_us = 0;        // nothing is sent before
  bool awaits_memory = false;      // for its next page: another push may give it back sooner
  bool is_given_up = false;        // it waits again once nothing is under way
  std::optional<PushRecord> park;  // it is parked then

  [[nodiscard]] bool is_over() const { return is_given_up || park.has_value(); }
  [[nodiscard]] uint64_t number() const { return seal.item().seal; }
};

// Kept while a seal is in trouble, whether or not it is on its way; bounded by the seals that are.
struct Replicator::Trouble {
  uint32_t attempts = 0;           // of the batch that was refused first
  uint64_t acks_before = 0;        // of the cluster, when it was refused first
  uint64_t agreements_before = 0;  // of the table's link, then
  bool ignores_position = false;   // what the store says of it does not fit
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_REPLICATOR_PUSH_H_
