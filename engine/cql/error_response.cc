#include "engine/cql/error_response.h"

#include <array>
#include <cstdio>

#include "engine/cql/readable.h"
#include "lib/cql/wire_value.h"

namespace cistern::cql {
namespace {

constexpr size_t kFailuresKept = 64;  // of one error: the first ones
constexpr std::string_view kCas = "CAS";

constexpr std::array<std::string_view, 8> kReasons = {
    "unknown reason", "too many tombstones", "timeout",   "incompatible schema",
    "read too large", "node down",           "index not available", "too many indexes"};

void ReadReplicas(WireReader* reader, ErrorResponse* error) {
  error->consistency = reader->ConsistencyLevel("consistency");
  error->received = reader->Int("replicas received");
  error->required = reader->Int("replicas required");
}

void ReadFailures(WireReader* reader, ProtocolVersion version, ErrorResponse* error) {
  constexpr size_t kFailureBytesMin = 1 + 4 + 2;
  if (version == ProtocolVersion::kV4) {
    error->failure_count = reader->Int("failures");
    return;
  }
  const size_t count = reader->Count("failures", kFailureBytesMin);
  error->failure_count = static_cast<int32_t>(count);
  for (size_t i = 0; i < count && reader->ok(); ++i) {
    ReplicaFailure failure;
    failure.address = reader->InetAddress("address of a failed replica");
    failure.reason = reader->Short("reason of a failure");
    if (reader->ok() && i < kFailuresKept) error->failures.push_back(std::move(failure));
  }
}

void ReadWriteTimeout(WireReader* reader, ErrorResponse* error) {
  ReadReplicas(reader, error);
  error->write_type = reader->String("write type");
  // Servers before 4.0 leave it out.
  if (error->write_type == kCas && reader->remaining() >= sizeof(uint16_t)) {
    error->contentions = reader->Short("contentions");
  }
}

}  // namespace

std::string Readable(std::string_view words, size_t bytes_max) {
  const bool cut = words.size() > bytes_max;
  if (cut) {
    size_t end = bytes_max;
    while (end > 0 && (static_cast<uint8_t>(words[end]) & 0xc0) == 0x80) --end;
    words = words.substr(0, end);
  }
  const bool utf8 = IsUtf8(words);
  std::string readable;
  for (size_t i = 0; i < words.size(); ++i) {
    const auto byte = static_cast<uint8_t>(words[i]);
    // The control characters from U+0080 on begin with c2 in UTF-8.
    const bool late_control =
        byte == 0xc2 && i + 1 < words.size() && static_cast<uint8_t>(words[i + 1]) < 0xa0;
    if (byte < 0x20 || byte == 0x7f || (!utf8 && byte >= 0x80)) {
      readable.push_back('?');
    } else if (late_control) {
      readable.push_back('?');
      ++i;
    } else {
      readable.push_back(words[i]);
    }
  }
  if (cut) readable.append("...");
  return readable;
}

ErrorResponse ReadErrorResponse(WireReader* reader, ProtocolVersion version) {
  ErrorResponse error;
  error.code = ErrorCode{reader->Int("error code")};
  error.message = reader->String("error message");
  switch (error.code) {
    case ErrorCode::kUnavailable:
      error.consistency = reader->ConsistencyLevel("consistency");
      error.required = reader->Int("replicas required");
      error.received = reader->Int("replicas alive");
      break;
    case ErrorCode::kWriteTimeout:
      ReadWriteTimeout(reader, &error);
      break;
    case ErrorCode::kReadTimeout:
      ReadReplicas(reader, &error);
      error.data_present = reader->Byte("data present") != 0;
      break;
    case ErrorCode::kReadFailure:
      ReadReplicas(reader, &error);
      ReadFailures(reader, version, &error);
      error.data_present = reader->Byte("data present") != 0;
      break;
    case ErrorCode::kWriteFailure:
      ReadReplicas(reader, &error);
      ReadFailures(reader, version, &error);
      error.write_type = reader->String("write type");
      break;
    case ErrorCode::kFunctionFailure:
      error.keyspace = reader->String("keyspace");
      error.name = reader->String("function");
      reader->SkipStringList("argument types");
      break;
    case ErrorCode::kCasWriteUnknown:
      ReadReplicas(reader, &error);
      break;
    case ErrorCode::kAlreadyExists:
      error.keyspace = reader->String("keyspace");
      error.name = reader->String("table");
      break;
    case ErrorCode::kUnprepared:
      error.statement_id = reader->String("statement id");
      break;
    default:
      break;  // without fields, or not known: what follows is passed over
  }
  return error;
}

std::string_view FailureReasonName(uint16_t reason) {
  return reason < kReasons.size() ? kReasons[reason] : kReasons[0];
}

std::string DescribeError(const ErrorResponse& error) {
  std::array<char, 16> number{};
  std::snprintf(number.data(), number.size(), "0x%04x", static_cast<unsigned>(error.code));
  std::string text(ErrorCodeName(error.code));
  text.append(" (").append(number.data()).append(")");
  if (error.required > 0) {
    text.append(" at ").append(ConsistencyName(error.consistency));
    text.append(", ").append(std::to_string(error.received)).append(" of ");
    text.append(std::to_string(error.required)).append(" replicas");
  }
  if (!error.failures.empty()) {
    text.append(", ").append(FailureReasonName(error.failures.front().reason));
  }
  if (!error.write_type.empty()) text.append(", ").append(Readable(error.write_type));
  return text.append(": ").append(Readable(error.message));
}

}  // namespace cistern::cql
