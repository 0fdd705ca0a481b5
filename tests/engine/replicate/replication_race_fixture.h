// A cluster that does something of its own in the middle of what is asked of it.
#ifndef CISTERN_TESTS_ENGINE_REPLICATE_REPLICATION_RACE_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_REPLICATE_REPLICATION_RACE_FIXTURE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tests/engine/replicate/replication_fixture.h"

namespace cistern::testing {

using fake_cassandra::Fault;
using fake_cassandra::FaultStep;
using fake_cassandra::RequestFacts;

// What the test says at each request.
class ToldFaults final : public fake_cassandra::FaultScript {
 public:
  std::function<FaultStep(const RequestFacts&)> next;
  FaultStep Next(const RequestFacts& request) override {
    return next ? next(request) : FaultStep{};
  }
};

inline bool Names(const RequestFacts& request, std::string_view words) {
  return request.body.find(words) != std::string_view::npos;
}

class ReplicationRaceTest : public ReplicationFixture {
 protected:
  void StartAll(fake_cassandra::ClusterOptions options = {}) {
    ASSERT_NO_FATAL_FAILURE(StartCluster(options, faults_));
    ASSERT_NO_FATAL_FAILURE(CreateTableUpstream());
    ASSERT_NO_FATAL_FAILURE(StartService());
  }
  // The table's definition, `flow` with that type.
  std::string DefinitionWith(const std::string& flow_type) {
    std::string cql = schema_->ToCql();
    const std::string flow = "flow double";
    cql.replace(cql.find(flow), flow.size(), "flow " + flow_type);
    return cql;
  }
  // Before a request is answered.
  FaultStep MakeAnewThere(const std::string& flow_type = "double") {
    return {.event = [this, flow_type](fake_cassandra::FakeCluster& cluster) {
      EXPECT_TRUE(cluster.RunLocked("DROP TABLE plant.pumps").ok());
      EXPECT_TRUE(cluster.RunLocked(DefinitionWith(flow_type)).ok());
    }};
  }
  void MakeAnew() {
    MustRun("DROP TABLE plant.pumps");
    MustRun(DefinitionWith("double"));
  }
  void RunUntilNothingGoes() {
    ASSERT_TRUE(TurnUntil([&] {
      return status_.phase == ReplicationPhase::kIdle || status_.phase == ReplicationPhase::kStuck;
    })) << Explain();
  }
  const std::shared_ptr<ToldFaults> faults_ = std::make_shared<ToldFaults>();
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_REPLICATE_REPLICATION_RACE_FIXTURE_H_
