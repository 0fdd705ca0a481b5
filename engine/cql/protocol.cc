#include "engine/cql/protocol.h"

#include <array>
#include <cstddef>

namespace cistern::cql {
namespace {

// By number.
constexpr std::array<std::string_view, 11> kConsistencies = {
    "ANY", "ONE",          "TWO",         "THREE",  "QUORUM",
    "ALL", "LOCAL_QUORUM", "EACH_QUORUM", "SERIAL", "LOCAL_SERIAL",
    "LOCAL_ONE"};

bool EqualsIgnoringCase(std::string_view upper, std::string_view any) {
  if (upper.size() != any.size()) return false;
  for (size_t i = 0; i < any.size(); ++i) {
    const char c = any[i] >= 'a' && any[i] <= 'z' ? static_cast<char>(any[i] - 'a' + 'A') : any[i];
    if (c != upper[i]) return false;
  }
  return true;
}

}  // namespace

std::string_view OpcodeName(Opcode opcode) {
  switch (opcode) {
    case Opcode::kError: return "ERROR";
    case Opcode::kStartup: return "STARTUP";
    case Opcode::kReady: return "READY";
    case Opcode::kAuthenticate: return "AUTHENTICATE";
    case Opcode::kOptions: return "OPTIONS";
    case Opcode::kSupported: return "SUPPORTED";
    case Opcode::kQuery: return "QUERY";
    case Opcode::kResult: return "RESULT";
    case Opcode::kPrepare: return "PREPARE";
    case Opcode::kExecute: return "EXECUTE";
    case Opcode::kRegister: return "REGISTER";
    case Opcode::kEvent: return "EVENT";
    case Opcode::kBatch: return "BATCH";
    case Opcode::kAuthChallenge: return "AUTH_CHALLENGE";
    case Opcode::kAuthResponse: return "AUTH_RESPONSE";
    case Opcode::kAuthSuccess: return "AUTH_SUCCESS";
  }
  return "unknown opcode";
}

std::string_view ConsistencyName(Consistency consistency) {
  const auto number = static_cast<size_t>(consistency);
  return number < kConsistencies.size() ? kConsistencies[number] : "unknown consistency";
}

std::optional<Consistency> ConsistencyFromName(std::string_view name) {
  for (size_t number = 0; number < kConsistencies.size(); ++number) {
    if (EqualsIgnoringCase(kConsistencies[number], name)) {
      return static_cast<Consistency>(number);
    }
  }
  return std::nullopt;
}

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kServerError: return "server error";
    case ErrorCode::kProtocolError: return "protocol error";
    case ErrorCode::kBadCredentials: return "bad credentials";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kOverloaded: return "overloaded";
    case ErrorCode::kBootstrapping: return "bootstrapping";
    case ErrorCode::kTruncateError: return "truncate error";
    case ErrorCode::kWriteTimeout: return "write timeout";
    case ErrorCode::kReadTimeout: return "read timeout";
    case ErrorCode::kReadFailure: return "read failure";
    case ErrorCode::kFunctionFailure: return "function failure";
    case ErrorCode::kWriteFailure: return "write failure";
    case ErrorCode::kCdcWriteFailure: return "CDC write failure";
    case ErrorCode::kCasWriteUnknown: return "CAS write unknown";
    case ErrorCode::kSyntaxError: return "syntax error";
    case ErrorCode::kUnauthorized: return "unauthorized";
    case ErrorCode::kInvalid: return "invalid";
    case ErrorCode::kConfigError: return "config error";
    case ErrorCode::kAlreadyExists: return "already exists";
    case ErrorCode::kUnprepared: return "unprepared";
  }
  return "unknown error";
}

std::string_view ProtocolVersionName(ProtocolVersion version) {
  return version == ProtocolVersion::kV4 ? "protocol v4" : "protocol v5";
}

}  // namespace cistern::cql
