// What the parts of Replicator know of a seal on its way.
#ifndef CISTERN_ENGINE_REPLICATE_REPLICATOR_PUSH_H_
#define CISTERN_ENGINE_REPLICATE_REPLICATOR_PUSH_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/replicate/replicator.h"
#include "engine/replicate/seal_proof.h"

namespace cistern::replicate {

// What cannot be read for so many times, of a disk or in an answer, is taken for unreadable.
inline constexpr uint32_t kReadAttemptsMax = 8;

// A seal that is sent or proved, and what stands in its way.
struct Replicator::Way {
  Way(DrainItem drain_item, uint64_t versions, std::shared_ptr<TableLink> table_link,
      RetryBackoff pauses)
      : item(std::move(drain_item)),
        version_count(versions),
        link(std::move(table_link)),
        backoff(pauses) {}

  const DrainItem item;
  const uint64_t version_count;
  const std::shared_ptr<TableLink> link;
  RetryBackoff backoff;
  int64_t resume_at_us = 0;        // nothing is sent before
  bool awaits_memory = false;      // for its next page: another push may give it back sooner
  bool is_given_up = false;        // it waits again once nothing is under way
  std::optional<PushRecord> park;  // it is parked then

  [[nodiscard]] bool is_over() const { return is_given_up || park.has_value(); }
  [[nodiscard]] uint64_t number() const { return item.seal; }
};

struct Replicator::Push : Way {
  Push(SealPush seal_push, std::shared_ptr<TableLink> table_link, RetryBackoff pauses)
      : Way(seal_push.item(), seal_push.version_count(), std::move(table_link), pauses),
        seal(std::move(seal_push)) {}

  SealPush seal;
  uint64_t byte_count = 0;    // of the seal's pages
  bool leaves_place = false;  // for another seal, while it pauses
  bool names_now = false;     // it was begun for protocol v5
  bool has_position = false;  // it went on from a record of the store
  std::string upstream_id;    // of the table that it is sent to
  ProofPtr proof;             // it sends once more what this one did not find; null: all of a seal
};

struct Replicator::Proof : Way {
  Proof(Holding held, SealProof seal_proof, std::shared_ptr<TableLink> table_link,
        RetryBackoff pauses)
      : Way(std::move(held.item), held.version_count, std::move(table_link), pauses),
        seal(std::move(seal_proof)) {}

  SealProof seal;
  MemoryCharge charge;        // of answers
  HiddenColumns hidden;       // of the table's link when it began
  bool is_newest = true;      // OpenedSeal
  bool is_asking = false;     // an answer is awaited
  bool is_sending = false;    // a push sends once more what was not found
  bool begins_anew = false;   // what was found so far may not count any more
  bool is_proven = false;

  [[nodiscard]] bool has_ended() const { return is_over() || begins_anew || is_proven; }
};

// Kept while a seal is in trouble, whether or not it is on its way, and its window is there.
struct Replicator::Trouble {
  BucketKey bucket;
  uint32_t attempts = 0;           // rounds that the batch which was refused first had
  uint32_t proofs_broken = 0;      // proofs that began anew, as what was read was damaged
  uint64_t acks_before = 0;        // of the cluster, when it was refused first
  uint64_t agreements_before = 0;  // of the table's link, then
  // Behind the foremost batch that was refused: until the push has passed it nothing is redeemed.
  std::optional<PushPosition> refused_end = {};
  bool ignores_position = false;   // what the store says of it does not fit
  bool is_of_proof = false;        // it was met by a proof: no batch that is taken redeems it
  [[nodiscard]] uint32_t rounds() const { return std::max(attempts, proofs_broken); }
};

// Of a seal that is sent again after a pause, which grows. Kept until it is confirmed or parked, or
// its window ends.
struct Replicator::Setback {
  BucketKey bucket;
  RetryBackoff backoff;
  int64_t until_us = 0;  // nothing of it goes before
  // Acknowledged by a push that left its place, and no host was lost since.
  std::optional<PushPosition> reached = {};
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_REPLICATOR_PUSH_H_
