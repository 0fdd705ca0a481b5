#include "bench/push/cluster_client.h"

#include <optional>
#include <utility>

#include "bench/push/push_workload.h"
#include "cistern/clock.h"
#include "lib/base/coding.h"

namespace cistern::bench {
namespace {

constexpr int64_t kConnectTimeoutUs = 20'000'000;
constexpr int64_t kStatementTimeoutUs = 120'000'000;  // TRUNCATE waits for flushes
constexpr int64_t kWaitUs = 100'000;
constexpr size_t kHandlersMax = 256;

}  // namespace

cql::SessionOptions SessionOptionsOf(const cql::Endpoint& server) {
  cql::SessionOptions options;
  options.cluster.hosts.contacts.push_back(server);
  return options;
}

Result<std::unique_ptr<ClusterClient>> ClusterClient::Connect(const cql::Endpoint& server) {
  std::unique_ptr<ClusterClient> client(new ClusterClient());
  CISTERN_ASSIGN_OR_RETURN(client->loop_, cql::EventLoop::Create(SystemClock()));
  client->session_ = std::make_unique<cql::Session>(*client->loop_, SessionOptionsOf(server));
  std::optional<Status> ready;
  client->session_->WhenReady(kConnectTimeoutUs, [&](const Status& status) { ready = status; });
  client->WaitUntil([&] { return ready.has_value(); });
  CISTERN_RETURN_IF_ERROR(*ready);
  return client;
}

void ClusterClient::WaitUntil(const std::function<bool()>& is_done) {
  while (!is_done()) loop_->Wait(kWaitUs, kHandlersMax);
}

Status ClusterClient::Run(const std::string& cql) {
  std::optional<Status> ended;
  cql::SessionQuery query;
  query.timeout_us = kStatementTimeoutUs;
  query.answer = cql::AnswerKind::kSchemaChange;
  CISTERN_RETURN_IF_ERROR(session_->Query(
      cql, {}, query, [&](const cql::Outcome& outcome) { ended = outcome.status; }));
  WaitUntil([&] { return ended.has_value(); });
  return *ended;
}

Result<uint32_t> ClusterClient::Prepare(const std::string& cql) {
  std::optional<Result<uint32_t>> prepared;
  CISTERN_RETURN_IF_ERROR(
      session_->Prepare(cql, [&](const cql::Outcome& outcome, uint32_t number) {
        if (outcome.status.ok()) prepared = number;
        else prepared = outcome.status;
      }));
  WaitUntil([&] { return prepared.has_value(); });
  return *prepared;
}

Result<uint64_t> ClusterClient::CountRows(const std::string& table, uint32_t sensor_count) {
  CISTERN_ASSIGN_OR_RETURN(
      const uint32_t select,
      Prepare("SELECT count(*) FROM " + table + " WHERE sensor = ? AND part = ?"));
  uint64_t sum = 0;
  for (uint32_t sensor = 0; sensor < sensor_count; ++sensor) {
    cql::BoundStatement bound;
    bound.statement = select;
    cql::ValueWriter values(&bound.values);
    values.Int(static_cast<int32_t>(sensor));
    values.Bigint(kPart);
    std::optional<Status> ended;
    CISTERN_RETURN_IF_ERROR(
        session_->Execute(std::move(bound), {}, [&](const cql::Outcome& outcome) {
          ended = outcome.status;
          if (outcome.rows == nullptr) return;
          cql::RowReader rows(outcome.rows->rows);
          while (rows.Next()) sum += GetBig<uint64_t>(rows[0]->data());
        }));
    WaitUntil([&] { return ended.has_value(); });
    CISTERN_RETURN_IF_ERROR(*ended);
  }
  return sum;
}

}  // namespace cistern::bench
