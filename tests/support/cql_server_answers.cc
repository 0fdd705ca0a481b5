// The responses of cql_server_codec.h.
#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "engine/cql/wire_writer.h"
#include "lib/base/check.h"
#include "tests/support/cql_server_codec.h"

namespace cistern::testing {
namespace {

using cql::ErrorCode;
using cql::Opcode;
using cql::ProtocolVersion;
using cql::WireWriter;
namespace flag = cql::metadata_flag;

// Begins the envelope with what the head asks for; it ends with the object.
class AnswerWriter {
 public:
  AnswerWriter(const ResponseHead& head, Opcode opcode, std::string* out) : out_(out), wire_(out) {
    cql::EnvelopeHeader header;
    header.version = static_cast<uint8_t>(head.version);
    header.direction = cql::Direction::kResponse;
    header.stream = head.stream;
    header.opcode = opcode;
    if (!head.tracing_id.empty()) header.flags |= cql::envelope_flag::kTracing;
    if (!head.warnings.empty()) header.flags |= cql::envelope_flag::kWarning;
    if (!head.payload.empty()) header.flags |= cql::envelope_flag::kCustomPayload;
    begin_ = BeginEnvelope(header, out);
    out->append(head.tracing_id);
    if (!head.warnings.empty()) StringList(head.warnings);
    if (!head.payload.empty()) {
      wire_.Short(static_cast<uint16_t>(head.payload.size()));
      for (const auto& [key, value] : head.payload) {
        wire_.String(key);
        wire_.Bytes(value);
      }
    }
  }
  ~AnswerWriter() { cql::EndEnvelope(begin_, out_); }
  AnswerWriter(const AnswerWriter&) = delete;
  AnswerWriter& operator=(const AnswerWriter&) = delete;

  WireWriter* operator->() { return &wire_; }
  void StringList(const std::vector<std::string>& list) {
    wire_.Short(static_cast<uint16_t>(list.size()));
    for (const std::string& text : list) wire_.String(text);
  }

 private:
  std::string* out_;
  WireWriter wire_;
  size_t begin_ = 0;
};

constexpr std::array<std::pair<std::string_view, uint16_t>, 20> kTypes = {{
    {"ascii", 1},      {"bigint", 2},    {"blob", 3},        {"boolean", 4},
    {"counter", 5},    {"decimal", 6},   {"double", 7},      {"float", 8},
    {"int", 9},        {"timestamp", 11}, {"uuid", 12},      {"text", 13},
    {"varint", 14},    {"timeuuid", 15}, {"inet", 16},       {"date", 17},
    {"time", 18},      {"smallint", 19}, {"tinyint", 20},    {"duration", 21},
}};

// Where the first argument of `text` ends: at a comma outside of brackets, those of a class too, or
// at its end.
size_t ArgumentEnd(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(') ++depth;
    if (text[i] == '>' || text[i] == ')') --depth;
    if (text[i] == ',' && depth == 0) return i;
  }
  return text.size();
}

// The [option] of a type as ColumnMetadata or system_schema writes it; user types come without
// fields.
void WriteType(std::string_view type, WireWriter* wire) {
  for (const auto& [name, id] : kTypes) {
    if (name == type) return wire->Short(id);
  }
  if (type == "varchar") return wire->Short(13);
  if (type.starts_with("frozen<")) return WriteType(type.substr(7, type.size() - 8), wire);
  if (type.starts_with('\'')) {
    wire->Short(0x00);
    return wire->String(type.substr(1, type.size() - 2));
  }
  const size_t open = type.find('<');
  if (open == std::string_view::npos) {
    const size_t dot = type.find('.');
    CISTERN_CHECK(dot != std::string_view::npos);
    wire->Short(0x30);
    wire->String(type.substr(0, dot));
    wire->String(type.substr(dot + 1));
    return wire->Short(0);
  }
  std::vector<std::string_view> arguments;
  std::string_view rest = type.substr(open + 1, type.size() - open - 2);
  while (!rest.empty()) {
    const size_t end = ArgumentEnd(rest);
    arguments.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + 2));
  }
  const std::string_view kind = type.substr(0, open);
  if (kind == "list") wire->Short(0x20);
  if (kind == "map") wire->Short(0x21);
  if (kind == "set") wire->Short(0x22);
  if (kind == "tuple") {
    wire->Short(0x31);
    wire->Short(static_cast<uint16_t>(arguments.size()));
  }
  for (const std::string_view argument : arguments) WriteType(argument, wire);
}

