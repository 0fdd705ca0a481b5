#include "bench/push/single_row_push.h"

#include <bit>
#include <utility>

#include "bench/push/cistern_push.h"
#include "bench/push/push_workload.h"
#include "lib/base/coding.h"

namespace cistern::bench {
namespace {

constexpr const char* kInsert =
    "INSERT INTO gateway.readings (sensor, part, ts, temperature, humidity, pressure, voltage,"
    " status, ok, mode) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ?";

cql::BoundStatement Bind(uint32_t statement, const GatewayRow& row) {
  cql::BoundStatement bound;
  bound.statement = statement;
  cql::ValueWriter values(&bound.values);
  values.Int(static_cast<int32_t>(row.sensor));
  values.Bigint(kPart);
  values.Bigint(row.time_ms);
  for (const double value : row.values) values.Bigint(std::bit_cast<int64_t>(value));
  values.Int(row.status);
  values.Value(row.ok ? std::string_view("\1", 1) : std::string_view("\0", 1));
  values.Value(row.mode);
  values.Bigint(row.time_ms * 1000);
  return bound;
}

class SingleRowPush {
 public:
  SingleRowPush(ClusterClient* client, const std::vector<GatewayRow>& rows, uint32_t statement,
                size_t in_flight_max)
      : client_(client), rows_(rows), statement_(statement), in_flight_max_(in_flight_max) {
    query_.options.consistency = PushOptionsOf(ProofLevel::kAck).consistency;
    query_.options.skip_metadata = true;
    query_.answer = cql::AnswerKind::kVoid;
  }

  Status Run() {
    SendSome();
    client_->WaitUntil([this] {
      return in_flight_ == 0 && (!failure_.ok() || next_ == rows_.size());
    });
    return failure_;
  }

 private:
  void SendSome() {
    while (failure_.ok() && in_flight_ < in_flight_max_ && next_ < rows_.size()) {
      const Status sent =
          client_->session().Execute(Bind(statement_, rows_[next_]), query_,
                                     [this](const cql::Outcome& outcome) { OnEnd(outcome); });
      if (!sent.ok()) {
        failure_ = sent;
        return;
      }
      ++in_flight_;
      ++next_;
    }
  }
  void OnEnd(const cql::Outcome& outcome) {
    --in_flight_;
    if (!outcome.status.ok() && failure_.ok()) failure_ = outcome.status;
    SendSome();
  }

  ClusterClient* const client_;
  const std::vector<GatewayRow>& rows_;
  const uint32_t statement_;
  const size_t in_flight_max_;
  cql::SessionQuery query_;
  size_t next_ = 0;
  size_t in_flight_ = 0;
  Status failure_;
};

}  // namespace

Result<PushCost> PushSingleRows(ClusterClient* client, const PushServer& server,
                                const std::vector<GatewayRow>& rows, size_t in_flight_max) {
  CISTERN_ASSIGN_OR_RETURN(const uint32_t statement, client->Prepare(kInsert));
  SingleRowPush push(client, rows, statement, in_flight_max);
  const PushMeter meter(server);
  CISTERN_RETURN_IF_ERROR(push.Run());
  return meter.Cost();
}

}  // namespace cistern::bench
