// The numbers of Cassandra's native protocol and their names, versions 4 and 5.
//
// Source: native_protocol_v4.spec and native_protocol_v5.spec of Apache Cassandra.
#ifndef CISTERN_CQL_PROTOCOL_H_
#define CISTERN_CQL_PROTOCOL_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace cistern::cql {

// One version per connection, agreed by STARTUP.
enum class ProtocolVersion : uint8_t { kV4 = 4, kV5 = 5 };

// How bytes travel after the handshake. LZ4 is the only method that both versions have.
enum class Compression : uint8_t { kNone, kLz4 };

// The direction of an envelope: bit 7 of its first byte.
enum class Direction : uint8_t { kRequest = 0x00, kResponse = 0x80 };

enum class Opcode : uint8_t {
  kError = 0x00,
  kStartup = 0x01,
  kReady = 0x02,
  kAuthenticate = 0x03,
  kOptions = 0x05,
  kSupported = 0x06,
  kQuery = 0x07,
  kResult = 0x08,
  kPrepare = 0x09,
  kExecute = 0x0a,
  kRegister = 0x0b,
  kEvent = 0x0c,
  kBatch = 0x0d,
  kAuthChallenge = 0x0e,
  kAuthResponse = 0x0f,
  kAuthSuccess = 0x10,
};
inline constexpr uint8_t kOpcodeMax = 0x10;

// Bits of the second byte of an envelope.
namespace envelope_flag {
inline constexpr uint8_t kCompressed = 0x01;  // v4: the body is LZ4. v5: without a meaning
inline constexpr uint8_t kTracing = 0x02;     // response: 16 bytes of a tracing id come first
inline constexpr uint8_t kCustomPayload = 0x04;
inline constexpr uint8_t kWarning = 0x08;
}  // namespace envelope_flag

// The stream of what a server sends unasked.
inline constexpr int16_t kEventStream = -1;

enum class Consistency : uint16_t {
  kAny = 0x0,
  kOne = 0x1,
  kTwo = 0x2,
  kThree = 0x3,
  kQuorum = 0x4,
  kAll = 0x5,
  kLocalQuorum = 0x6,
  kEachQuorum = 0x7,
  kSerial = 0x8,
  kLocalSerial = 0x9,
  kLocalOne = 0xa,
};

enum class BatchType : uint8_t { kLogged = 0, kUnlogged = 1, kCounter = 2 };

// Flags of the parameters of QUERY, EXECUTE and BATCH: one byte in v4, an int in v5.
namespace query_flag {
inline constexpr uint32_t kValues = 0x01;
inline constexpr uint32_t kSkipMetadata = 0x02;
inline constexpr uint32_t kPageSize = 0x04;
inline constexpr uint32_t kPagingState = 0x08;
inline constexpr uint32_t kSerialConsistency = 0x10;
inline constexpr uint32_t kDefaultTimestamp = 0x20;
inline constexpr uint32_t kNames = 0x40;
inline constexpr uint32_t kKeyspace = 0x80;       // v5
inline constexpr uint32_t kNowInSeconds = 0x100;  // v5
}  // namespace query_flag

// Flags of the metadata of rows.
namespace metadata_flag {
inline constexpr uint32_t kGlobalTable = 0x1;
inline constexpr uint32_t kMorePages = 0x2;
inline constexpr uint32_t kNoMetadata = 0x4;
inline constexpr uint32_t kMetadataChanged = 0x8;  // v5
}  // namespace metadata_flag

enum class ResultKind : int32_t {
  kVoid = 1,
  kRows = 2,
  kSetKeyspace = 3,
  kPrepared = 4,
  kSchemaChange = 5,
};

// The code of an ERROR. A server may send others: they keep their number.
enum class ErrorCode : int32_t {
  kServerError = 0x0000,
  kProtocolError = 0x000a,
  kBadCredentials = 0x0100,
  kUnavailable = 0x1000,
  kOverloaded = 0x1001,
  kBootstrapping = 0x1002,
  kTruncateError = 0x1003,
  kWriteTimeout = 0x1100,
  kReadTimeout = 0x1200,
  kReadFailure = 0x1300,
  kFunctionFailure = 0x1400,
  kWriteFailure = 0x1500,
  kCdcWriteFailure = 0x1600,
  kCasWriteUnknown = 0x1700,
  kSyntaxError = 0x2000,
  kUnauthorized = 0x2100,
  kInvalid = 0x2200,
  kConfigError = 0x2300,
  kAlreadyExists = 0x2400,
  kUnprepared = 0x2500,
};

// "QUERY", "AUTH_SUCCESS"; "unknown opcode" for what has none.
[[nodiscard]] std::string_view OpcodeName(Opcode opcode);

// "LOCAL_QUORUM"; "unknown consistency" for what has none.
[[nodiscard]] std::string_view ConsistencyName(Consistency consistency);

// The reverse, of upper or lower case. nullopt: there is none of this name.
[[nodiscard]] std::optional<Consistency> ConsistencyFromName(std::string_view name);

// In plain words: "write timeout"; "unknown error" for codes that we do not know.
[[nodiscard]] std::string_view ErrorCodeName(ErrorCode code);

// "protocol v5".
[[nodiscard]] std::string_view ProtocolVersionName(ProtocolVersion version);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_PROTOCOL_H_
