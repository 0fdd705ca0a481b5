#include "engine/cql/response.h"

#include <array>
#include <utility>

#include "cistern/limits.h"
#include "engine/cql/wire_reader.h"

namespace cistern::cql {
namespace {

constexpr size_t kSupportedValuesKept = 64;  // of one key: the first ones

// The values of one key; those of a key without a list are passed over.
void ReadSupportedValues(WireReader* reader, std::vector<std::string>* list) {
  const uint16_t count = reader->Short("values of an option");
  for (uint16_t i = 0; i < count && reader->ok(); ++i) {
    const std::string_view value = reader->String("value of an option");
    if (list != nullptr && reader->ok() && list->size() < kSupportedValuesKept) {
      list->emplace_back(value);
    }
  }
}

SupportedResponse ReadSupported(WireReader* reader) {
  SupportedResponse supported;
  const uint16_t count = reader->Short("options");
  for (uint16_t i = 0; i < count && reader->ok(); ++i) {
    const std::string_view key = reader->String("option");
    std::vector<std::string>* list = nullptr;
    if (key == "CQL_VERSION") list = &supported.cql_versions;
    if (key == "COMPRESSION") list = &supported.compressions;
    if (key == "PROTOCOL_VERSIONS") list = &supported.protocol_versions;
    ReadSupportedValues(reader, list);
  }
  return supported;
}

SchemaChange ReadSchemaChange(WireReader* reader) {
  SchemaChange change;
  change.change = reader->String("change");
  change.target = reader->String("target of the change");
  change.keyspace = reader->String("keyspace");
  if (change.target == "KEYSPACE") return change;
  change.name = reader->String("name");
  if (change.target == "FUNCTION" || change.target == "AGGREGATE") {
    reader->SkipStringList("argument types");
  }
  return change;
}

NodeEvent::Kind KindOf(std::string_view change) {
  if (change == "NEW_NODE") return NodeEvent::Kind::kAdded;
  if (change == "REMOVED_NODE") return NodeEvent::Kind::kRemoved;
  if (change == "MOVED_NODE") return NodeEvent::Kind::kMoved;
  if (change == "UP") return NodeEvent::Kind::kUp;
  if (change == "DOWN") return NodeEvent::Kind::kDown;
  return NodeEvent::Kind::kOther;
}

ResponseMessage ReadEvent(WireReader* reader) {
  const std::string_view type = reader->String("event type");
  if (type == "SCHEMA_CHANGE") return ReadSchemaChange(reader);
  if (type != "TOPOLOGY_CHANGE" && type != "STATUS_CHANGE") return OtherEvent{std::string(type)};
  NodeEvent event;
  event.kind = KindOf(reader->String("change"));
  event.address = reader->InetAddress("address of a node");
  event.port = reader->Int("port of a node");
  return event;
}

PreparedResult ReadPrepared(WireReader* reader, ProtocolVersion version) {
  PreparedResult prepared;
  prepared.ids.id = reader->String("statement id");
  if (version == ProtocolVersion::kV5) prepared.ids.metadata_id = reader->String("metadata id");
  const auto flags = static_cast<uint32_t>(reader->Int("metadata flags"));
  prepared.markers.column_count = ReadColumnCount(reader);
  const size_t key_count = reader->Count("columns of the partition key", sizeof(uint16_t));
  if (key_count > limits::kCqlColumnCountMax) {
    reader->FailTooLarge("columns of the partition key", limits::kCqlColumnCountMax);
  }
  for (size_t i = 0; i < key_count && reader->ok(); ++i) {
    const uint16_t marker = reader->Short("marker of the partition key");
    if (reader->ok() && marker >= prepared.markers.column_count) {
      reader->Fail("marker of the partition key", "is beyond the last one");
    }
    prepared.key_markers.push_back(marker);
  }
  if ((flags & metadata_flag::kNoMetadata) == 0) ReadColumns(reader, flags, &prepared.markers);
  prepared.result = ReadRowsMetadata(reader);
  return prepared;
}

ResponseMessage ReadResult(WireReader* reader, ProtocolVersion version) {
  switch (ResultKind{reader->Int("kind of the result")}) {
    case ResultKind::kVoid: return VoidResult{};
    case ResultKind::kRows: {
      RowsResult result;
      result.metadata = ReadRowsMetadata(reader);
      result.rows = ReadRows(reader, result.metadata.column_count);
      return result;
    }
    case ResultKind::kSetKeyspace:
      return SetKeyspaceResult{std::string(reader->String("keyspace"))};
    case ResultKind::kPrepared: return ReadPrepared(reader, version);
    case ResultKind::kSchemaChange: return ReadSchemaChange(reader);
  }
  reader->Fail("kind of the result", "is none that we know");
  return VoidResult{};
}

std::string ReadToken(WireReader* reader) {
  return std::string(reader->Bytes("token").value_or(std::string_view()));
}

ResponseMessage ReadMessage(WireReader* reader, Opcode opcode, ProtocolVersion version) {
  switch (opcode) {
    case Opcode::kError: return ReadErrorResponse(reader, version);
    case Opcode::kReady: return ReadyResponse{};
    case Opcode::kAuthenticate:
      return AuthenticateResponse{std::string(reader->String("authenticator"))};
    case Opcode::kSupported: return ReadSupported(reader);
    case Opcode::kResult: return ReadResult(reader, version);
    case Opcode::kEvent: return ReadEvent(reader);
    case Opcode::kAuthChallenge: return AuthChallengeResponse{ReadToken(reader)};
    case Opcode::kAuthSuccess: return AuthSuccessResponse{ReadToken(reader)};
    default: break;
  }
  reader->Fail("opcode", "is none of a response");
  return ReadyResponse{};
}

// By the place in ResponseMessage.
constexpr std::array<std::string_view, std::variant_size_v<ResponseMessage>> kMessageNames = {
    "ERROR", "READY", "AUTHENTICATE", "AUTH_CHALLENGE", "AUTH_SUCCESS", "SUPPORTED",
    "RESULT Void", "RESULT Rows", "RESULT SetKeyspace", "RESULT Prepared",
    "RESULT SchemaChange", "EVENT", "EVENT"};

}  // namespace

bool IsAnswer(AnswerKind asked, const ResponseMessage& message) {
  if (std::holds_alternative<ErrorResponse>(message)) return true;
  switch (asked) {
    case AnswerKind::kRows: return std::holds_alternative<RowsResult>(message);
    case AnswerKind::kVoid: return std::holds_alternative<VoidResult>(message);
    case AnswerKind::kPrepared: return std::holds_alternative<PreparedResult>(message);
    case AnswerKind::kSchemaChange:
      return std::holds_alternative<SchemaChange>(message) ||
             std::holds_alternative<VoidResult>(message);
    case AnswerKind::kReady: return std::holds_alternative<ReadyResponse>(message);
    case AnswerKind::kSupported: return std::holds_alternative<SupportedResponse>(message);
  }
  return false;
}

std::string_view MessageName(const ResponseMessage& message) {
  return kMessageNames[message.index()];
}

Result<Response> DecodeResponse(ProtocolVersion version, const Envelope& envelope) {
  CISTERN_ASSIGN_OR_RETURN(const ResponseBody body, SplitResponseBody(envelope));
  Response response;
  response.stream = envelope.header.stream;
  response.warnings.assign(body.warnings.begin(), body.warnings.end());
  WireReader reader(body.message, OpcodeName(envelope.header.opcode));
  response.message = ReadMessage(&reader, envelope.header.opcode, version);
  if (!reader.ok()) return reader.status();
  return response;
}

}  // namespace cistern::cql