void WriteColumns(const cql::RowsMetadata& metadata, WireWriter* wire) {
  wire->String(metadata.keyspace);
  wire->String(metadata.table);
  for (const cql::ColumnMetadata& column : metadata.columns) {
    wire->String(column.name);
    WriteType(column.type, wire);
  }
}

// `without_columns`: only their count is sent.
void WriteRowsMetadata(const cql::RowsMetadata& metadata, bool without_columns, WireWriter* wire) {
  const bool changed = !metadata.new_metadata_id.empty();
  uint32_t flags = without_columns ? flag::kNoMetadata : flag::kGlobalTable;
  if (metadata.has_more_pages) flags |= flag::kMorePages;
  if (changed) flags |= flag::kMetadataChanged;
  wire->Int(static_cast<int32_t>(flags));
  wire->Int(static_cast<int32_t>(metadata.columns.size()));
  if (metadata.has_more_pages) wire->Bytes(metadata.paging_state);
  if (changed) wire->ShortBytes(metadata.new_metadata_id);
  if (!without_columns) WriteColumns(metadata, wire);
}

void WriteChange(const cql::SchemaChange& change, AnswerWriter* answer) {
  (*answer)->String(change.change);
  (*answer)->String(change.target);
  (*answer)->String(change.keyspace);
  if (change.target == "KEYSPACE") return;
  (*answer)->String(change.name);
  if (change.target == "FUNCTION" || change.target == "AGGREGATE") answer->StringList({"int"});
}

void WriteFailures(const cql::ErrorResponse& error, ProtocolVersion version, WireWriter* wire) {
  if (version == ProtocolVersion::kV4) return wire->Int(error.failure_count);
  wire->Int(static_cast<int32_t>(error.failures.size()));
  for (const cql::ReplicaFailure& failure : error.failures) {
    wire->InetAddress(failure.address);
    wire->Short(failure.reason);
  }
}

void WriteErrorFields(const cql::ErrorResponse& error, ProtocolVersion version,
                      AnswerWriter* answer) {
  WireWriter& wire = *answer->operator->();
  const auto replicas = [&wire, &error](int32_t first, int32_t second) {
    wire.ConsistencyLevel(error.consistency);
    wire.Int(first);
    wire.Int(second);
  };
  switch (error.code) {
    case ErrorCode::kUnavailable: return replicas(error.required, error.received);
    case ErrorCode::kCasWriteUnknown: return replicas(error.received, error.required);
    case ErrorCode::kWriteTimeout:
      replicas(error.received, error.required);
      wire.String(error.write_type);
      if (version == ProtocolVersion::kV5 && error.write_type == "CAS") {
        wire.Short(error.contentions);
      }
      return;
    case ErrorCode::kReadTimeout:
      replicas(error.received, error.required);
      return wire.Byte(error.data_present ? 1 : 0);
    case ErrorCode::kReadFailure:
      replicas(error.received, error.required);
      WriteFailures(error, version, &wire);
      return wire.Byte(error.data_present ? 1 : 0);
    case ErrorCode::kWriteFailure:
      replicas(error.received, error.required);
      WriteFailures(error, version, &wire);
      return wire.String(error.write_type);
    case ErrorCode::kFunctionFailure:
      wire.String(error.keyspace);
      wire.String(error.name);
      return answer->StringList({"int", "text"});
    case ErrorCode::kAlreadyExists:
      wire.String(error.keyspace);
      return wire.String(error.name);
    case ErrorCode::kUnprepared: return wire.ShortBytes(error.statement_id);
    default: return;
  }
}

}  // namespace

void AppendReady(const ResponseHead& head, std::string* out) {
  AnswerWriter(head, Opcode::kReady, out);
}

void AppendAuthenticate(const ResponseHead& head, std::string_view authenticator,
                        std::string* out) {
  AnswerWriter(head, Opcode::kAuthenticate, out)->String(authenticator);
}

void AppendAuthChallenge(const ResponseHead& head, std::string_view token, std::string* out) {
  AnswerWriter(head, Opcode::kAuthChallenge, out)->Bytes(token);
}

