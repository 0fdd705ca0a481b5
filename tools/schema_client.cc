#include "tools/schema_client.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "cistern/clock.h"

namespace cistern::tool {
namespace {

constexpr int64_t kAgreementTimeoutUs = 30'000'000;
constexpr int64_t kWaitUs = 1'000'000;
constexpr size_t kHandlersMax = 256;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// What `begin` hands to the callback that it is given, once that has come; nothing: it did not come
// before `deadline_us`.
template <typename Outcome>
std::optional<Outcome> AwaitUntil(
    cql::EventLoop* loop, int64_t deadline_us,
    const std::function<void(std::function<void(const Outcome&)>)>& begin) {
  // It may still be told when this has returned.
  const auto outcome = std::make_shared<std::optional<Outcome>>();
  begin([outcome](const Outcome& told) { *outcome = told; });
  while (!outcome->has_value()) {
    const int64_t left_us = deadline_us - loop->NowUs();
    if (left_us <= 0) return std::nullopt;
    loop->Wait(std::min(kWaitUs, left_us), kHandlersMax);
  }
  return *outcome;
}

template <typename Outcome>
Outcome Await(cql::EventLoop* loop,
              const std::function<void(std::function<void(const Outcome&)>)>& begin) {
  return *AwaitUntil<Outcome>(loop, kNever, begin);
}

}  // namespace

SchemaClient::SchemaClient(std::unique_ptr<cql::EventLoop> loop,
                           const ContactPlan& plan)
    : connect_timeout_us_(plan.connect_timeout_us),
      read_timeout_us_(plan.read_timeout_us),
      loop_(std::move(loop)),
      session_(*loop_, plan.session) {}

Result<std::unique_ptr<SchemaClient>> SchemaClient::Connect(const ContactPlan& plan) {
  CISTERN_ASSIGN_OR_RETURN(auto loop, cql::EventLoop::Create(SystemClock()));
  std::unique_ptr<SchemaClient> client(new SchemaClient(std::move(loop), plan));
  CISTERN_RETURN_IF_ERROR(client->WaitUntilReady());
  return client;
}

Status SchemaClient::WaitUntilReady() {
  return Await<Status>(loop_.get(), [&](auto done) {
    session_.WhenReady(connect_timeout_us_, std::move(done));
  });
}

Result<replicate::ClusterSchema> SchemaClient::Read(const std::string& keyspace,
                                                    const std::string& table) {
  CISTERN_RETURN_IF_ERROR(WaitUntilReady());
  const auto read = AwaitUntil<Result<replicate::ClusterSchema>>(
      loop_.get(), loop_->NowUs() + read_timeout_us_, [&](auto done) {
        replicate::ReadSchema(*loop_, session_, keyspace, table, std::move(done));
      });
  if (read) return *read;
  return Status::IoError("the cluster has not answered for the schema of " + keyspace + "." +
                         table + " in " + std::to_string(read_timeout_us_ / 1'000'000) +
                         " s; check the load of its nodes, and try again");
}

Result<replicate::SystemRows> SchemaClient::Ask(const std::string& cql, cql::ValueRun values) {
  const auto rows = AwaitUntil<Result<replicate::SystemRows>>(
      loop_.get(), loop_->NowUs() + read_timeout_us_, [&](auto done) {
        replicate::AskRows(*loop_, session_, cql, std::move(values), std::move(done));
      });
  if (rows) return *rows;
  return Status::IoError("the cluster has not answered \"" + cql + "\" in " +
                         std::to_string(read_timeout_us_ / 1'000'000) +
                         " s; check the load of its nodes, and try again");
}

Result<std::vector<PartitionSample>> SchemaClient::Sample(const replicate::ClusterSchema& schema,
                                                          uint32_t partitions_max) {
  const replicate::ClusterTable& table = *schema.table;
  const SampleQueries queries = MakeSampleQueries(schema, partitions_max);
  CISTERN_ASSIGN_OR_RETURN(const replicate::SystemRows first, Ask(queries.partitions, {}));
  std::vector<PartitionSample> samples;
  for (const auto& row : first.rows) {
    std::optional<PartitionSample> sample = TakeSample(table, row);
    if (!sample) continue;
    cql::ValueRun key;
    cql::ValueWriter writer(&key);
    for (size_t i = 0; i < table.partition_key.size(); ++i) {
      writer.Value(*table.partition_key[i].type, sample->key[i].fixed, sample->key[i].bytes);
    }
    CISTERN_ASSIGN_OR_RETURN(const replicate::SystemRows other, Ask(queries.other_end, key));
    for (const auto& end : other.rows) AddTime(table, end, &*sample);
    samples.push_back(*std::move(sample));
  }
  return samples;
}

std::map<std::string, size_t> SchemaClient::DataCenters() const {
  std::map<std::string, size_t> nodes;
  for (const auto& [id, host] : session_.cluster().pool().hosts()) {
    if (host.info && !host.info->data_center.empty()) ++nodes[host.info->data_center];
  }
  return nodes;
}

replicate::Applied SchemaClient::Apply(std::vector<std::string> statements) {
  return Await<replicate::Applied>(loop_.get(), [&](auto done) {
    replicate::ApplyStatements(*loop_, session_, std::move(statements), kAgreementTimeoutUs,
                               std::move(done));
  });
}

}  // namespace cistern::tool
