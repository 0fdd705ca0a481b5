// ERROR: what a server says when it does not do what it was asked to.
//
//   [int] code, [string] message, then by code:
//
//   unavailable        [consistency] [int] required [int] alive
//   write timeout      [consistency] [int] received [int] required [string] write type,
//                      v5 with write type CAS: [short] contentions
//   read timeout       [consistency] [int] received [int] required [byte] data present
//   read failure       [consistency] [int] received [int] required, failures, [byte] data present
//   write failure      [consistency] [int] received [int] required, failures, [string] write type
//                      failures in v4: [int] count; in v5: [int] count, so many times
//                      [inetaddr] [short] reason
//   function failure   [string] keyspace [string] function [string list] argument types
//   CAS write unknown  [consistency] [int] received [int] required
//   already exists     [string] keyspace [string] table, empty for a keyspace
//   unprepared         [short bytes] id
//
// Source: native_protocol_v4.spec section 9 and native_protocol_v5.spec section 8; the counts and
// the order of what follows them as Apache Cassandra 5.0 writes them.
#ifndef CISTERN_CQL_ERROR_RESPONSE_H_
#define CISTERN_CQL_ERROR_RESPONSE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/cql/protocol.h"
#include "engine/cql/wire_reader.h"

namespace cistern::cql {

// One replica that failed; v5.
struct ReplicaFailure {
  std::string address;  // 4 or 16 bytes
  uint16_t reason = 0;  // may be one that is newer than we are
};

// The fields of a code that has none of them keep their defaults.
struct ErrorResponse {
  ErrorCode code = ErrorCode::kServerError;  // a number without a name, if the server's is newer
  std::string message;

  Consistency consistency = Consistency::kAny;
  int32_t required = 0;      // replicas that the consistency asks for
  int32_t received = 0;      // of them answered; alive, where the code is unavailable
  std::string write_type;    // "BATCH", "UNLOGGED_BATCH", ...
  bool data_present = false;
  uint16_t contentions = 0;
  int32_t failure_count = 0;
  std::vector<ReplicaFailure> failures;

  std::string keyspace;
  std::string name;          // the table or function
  std::string statement_id;  // that the server does not know any more: prepare it again
};

// Reads the body of an ERROR behind its prefix.
[[nodiscard]] ErrorResponse ReadErrorResponse(WireReader* reader, ProtocolVersion version);

// "write timeout (0x1100) at LOCAL_QUORUM, 1 of 2 replicas, UNLOGGED_BATCH: " and the server's
// words, cut to 1,024 bytes; those control characters that a terminal might obey become '?'.
[[nodiscard]] std::string DescribeError(const ErrorResponse& error);

// "node down"; "unknown reason" for those without a name.
[[nodiscard]] std::string_view FailureReasonName(uint16_t reason);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_ERROR_RESPONSE_H_
