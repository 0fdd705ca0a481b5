#include "tests/support/cql_server_codec.h"

#include <utility>

#include "engine/cql/wire_reader.h"

namespace cistern::testing {
namespace {

using cql::Opcode;
using cql::ProtocolVersion;
using cql::WireReader;
namespace flag = cql::query_flag;

std::string Text(std::string_view view) { return std::string(view); }

std::vector<SentValue> ReadValues(WireReader* reader, bool names,
                                  std::vector<std::string>* value_names) {
  std::vector<SentValue> values;
  const uint16_t count = reader->Short("values");
  for (uint16_t i = 0; i < count && reader->ok(); ++i) {
    if (names) value_names->push_back(Text(reader->String("name of a value")));
    SentValue value;
    const int32_t length = reader->Int("length of a value");
    if (length >= 0) {
      value.kind = SentValue::Kind::kValue;
      value.bytes = Text(reader->Take(static_cast<size_t>(length), "value"));
    } else if (length == -1) {
      value.kind = SentValue::Kind::kNull;
    } else if (length != -2) {
      reader->Fail("length of a value", "is below -2");
    }
    values.push_back(std::move(value));
  }
  return values;
}

uint32_t ReadFlags(WireReader* reader, ProtocolVersion version, uint32_t allowed) {
  const uint32_t flags = version == ProtocolVersion::kV5
                             ? static_cast<uint32_t>(reader->Int("flags"))
                             : reader->Byte("flags");
  if (version == ProtocolVersion::kV4) allowed &= 0x7f;
  if ((flags & ~allowed) != 0) reader->Fail("flags", "are not allowed here");
  return flags;
}

// What stands behind the values and the paging.
void ReadOptions(WireReader* reader, uint32_t flags, RequestParameters* parameters) {
  if ((flags & flag::kSerialConsistency) != 0) {
    parameters->serial_consistency = reader->ConsistencyLevel("serial consistency");
  }
  if ((flags & flag::kDefaultTimestamp) != 0) {
    parameters->default_timestamp_us = reader->Long("default timestamp");
  }
  if ((flags & flag::kKeyspace) != 0) parameters->keyspace = Text(reader->String("keyspace"));
  if ((flags & flag::kNowInSeconds) != 0) {
    parameters->now_in_seconds = static_cast<uint32_t>(reader->Int("now in seconds"));
  }
}

RequestParameters ReadParameters(WireReader* reader, ProtocolVersion version) {
  RequestParameters parameters;
  parameters.consistency = reader->ConsistencyLevel("consistency");
  const uint32_t flags = ReadFlags(reader, version, 0x1ff);
  parameters.skip_metadata = (flags & flag::kSkipMetadata) != 0;
  if ((flags & flag::kValues) != 0) {
    parameters.values =
        ReadValues(reader, (flags & flag::kNames) != 0, &parameters.value_names);
  }
  if ((flags & flag::kPageSize) != 0) parameters.page_rows = reader->Int("page size");
  if ((flags & flag::kPagingState) != 0) {
    parameters.paging_state = Text(reader->Bytes("paging state").value_or(std::string_view()));
  }
  ReadOptions(reader, flags, &parameters);
  return parameters;
}

BatchRequest ReadBatch(WireReader* reader, ProtocolVersion version) {
  BatchRequest batch;
  const uint8_t type = reader->Byte("type of the batch");
  if (type > 2) reader->Fail("type of the batch", "is none");
  batch.type = cql::BatchType{type};
  const uint16_t count = reader->Short("statements");
  for (uint16_t i = 0; i < count && reader->ok(); ++i) {
    BatchRequest::Entry& entry = batch.entries.emplace_back();
    const uint8_t kind = reader->Byte("kind of a statement");
    if (kind > 1) reader->Fail("kind of a statement", "is none");
    if (kind == 0) {
      entry.cql = Text(reader->LongString("statement"));
    } else {
      entry.id = Text(reader->String("statement id"));
    }
    entry.values = ReadValues(reader, false, nullptr);
  }
  batch.parameters.consistency = reader->ConsistencyLevel("consistency");
  const uint32_t flags = ReadFlags(reader, version,
                                   flag::kSerialConsistency | flag::kDefaultTimestamp |
                                       flag::kKeyspace | flag::kNowInSeconds);
  ReadOptions(reader, flags, &batch.parameters);
  return batch;
}

PrepareRequest ReadPrepare(WireReader* reader, ProtocolVersion version) {
  PrepareRequest prepare;
  prepare.cql = Text(reader->LongString("statement"));
  if (version == ProtocolVersion::kV5) {
    const int32_t flags = reader->Int("flags");
    if ((flags & ~1) != 0) reader->Fail("flags", "are not allowed here");
    if (flags == 1) prepare.keyspace = Text(reader->String("keyspace"));
  }
  return prepare;
}

StartupRequest ReadStartup(WireReader* reader) {
  StartupRequest startup;
  const uint16_t count = reader->Short("options");
  for (uint16_t i = 0; i < count && reader->ok(); ++i) {
    std::string key = Text(reader->String("option"));
    startup.options[std::move(key)] = Text(reader->String("value of an option"));
  }
  if (startup.options.count("CQL_VERSION") == 0) reader->Fail("CQL_VERSION", "is missing");
  return startup;
}

RegisterRequest ReadRegister(WireReader* reader) {
  RegisterRequest request;
  const uint16_t count = reader->Short("events");
  for (uint16_t i = 0; i < count && reader->ok(); ++i) {
    request.events.push_back(Text(reader->String("event")));
  }
  return request;
}

RequestMessage ReadRequest(WireReader* reader, ProtocolVersion version, Opcode opcode) {
  switch (opcode) {
    case Opcode::kStartup: return ReadStartup(reader);
    case Opcode::kOptions: return OptionsRequest{};
    case Opcode::kAuthResponse:
      return AuthResponseRequest{Text(reader->Bytes("token").value_or(std::string_view()))};
    case Opcode::kRegister: return ReadRegister(reader);
    case Opcode::kPrepare: return ReadPrepare(reader, version);
    case Opcode::kBatch: return ReadBatch(reader, version);
    case Opcode::kQuery: {
      QueryRequest query;
      query.cql = Text(reader->LongString("statement"));
      query.parameters = ReadParameters(reader, version);
      return query;
    }
    case Opcode::kExecute: {
      ExecuteRequest execute;
      execute.id = Text(reader->String("statement id"));
      if (version == ProtocolVersion::kV5) {
        execute.metadata_id = Text(reader->String("metadata id"));
      }
      execute.parameters = ReadParameters(reader, version);
      return execute;
    }
    default: break;
  }
  reader->Fail("opcode", "is none of a request");
  return OptionsRequest{};
}

}  // namespace

Result<RequestMessage> DecodeRequest(ProtocolVersion version, const cql::Envelope& envelope) {
  WireReader reader(envelope.body, OpcodeName(envelope.header.opcode));
  if ((envelope.header.flags & ~cql::envelope_flag::kTracing) != 0) {
    reader.Fail("flags", "are not those of a request");
  }
  if (envelope.header.stream < 0) reader.Fail("stream", "is negative");
  // A Result at once: g++ 12 takes a variant that is moved into one for uninitialised.
  Result<RequestMessage> message = ReadRequest(&reader, version, envelope.header.opcode);
  if (reader.ok() && reader.remaining() > 0) reader.Fail("end", "has bytes behind it");
  if (!reader.ok()) return reader.status();
  return message;
}

std::optional<PlainCredentials> ParsePlainToken(std::string_view token) {
  const size_t password_zero = token.rfind('\0');
  if (password_zero == std::string_view::npos || password_zero == 0) return std::nullopt;
  const size_t user_zero = token.rfind('\0', password_zero - 1);
  if (user_zero == std::string_view::npos) return std::nullopt;
  PlainCredentials credentials;
  credentials.user = token.substr(user_zero + 1, password_zero - user_zero - 1);
  credentials.password = token.substr(password_zero + 1);
  if (credentials.user.empty() || credentials.password.empty()) return std::nullopt;
  return credentials;
}

}  // namespace cistern::testing
