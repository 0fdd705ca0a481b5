// The server's side of the native protocol: requests decoded, responses encoded. Written from
// the specification, not from the client's functions, so that the two check one another.
//
// Source: native_protocol_v4.spec and native_protocol_v5.spec section 4.
#ifndef CISTERN_TESTS_SUPPORT_CQL_SERVER_CODEC_H_
#define CISTERN_TESTS_SUPPORT_CQL_SERVER_CODEC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cistern/result.h"
#include "engine/cql/envelope.h"
#include "engine/cql/error_response.h"
#include "engine/cql/protocol.h"
#include "engine/cql/response.h"
#include "engine/cql/rows.h"

namespace cistern::testing {

// --- requests

struct StartupRequest {
  std::map<std::string, std::string> options;  // "CQL_VERSION", "COMPRESSION", ...
};
struct OptionsRequest {};
struct AuthResponseRequest {
  std::string token;
};
struct RegisterRequest {
  std::vector<std::string> events;
};

struct SentValue {
  enum class Kind : uint8_t { kValue, kNull, kUnset };
  Kind kind = Kind::kUnset;
  std::string bytes;
  friend bool operator==(const SentValue&, const SentValue&) = default;
};

// Of QUERY, EXECUTE and, but for values and paging, BATCH.
struct RequestParameters {
  cql::Consistency consistency = cql::Consistency::kAny;
  std::vector<SentValue> values;
  std::vector<std::string> value_names;  // empty, or of each value
  bool skip_metadata = false;
  std::optional<int32_t> page_rows;
  std::optional<std::string> paging_state;
  std::optional<cql::Consistency> serial_consistency;
  std::optional<int64_t> default_timestamp_us;
  std::optional<std::string> keyspace;
  std::optional<uint32_t> now_in_seconds;
};

struct QueryRequest {
  std::string cql;
  RequestParameters parameters;
};
struct PrepareRequest {
  std::string cql;
  std::optional<std::string> keyspace;
};
struct ExecuteRequest {
  std::string id;
  std::string metadata_id;  // v5
  RequestParameters parameters;
};
struct BatchRequest {
  struct Entry {
    std::optional<std::string> cql;  // or, prepared:
    std::string id;
    std::vector<SentValue> values;
  };
  cql::BatchType type = cql::BatchType::kLogged;
  std::vector<Entry> entries;
  RequestParameters parameters;
};

using RequestMessage = std::variant<StartupRequest, OptionsRequest, AuthResponseRequest,
                                    RegisterRequest, QueryRequest, PrepareRequest, ExecuteRequest,
                                    BatchRequest>;

// As strict as Cassandra, and more: bytes behind a message are an error too, so that a test sees a
// field that a client puts where none belongs.
[[nodiscard]] Result<RequestMessage> DecodeRequest(cql::ProtocolVersion version,
                                                   const cql::Envelope& envelope);

struct PlainCredentials {
  std::string user;
  std::string password;
};
// Of a token of SASL PLAIN, from its end as Cassandra does; nullopt: it is none.
[[nodiscard]] std::optional<PlainCredentials> ParsePlainToken(std::string_view token);

// --- responses. Each appends one envelope for EnvelopeEncoder.

struct ResponseHead {
  cql::ProtocolVersion version = cql::ProtocolVersion::kV5;
  int16_t stream = 0;
  std::string tracing_id = {};               // 16 bytes or none
  std::vector<std::string> warnings = {};
  std::map<std::string, std::string> payload = {};
};

void AppendReady(const ResponseHead& head, std::string* out);
void AppendAuthenticate(const ResponseHead& head, std::string_view authenticator,
                        std::string* out);
void AppendAuthChallenge(const ResponseHead& head, std::string_view token, std::string* out);
// nullopt: null, as PasswordAuthenticator answers.
void AppendAuthSuccess(const ResponseHead& head, const std::optional<std::string>& token,
                       std::string* out);
void AppendSupported(const ResponseHead& head,
                     const std::map<std::string, std::vector<std::string>>& options,
                     std::string* out);
// With the extra fields of the error's code.
void AppendError(const ResponseHead& head, const cql::ErrorResponse& error, std::string* out);
void AppendVoid(const ResponseHead& head, std::string* out);
void AppendSetKeyspace(const ResponseHead& head, std::string_view keyspace, std::string* out);
// As the answer to a request; with the stream kEventStream as an event.
void AppendSchemaChange(const ResponseHead& head, const cql::SchemaChange& change,
                        std::string* out);
void AppendNodeEvent(const ResponseHead& head, const cql::NodeEvent& event, std::string* out);

// What a result's rows hold; a cell without a value is null.
struct RowsAnswer {
  cql::RowsMetadata metadata;  // its column_count is that of columns
  bool skip_metadata = false;  // only the count of the columns is sent
  std::vector<std::vector<std::optional<std::string>>> rows;
};
void AppendRows(const ResponseHead& head, const RowsAnswer& answer, std::string* out);

// The column_count of its metadata is that of their columns.
void AppendPrepared(const ResponseHead& head, const cql::PreparedResult& prepared,
                    std::string* out);

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_CQL_SERVER_CODEC_H_
