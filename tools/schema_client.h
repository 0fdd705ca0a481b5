// SchemaClient: what a cluster says of its tables, asked one question after another.
#ifndef CISTERN_TOOLS_SCHEMA_CLIENT_H_
#define CISTERN_TOOLS_SCHEMA_CLIENT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "engine/cql/event_loop.h"
#include "engine/cql/session.h"
#include "engine/replicate/cluster_schema.h"
#include "engine/replicate/schema_reader.h"
#include "tools/contact_options.h"
#include "tools/rule_guess.h"

namespace cistern::tool {

// A session and the loop that drives it, inside each call. One thread.
class SchemaClient {
 public:
  // Waits until a node takes requests. Errors are those of Session::WhenReady.
  static Result<std::unique_ptr<SchemaClient>> Connect(const ContactPlan& plan);
  SchemaClient(const SchemaClient&) = delete;
  SchemaClient& operator=(const SchemaClient&) = delete;
  ~SchemaClient() = default;

  // Waits for a node again where there is none. Errors are those of Session::WhenReady and of
  // replicate::ReadSchema; kIoError also when the cluster is not through in time.
  [[nodiscard]] Result<replicate::ClusterSchema> Read(const std::string& keyspace,
                                                      const std::string& table);
  // Rows of `partitions_max` partitions of a table that was read, the first and the last of each by
  // event time; those whose values are none of their types are left out. Errors as above.
  [[nodiscard]] Result<std::vector<PartitionSample>> Sample(const replicate::ClusterSchema& schema,
                                                            uint32_t partitions_max);
  // Runs them and waits for agreement, as replicate::ApplyStatements does. After an error read
  // again and compare: a statement whose answer was lost may have run.
  [[nodiscard]] replicate::Applied Apply(std::vector<std::string> statements);
  // Those that the cluster has told of, with their nodes; empty: of none yet.
  [[nodiscard]] std::map<std::string, size_t> DataCenters() const;

 private:
  SchemaClient(std::unique_ptr<cql::EventLoop> loop, const ContactPlan& plan);
  [[nodiscard]] Status WaitUntilReady();
  [[nodiscard]] Result<replicate::SystemRows> Ask(const std::string& cql, cql::ValueRun values);

  const int64_t connect_timeout_us_;
  const int64_t read_timeout_us_;
  std::unique_ptr<cql::EventLoop> loop_;
  cql::Session session_;  // goes before its loop
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_SCHEMA_CLIENT_H_
