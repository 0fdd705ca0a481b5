// Requests of a client, appended as whole envelopes, ready for EnvelopeEncoder.
//
// Each function either appends one envelope or leaves *out as it was:
//   kTooLarge         a text, value or body is longer than the protocol or
//                     limits::kCqlRequestBytesMax allows
//   kNotSupported     what was asked needs v5
//   kInvalidArgument  no server would take it
// What is not marked so cannot fail. The layouts stand beside the functions; [short], [string] and
// the like are the specification's notations.
//
// Source: native_protocol_v4.spec and native_protocol_v5.spec section 4.1.
#ifndef CISTERN_CQL_REQUEST_H_
#define CISTERN_CQL_REQUEST_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cistern/status.h"
#include "engine/cql/bound_values.h"
#include "engine/cql/protocol.h"

namespace cistern::cql {

// What every request begins with.
struct RequestHead {
  ProtocolVersion version = ProtocolVersion::kV5;
  int16_t stream = 0;  // from 0; free again when its response has come
};

// How a server finds a prepared statement again: opaque bytes of its PREPARED answer.
struct PreparedIds {
  std::string id;
  std::string metadata_id;  // v5 only; a Rows answer may give a newer one
};

// What QUERY, EXECUTE and BATCH have in common.
struct RequestOptions {
  Consistency consistency = Consistency::kLocalQuorum;
  std::optional<Consistency> serial_consistency;
  // Write time of statements that do not say USING TIMESTAMP, in us since 1970.
  std::optional<int64_t> default_timestamp_us;
  // v5: what the server takes for its clock where it computes expiry, in s since 1970. On v4 it
  // is refused: another clock means another expiry.
  std::optional<uint32_t> now_in_seconds;
};

struct QueryOptions : RequestOptions {
  bool skip_metadata = false;        // rows come without their columns: keep those of PREPARED
  uint32_t page_rows = 0;            // 0: all rows at once
  std::string_view paging_state;     // of the page before; empty: from the first row
};

struct BatchOptions : RequestOptions {
  BatchType type = BatchType::kUnlogged;
};

// STARTUP: [string map]
struct StartupOptions {
  Compression compression = Compression::kNone;
  std::string_view driver_name;      // shown by `nodetool clientstats`
  std::string_view driver_version;
  // An overloaded server answers so, at once. Otherwise it stops reading until it has room.
  bool throw_on_overload = false;
};
[[nodiscard]] Status AppendStartup(const RequestHead& head, const StartupOptions& options,
                                   std::string* out);

// OPTIONS: empty. The probe that costs a server nothing.
void AppendOptions(const RequestHead& head, std::string* out);

// AUTH_RESPONSE with the token of SASL PLAIN (RFC 4616): [bytes] 0 user 0 password
//   kInvalidArgument  one of them is empty or holds a zero byte
// The password is in clear: whether the link may carry it is the caller's to check.
[[nodiscard]] Status AppendPlainAuthResponse(const RequestHead& head, std::string_view user,
                                             std::string_view password, std::string* out);

// REGISTER: [string list] TOPOLOGY_CHANGE, STATUS_CHANGE, SCHEMA_CHANGE
void AppendRegister(const RequestHead& head, std::string* out);

// QUERY: [long string], then parameters:
//
//   [short] consistency     [byte] flags (v5: [int])
//   where flagged: [short] n, n [value]s; [int] page size; [bytes] paging state;
//                  [short] serial consistency; [long] default timestamp; v5: [int] now in seconds
//
// `values` are of the statement's markers, in their order.
[[nodiscard]] Status AppendQuery(const RequestHead& head, std::string_view cql,
                                 const QueryOptions& options, const ValueRun& values,
                                 std::string* out);

// PREPARE: [long string], v5: [int] flags, which are 0. Name tables with their keyspace.
[[nodiscard]] Status AppendPrepare(const RequestHead& head, std::string_view cql,
                                   std::string* out);

// EXECUTE: [short bytes] id, v5: [short bytes] metadata id, then parameters as in QUERY
[[nodiscard]] Status AppendExecute(const RequestHead& head, const PreparedIds& prepared,
                                   const QueryOptions& options, const ValueRun& values,
                                   std::string* out);

// BATCH: [byte] type, [short] n, n times { [byte] 1, [short bytes] id, [short] m, m [value]s },
// [short] consistency, flags and parameters as in QUERY, of them only those of RequestOptions
//
// `prepared` is the server's list that the statements count in. At most 65,535 statements.
[[nodiscard]] Status AppendBatch(const RequestHead& head, std::span<const PreparedIds> prepared,
                                 const BoundBatch& batch, const BatchOptions& options,
                                 std::string* out);

// Bytes of a BATCH envelope around its entries, at most: header, type, count and parameters. With
// BoundBatch::WireBytes it says beforehand how long a batch becomes.
inline constexpr size_t kBatchOverheadBytesMax = 64;

}  // namespace cistern::cql

#endif  // CISTERN_CQL_REQUEST_H_
