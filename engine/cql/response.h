// Responses and events of a server, decoded from whole envelopes.
//
// What they hold is their own, but for rows, which stay where they are in the envelope. Unknown
// bytes behind a message are passed over, as later versions may add to it.
//
// Source: native_protocol_v5.spec section 4.2.
#ifndef CISTERN_CQL_RESPONSE_H_
#define CISTERN_CQL_RESPONSE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cistern/result.h"
#include "engine/cql/envelope.h"
#include "engine/cql/error_response.h"
#include "engine/cql/protocol.h"
#include "engine/cql/request.h"
#include "engine/cql/rows.h"

namespace cistern::cql {

// READY: empty
struct ReadyResponse {};

// AUTHENTICATE: [string]
struct AuthenticateResponse {
  std::string authenticator;  // the class on the server
};

// AUTH_CHALLENGE: [bytes]. PLAIN knows none: a server that sends one wants another method.
struct AuthChallengeResponse {
  std::string token;
};

// AUTH_SUCCESS: [bytes]
struct AuthSuccessResponse {
  std::string token;
};

// SUPPORTED: [string multimap]. Keys that we do not know are passed over.
struct SupportedResponse {
  std::vector<std::string> cql_versions;
  std::vector<std::string> compressions;       // "lz4", "snappy"
  std::vector<std::string> protocol_versions;  // "4/v4", "5/v5", "6/v6-beta"
};

// RESULT: [int] kind (ResultKind), then by kind.
struct VoidResult {};
struct RowsResult {
  RowsMetadata metadata;
  RowsView rows;  // lives as long as the envelope
};
// [string]
struct SetKeyspaceResult {
  std::string keyspace;
};
// [short bytes] id, v5: [short bytes] metadata id, metadata of the markers: [int] flags,
// [int] columns, [int] n, n [short] markers of the partition key, then as of rows; metadata of rows
struct PreparedResult {
  PreparedIds ids;
  RowsMetadata markers;
  // Which marker binds each column of the partition key, in the key's order; empty: not all are
  // bound, so that nobody can tell the partition.
  std::vector<uint16_t> key_markers;
  RowsMetadata result;  // for rows that come without metadata
};

// EVENT and RESULT: [string] change, [string] target, [string] keyspace, but for a keyspace
// [string] name, for a function or aggregate [string list] argument types (passed over)
struct SchemaChange {
  std::string change;  // "CREATED", "UPDATED", "DROPPED"
  std::string target;  // "KEYSPACE", "TABLE", "TYPE", "FUNCTION", "AGGREGATE"
  std::string keyspace;
  std::string name;    // empty for a keyspace
};

// EVENT: [string] type, then [string] change, [inet] of a node
struct NodeEvent {
  enum class Kind : uint8_t { kAdded, kRemoved, kMoved, kUp, kDown, kOther };
  Kind kind = Kind::kOther;
  std::string address;  // 4 or 16 bytes
  int32_t port = 0;
};

// An EVENT of a type that we do not know.
struct OtherEvent {
  std::string type;
};

using ResponseMessage =
    std::variant<ErrorResponse, ReadyResponse, AuthenticateResponse, AuthChallengeResponse,
                 AuthSuccessResponse, SupportedResponse, VoidResult, RowsResult, SetKeyspaceResult,
                 PreparedResult, SchemaChange, NodeEvent, OtherEvent>;

// What a request asks for. An ERROR answers each of them.
enum class AnswerKind : uint8_t {
  kRows,
  kVoid,          // of a write
  kPrepared,
  kSchemaChange,  // or Void: IF NOT EXISTS, and it does
  kReady,         // of REGISTER
  kSupported,     // of OPTIONS
};
// Whether `message` is what was asked for. What is not says nothing of the request: a server that
// is confused has perhaps not even read it.
[[nodiscard]] bool IsAnswer(AnswerKind asked, const ResponseMessage& message);

// "RESULT Rows", "READY".
[[nodiscard]] std::string_view MessageName(const ResponseMessage& message);

struct Response {
  int16_t stream = 0;  // kEventStream: nobody asked
  std::vector<std::string> warnings;  // of the server, for people; the first ones
  ResponseMessage message;
};

// `version` is the connection's; before it is agreed on, the one that was asked for: messages of
// the handshake are the same in all.
//   kCorruption  the body is not what its opcode says, or the opcode is none of a response:
//                close the connection
//   kTooLarge    beyond a limit of limits.h
[[nodiscard]] Result<Response> DecodeResponse(ProtocolVersion version, const Envelope& envelope);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_RESPONSE_H_