void AppendAuthSuccess(const ResponseHead& head, const std::optional<std::string>& token,
                       std::string* out) {
  AnswerWriter answer(head, Opcode::kAuthSuccess, out);
  if (token.has_value()) {
    answer->Bytes(*token);
  } else {
    answer->NullBytes();
  }
}

void AppendSupported(const ResponseHead& head,
                     const std::map<std::string, std::vector<std::string>>& options,
                     std::string* out) {
  AnswerWriter answer(head, Opcode::kSupported, out);
  answer->Short(static_cast<uint16_t>(options.size()));
  for (const auto& [key, values] : options) {
    answer->String(key);
    answer.StringList(values);
  }
}

void AppendError(const ResponseHead& head, const cql::ErrorResponse& error, std::string* out) {
  AnswerWriter answer(head, Opcode::kError, out);
  answer->Int(static_cast<int32_t>(error.code));
  answer->String(error.message);
  WriteErrorFields(error, head.version, &answer);
}

void AppendVoid(const ResponseHead& head, std::string* out) {
  AnswerWriter(head, Opcode::kResult, out)->Int(1);
}

void AppendSetKeyspace(const ResponseHead& head, std::string_view keyspace, std::string* out) {
  AnswerWriter answer(head, Opcode::kResult, out);
  answer->Int(3);
  answer->String(keyspace);
}

void AppendSchemaChange(const ResponseHead& head, const cql::SchemaChange& change,
                        std::string* out) {
  const bool event = head.stream == cql::kEventStream;
  AnswerWriter answer(head, event ? Opcode::kEvent : Opcode::kResult, out);
  if (event) {
    answer->String("SCHEMA_CHANGE");
  } else {
    answer->Int(5);
  }
  WriteChange(change, &answer);
}

void AppendNodeEvent(const ResponseHead& head, const cql::NodeEvent& event, std::string* out) {
  using Kind = cql::NodeEvent::Kind;
  AnswerWriter answer(head, Opcode::kEvent, out);
  const bool status = event.kind == Kind::kUp || event.kind == Kind::kDown;
  answer->String(status ? "STATUS_CHANGE" : "TOPOLOGY_CHANGE");
  switch (event.kind) {
    case Kind::kAdded: answer->String("NEW_NODE"); break;
    case Kind::kRemoved: answer->String("REMOVED_NODE"); break;
    case Kind::kMoved: answer->String("MOVED_NODE"); break;
    case Kind::kUp: answer->String("UP"); break;
    case Kind::kDown: answer->String("DOWN"); break;
    case Kind::kOther: answer->String("RENAMED_NODE"); break;
  }
  answer->Inet(event.address, event.port);
}

void AppendRows(const ResponseHead& head, const RowsAnswer& answer, std::string* out) {
  AnswerWriter writer(head, Opcode::kResult, out);
  writer->Int(2);
  WriteRowsMetadata(answer.metadata, answer.skip_metadata, writer.operator->());
  writer->Int(static_cast<int32_t>(answer.rows.size()));
  for (const auto& row : answer.rows) {
    CISTERN_CHECK(row.size() == answer.metadata.columns.size());
    for (const std::optional<std::string>& cell : row) {
      if (cell.has_value()) {
        writer->Bytes(*cell);
      } else {
        writer->NullBytes();
      }
    }
  }
}

void AppendPrepared(const ResponseHead& head, const cql::PreparedResult& prepared,
                    std::string* out) {
  AnswerWriter answer(head, Opcode::kResult, out);
  answer->Int(4);
  answer->ShortBytes(prepared.ids.id);
  if (head.version == ProtocolVersion::kV5) answer->ShortBytes(prepared.ids.metadata_id);
  answer->Int(static_cast<int32_t>(flag::kGlobalTable));
  answer->Int(static_cast<int32_t>(prepared.markers.columns.size()));
  answer->Int(static_cast<int32_t>(prepared.key_markers.size()));
  for (const uint16_t marker : prepared.key_markers) answer->Short(marker);
  WriteColumns(prepared.markers, answer.operator->());
  WriteRowsMetadata(prepared.result, prepared.result.columns.empty(), answer.operator->());
}

}  // namespace cistern::testing
