// OutageDrill: a gateway that goes on while upstream is away: an engine, a replication service, and
// what a host does with them, in one thread and on a clock that it moves.
#ifndef CISTERN_TESTS_LIMITS_OUTAGE_DRILL_H_
#define CISTERN_TESTS_LIMITS_OUTAGE_DRILL_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cistern/engine.h"
#include "engine/replication_service.h"
#include "tests/limits/drill_rows.h"
#include "tests/support/fake_cassandra/cluster_process.h"
#include "tests/support/shared_clock.h"
#include "tests/support/stamp_model.h"

namespace cistern::testing {

inline constexpr size_t kDrillBudgetBytes = 64 * 1024 * 1024;
inline constexpr int64_t kDrillStartMs = 1'799'971'200'000;  // 2027-01-15T00:00:00Z
inline constexpr int64_t kDrillSampleS = 30;                 // between two rows of a sensor
inline constexpr int64_t kDrillSamplesOfHour = 3600 / kDrillSampleS;

// What one sample took of the engine; the service must not change it.
struct DrillTrace {
  uint64_t sequence = 0;    // of the last commit group
  uint64_t steps = 0;       // of maintenance
  uint64_t sealed = 0;      // row versions, at the end
  friend bool operator==(const DrillTrace&, const DrillTrace&) = default;
};

// One thread. Errors name what went wrong; after one nothing is called any more.
class OutageDrill {
 public:
  OutageDrill(std::string directory, std::shared_ptr<SharedClock> clock, DrillLog* log,
              fake_cassandra::ClusterProcess* cluster)
      : directory_(std::move(directory)), clock_(std::move(clock)), log_(log), cluster_(cluster) {}

  [[nodiscard]] Status Open();
  [[nodiscard]] Status CreateTablesUpstream();
  [[nodiscard]] Status StartService(replicate::ReplicatorOptions options = {});
  [[nodiscard]] Status Close();

  // --- the host's work
  // The next sample: its rows, and what is due of maintenance.
  [[nodiscard]] Status Sample();
  // Rows of one table, with the outcome noted in the log.
  [[nodiscard]] Status Write(std::vector<DrillWrite> writes);
  [[nodiscard]] Status Tick();
  [[nodiscard]] Status SealAll();

  // --- replication
  // One turn of the service while upstream is away; anything else is an error.
  [[nodiscard]] Status RunAway();
  // Turns service and cluster, goes on sampling, and lets time pass, until `is_done`.
  [[nodiscard]] Status RunUntil(const char* what, const std::function<bool()>& is_done);
  // Of row versions, with what the service says.
  [[nodiscard]] Status CheckCounters();
  // What the cluster's process says to it; of Tell: anything but "ok" is an error.
  [[nodiscard]] std::string Ask(const std::string& command) { return cluster_->Ask(command); }
  [[nodiscard]] Status Tell(const std::string& command);

  Engine* engine() { return engine_.get(); }
  ReplicationService* service() { return service_.get(); }
  const ReplicationStatus& status() const { return status_; }
  const DrillTrace& trace() const { return trace_; }
  [[nodiscard]] int64_t now_ms() { return clock_->WallMicros() / 1000; }
  [[nodiscard]] std::string Explain() const;

  bool samples_meanwhile = false;  // RunUntil goes on sampling

 private:
  [[nodiscard]] Status Turn(bool* was_quiet);

  const std::string directory_;
  const std::shared_ptr<SharedClock> clock_;
  DrillLog* const log_;
  fake_cassandra::ClusterProcess* const cluster_;

  std::unique_ptr<Engine> engine_;
  std::array<std::shared_ptr<const TableSchema>, kDrillTableCount> schemas_;
  std::unique_ptr<ReplicationService> service_;
  ReplicationStatus status_;
  DrillTrace trace_;
  uint64_t samples_ = 0;
  StampModel stamps_;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_LIMITS_OUTAGE_DRILL_H_
