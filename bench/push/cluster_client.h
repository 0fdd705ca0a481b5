// ClusterClient: a session whose calls wait for their answers. For what is not measured.
#ifndef CISTERN_BENCH_PUSH_CLUSTER_CLIENT_H_
#define CISTERN_BENCH_PUSH_CLUSTER_CLIENT_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cistern/result.h"
#include "engine/cql/session.h"

namespace cistern::bench {

// Of a session to this host alone, with the defaults of the product.
[[nodiscard]] cql::SessionOptions SessionOptionsOf(const cql::Endpoint& server);

// One thread.
class ClusterClient {
 public:
  [[nodiscard]] static Result<std::unique_ptr<ClusterClient>> Connect(const cql::Endpoint& server);

  // Runs a statement without values, such as TRUNCATE, which takes its time.
  [[nodiscard]] Status Run(const std::string& cql);
  // The number for BoundStatement.
  [[nodiscard]] Result<uint32_t> Prepare(const std::string& cql);
  // Rows of the table, counted by the server, bucket by bucket.
  [[nodiscard]] Result<uint64_t> CountRows(const std::string& table, uint32_t sensor_count);

  // Turns the loop until that holds.
  void WaitUntil(const std::function<bool()>& is_done);
  [[nodiscard]] cql::Session& session() { return *session_; }

 private:
  ClusterClient() = default;
  std::unique_ptr<cql::EventLoop> loop_;  // outlives the session
  std::unique_ptr<cql::Session> session_;
};

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PUSH_CLUSTER_CLIENT_H_
