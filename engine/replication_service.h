// ReplicationService: a replicator beside an open engine. Wiring and lifecycle only.
#ifndef CISTERN_ENGINE_REPLICATION_SERVICE_H_
#define CISTERN_ENGINE_REPLICATION_SERVICE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/engine.h"
#include "cistern/replication.h"
#include "cistern/result.h"
#include "engine/cql/session.h"
#include "engine/replicate/replicator_options.h"
#include "storage/seal_resend.h"

namespace cistern {

struct ReplicationConfig {
  cql::SessionOptions session;
  replicate::ReplicatorOptions replicator;
};

// The engine must be open for writing and outlive the service. One thread at a time; it is the
// loop's thread of everything below.
class ReplicationService {
 public:
  // Begins to connect. kReadOnly, kClosed and what the engine says; kTooManyOpenFiles, kIoError: no
  // sockets.
  [[nodiscard]] static Result<std::unique_ptr<ReplicationService>> Start(Engine* engine,
                                                                         ReplicationConfig config);
  ~ReplicationService();

  // Does what there is to do, and waits for the cluster at most `wait_us`. Errors are the store's:
  // the engine opens it anew by itself, so they may be passed over by who goes on.
  [[nodiscard]] Result<ReplicationStatus> Run(int64_t wait_us);

  // Parked seals were made to wait again, or confirmed ones (below): they are looked for at once,
  // and tables that are held are compared with the cluster's anew.
  void LookAgain();

  // Resend, below; and what of it is on its way begins anew.
  [[nodiscard]] Result<uint64_t> ResendRange(const std::string& table, TimeRange range);

  // Lets a Run that waits go on, or the next one not wait. Any thread.
  void Wake();

 private:
  struct Parts;
  explicit ReplicationService(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

// --- of the store alone: no cluster is needed

// The seals that are parked, by bucket, at most limits::kPushRecordsMax.
[[nodiscard]] Result<std::vector<ParkedSeal>> ListParked(Engine* engine);
// Parked seals wait again: all, or those of a table. How many. kNotFound: no such table.
[[nodiscard]] Result<uint64_t> RetryParked(Engine* engine, const std::optional<std::string>& table);
// What of the table was confirmed of buckets that hold an event time of the range waits once more.
// How many seals, those among them that were sent in part. kNotFound: no such table;
// kInvalidArgument: an empty range. `done`, unless null: which those are.
[[nodiscard]] Result<uint64_t> Resend(Engine* engine, const std::string& table, TimeRange range,
                                      SealResend* done = nullptr);

// Walks over the outbox.
[[nodiscard]] Result<OutboxStatus> GetOutboxStatus(Engine* engine);

}  // namespace cistern

#endif  // CISTERN_ENGINE_REPLICATION_SERVICE_H_
