// ReplicationImpl: the public Replication over a ReplicationService. Threads and lifecycle only.
#ifndef CISTERN_ENGINE_REPLICATION_IMPL_H_
#define CISTERN_ENGINE_REPLICATION_IMPL_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cistern/replication.h"
#include "engine/replication_service.h"
#include "lib/base/fair_mutex.h"
#include "lib/base/home_process.h"
#include "lib/base/worker_thread.h"

namespace cistern {

// Who replicates an engine: one at a time in the process, or everything would be sent twice.
class ReplicationClaim {
 public:
  // kAlreadyExists: somebody has it.
  [[nodiscard]] static Result<std::unique_ptr<ReplicationClaim>> Take(const Engine* engine);
  ReplicationClaim(const ReplicationClaim&) = delete;
  ReplicationClaim& operator=(const ReplicationClaim&) = delete;
  ~ReplicationClaim();  // gives it back

 private:
  explicit ReplicationClaim(const Engine* engine) : engine_(engine) {}
  const Engine* const engine_;
};

class ReplicationImpl final : public Replication {
 public:
  // `warnings` are told with each status.
  ReplicationImpl(Engine* engine, std::unique_ptr<ReplicationClaim> claim,
                  std::unique_ptr<ReplicationService> service, std::vector<std::string> warnings);
  ~ReplicationImpl() override;
  // kIoError: the machine gives no thread.
  [[nodiscard]] Status StartThread();

  [[nodiscard]] Result<ReplicationStatus> Run(int64_t wait_us) override;
  [[nodiscard]] ReplicationStatus GetStatus() const override;
  [[nodiscard]] Status Health() const override;
  [[nodiscard]] Result<std::vector<ParkedSeal>> ListParked() override;
  [[nodiscard]] Result<uint64_t> RetryParked(const std::string& table) override;
  [[nodiscard]] Result<uint64_t> Resend(const std::string& table, TimeRange range) override;
  [[nodiscard]] Result<OutboxStatus> GetOutbox() override;
  void Stop() override;

 private:
  [[nodiscard]] Result<ReplicationStatus> Turn(int64_t wait_us);
  [[nodiscard]] Result<ReplicationStatus> TurnLocked(int64_t wait_us);
  void RunThread();
  [[nodiscard]] Status CheckOpen() const;
  // The outbox was changed: the next turn looks at all of it.
  void LookAgain();

  const HomeProcess home_;
  Engine* const engine_;
  const std::vector<std::string> warnings_;
  bool has_thread_ = false;  // from StartThread on, before anybody else sees this

  std::mutex stop_mutex_;  // of those who stop it; taken first
  std::unique_ptr<WorkerThread> thread_;
  std::unique_ptr<ReplicationClaim> claim_;

  FairMutex turn_mutex_;  // who holds it is the loop's thread; taken before `mutex_`

  mutable std::mutex mutex_;
  // Reset with both mutexes held, so that one of them suffices to find it.
  std::unique_ptr<ReplicationService> service_;
  bool is_stopping_ = false;
  bool looks_again_ = false;
  ReplicationStatus status_;
  Status health_;
  std::unique_ptr<std::condition_variable> stopping_ = std::make_unique<std::condition_variable>();
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_REPLICATION_IMPL_H_
