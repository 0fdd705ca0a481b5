#include "tools/schema_client.h"

#include <functional>
#include <optional>
#include <utility>

#include "cistern/clock.h"
#include "engine/replicate/schema_reader.h"

namespace cistern::tool {
namespace {

constexpr int64_t kAgreementTimeoutUs = 30'000'000;
constexpr int64_t kWaitUs = 1'000'000;
constexpr size_t kHandlersMax = 256;

// What `begin` hands to the callback that it is given, once that has come.
template <typename Outcome>
Outcome Await(cql::EventLoop* loop,
              const std::function<void(std::function<void(const Outcome&)>)>& begin) {
  const auto outcome = std::make_shared<std::optional<Outcome>>();
  begin([outcome](const Outcome& told) { *outcome = told; });
  while (!outcome->has_value()) loop->Wait(kWaitUs, kHandlersMax);
  return **outcome;
}

}  // namespace

SchemaClient::SchemaClient(std::unique_ptr<cql::EventLoop> loop,
                           const ContactPlan& plan)
    : connect_timeout_us_(plan.connect_timeout_us),
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
  return Await<Result<replicate::ClusterSchema>>(loop_.get(), [&](auto done) {
    replicate::ReadSchema(*loop_, session_, keyspace, table, std::move(done));
  });
}

Status SchemaClient::Apply(std::vector<std::string> statements) {
  return Await<Status>(loop_.get(), [&](auto done) {
    replicate::ApplyStatements(*loop_, session_, std::move(statements), kAgreementTimeoutUs,
                               std::move(done));
  });
}

}  // namespace cistern::tool
