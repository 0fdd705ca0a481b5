// Responses of the server's side of the codec, decoded, and known bytes of the protocol.
#include "engine/cql/response.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "tests/support/cql_server_codec.h"
#include "tests/support/hex.h"

namespace cistern::cql {
namespace {

using testing::FromHex;
using testing::ResponseHead;
using testing::RowsAnswer;

constexpr ProtocolVersion kV4 = ProtocolVersion::kV4;
constexpr ProtocolVersion kV5 = ProtocolVersion::kV5;

Result<Response> Decoded(ProtocolVersion version, std::string_view bytes) {
  const auto header = ParseEnvelopeHeader(bytes, Direction::kResponse, 1 << 24);
  if (!header.ok()) return header.status();
  return DecodeResponse(version, Envelope{*header, bytes.substr(kEnvelopeHeaderBytes)});
}

// The message of a response that must decode. Rows are views into `bytes`.
template <typename Message>
Message MessageOf(ProtocolVersion version, std::string_view bytes) {
  const auto response = Decoded(version, bytes);
  EXPECT_TRUE(response.ok()) << response.status().ToString();
  const auto* message = response.ok() ? std::get_if<Message>(&response->message) : nullptr;
  EXPECT_NE(message, nullptr);
  return message != nullptr ? *message : Message();
}

std::string BodyOf(Opcode opcode, std::string_view hex, uint8_t flags = 0) {
  EnvelopeHeader header;
  header.direction = Direction::kResponse;
  header.opcode = opcode;
  header.flags = flags;
  std::string out;
  const size_t begin = BeginEnvelope(header, &out);
  out.append(FromHex(hex));
  EndEnvelope(begin, &out);
  return out;
}

TEST(Response, OfTheHandshake) {
  std::string out;
  testing::AppendReady({kV5, 4}, &out);
  MessageOf<ReadyResponse>(kV5, out);
  EXPECT_EQ(Decoded(kV5, out)->stream, 4);
  out.clear();
  testing::AppendAuthenticate({kV4, 0}, "org.apache.cassandra.auth.PasswordAuthenticator", &out);
  EXPECT_EQ(MessageOf<AuthenticateResponse>(kV4, out).authenticator,
            "org.apache.cassandra.auth.PasswordAuthenticator");
  out.clear();
  testing::AppendAuthSuccess({kV5, 0}, std::nullopt, &out);
  EXPECT_EQ(MessageOf<AuthSuccessResponse>(kV5, out).token, "");
  out.clear();
  testing::AppendAuthChallenge({kV5, 0}, "who?", &out);
  EXPECT_EQ(MessageOf<AuthChallengeResponse>(kV5, out).token, "who?");
  out.clear();
  testing::AppendSupported({kV5, 0},
                  {{"COMPRESSION", {"snappy", "lz4"}},
                   {"CQL_VERSION", {"3.4.7"}},
                   {"NEW_OPTION", {"x", "y"}},
                   {"PROTOCOL_VERSIONS", {"3/v3", "4/v4", "5/v5", "6/v6-beta"}}},
                  &out);
  const auto supported = MessageOf<SupportedResponse>(kV5, out);
  EXPECT_EQ(supported.compressions, (std::vector<std::string>{"snappy", "lz4"}));
  EXPECT_EQ(supported.cql_versions, (std::vector<std::string>{"3.4.7"}));
  EXPECT_EQ(supported.protocol_versions.size(), 4u);
}

TEST(Response, PrefixIsTakenOff) {
  std::string out;
  ResponseHead head;
  head.tracing_id = std::string(16, 't');
  head.warnings = {"batch is large", "second"};
  head.payload = {{"key", "value"}};
  testing::AppendSetKeyspace(head, "ks", &out);
  EXPECT_EQ(MessageOf<SetKeyspaceResult>(kV5, out).keyspace, "ks");
  EXPECT_EQ(Decoded(kV5, out)->warnings, head.warnings);
  out.clear();
  head.warnings.assign(100, "again");
  testing::AppendVoid(head, &out);
  EXPECT_EQ(Decoded(kV5, out)->warnings.size(), limits::kCqlWarningCountMax);
}

TEST(Response, UnknownBytesBehindAMessageArePassedOver) {
  MessageOf<VoidResult>(kV5, BodyOf(Opcode::kResult, "00000001 abcdef"));
  MessageOf<ReadyResponse>(kV5, BodyOf(Opcode::kReady, "abcdef"));
}

TEST(Response, RefusesWhatItIsNot) {
  for (const auto& bytes :
       {BodyOf(Opcode::kResult, "00000006"), BodyOf(Opcode::kResult, "00000000"),
        BodyOf(Opcode::kQuery, ""), BodyOf(Opcode{0x04}, ""), BodyOf(Opcode{0x11}, ""),
        BodyOf(Opcode::kReady, "00", envelope_flag::kTracing),
        BodyOf(Opcode::kReady, "ffff0000", envelope_flag::kWarning)}) {
    EXPECT_EQ(Decoded(kV5, bytes).status().code(), StatusCode::kCorruption);
  }
}

RowsAnswer SomeRows() {
  RowsAnswer answer;
  answer.metadata.keyspace = "ks";
  answer.metadata.table = "readings";
  answer.metadata.columns = {{"entity", "text"},
                             {"tags", "map<text, set<int>>"},
                             {"place", "tuple<double, 'a.b.C', list<uuid>>"},
                             {"user", "ks.address"}};
  answer.rows = {{"gw-1", std::nullopt, "", "x"}, {"gw-2", "map", "tuple", std::nullopt}};
  return answer;
}

void ExpectRows(const RowsAnswer& expected, const RowsResult& result) {
  EXPECT_EQ(result.rows.row_count(), expected.rows.size());
  EXPECT_EQ(result.rows.column_count(), expected.metadata.columns.size());
  RowReader rows(result.rows);
  for (const auto& row : expected.rows) {
    ASSERT_TRUE(rows.Next());
    for (size_t c = 0; c < row.size(); ++c) {
      ASSERT_EQ(rows[c].has_value(), row[c].has_value());
      if (row[c].has_value()) {
        EXPECT_EQ(*rows[c], *row[c]);
      }
    }
  }
  EXPECT_FALSE(rows.Next());
}

TEST(Response, RowsAreReadWhereTheyLie) {
  for (const ProtocolVersion version : {kV4, kV5}) {
    std::string out;
    const RowsAnswer answer = SomeRows();
    testing::AppendRows({version, 2}, answer, &out);
    const auto result = MessageOf<RowsResult>(version, out);
    EXPECT_EQ(result.metadata.keyspace, "ks");
    EXPECT_EQ(result.metadata.table, "readings");
    EXPECT_EQ(result.metadata.columns, answer.metadata.columns);
    EXPECT_FALSE(result.metadata.has_more_pages);
    EXPECT_GE(result.rows.cells().data(), out.data());
    EXPECT_LT(result.rows.cells().data(), out.data() + out.size());
    ExpectRows(answer, result);
  }
}

TEST(Response, RowsMayComeInPagesAndWithoutMetadata) {
  RowsAnswer answer = SomeRows();
  answer.skip_metadata = true;
  answer.metadata.has_more_pages = true;
  answer.metadata.paging_state = "where we are";
  answer.metadata.new_metadata_id = "changed";
  std::string out;
  testing::AppendRows({kV5, 2}, answer, &out);
  const auto result = MessageOf<RowsResult>(kV5, out);
  EXPECT_TRUE(result.metadata.columns.empty());
  EXPECT_EQ(result.metadata.column_count, 4u);
  EXPECT_TRUE(result.metadata.has_more_pages);
  EXPECT_EQ(result.metadata.paging_state, "where we are");
  EXPECT_EQ(result.metadata.new_metadata_id, "changed");
  ExpectRows(answer, result);
}

TEST(Response, ColumnsMayEachNameTheirTable) {
  // flags 0, 1 column: "k" "t" "c" int; 1 row of 4 bytes.
  const std::string bytes = BodyOf(
      Opcode::kResult,
      "00000002 00000000 00000001 0001 6b 0001 74 0001 63 0009 00000001 00000004 00000007");
  const auto result = MessageOf<RowsResult>(kV5, bytes);
  EXPECT_EQ(result.metadata.keyspace, "k");
  EXPECT_EQ(result.metadata.table, "t");
  EXPECT_EQ(result.metadata.columns, (std::vector<ColumnMetadata>{{"c", "int"}}));
  RowReader rows(result.rows);
  ASSERT_TRUE(rows.Next());
  EXPECT_EQ(*rows[0], FromHex("00000007"));
}

TEST(Response, EveryTypeHasItsName) {
  RowsAnswer answer;
  for (const char* type :
       {"ascii", "bigint", "blob", "boolean", "counter", "decimal", "double", "float", "int",
        "timestamp", "uuid", "text", "varint", "timeuuid", "inet", "date", "time", "smallint",
        "tinyint", "duration", "list<int>", "map<text, list<double>>", "tuple<>", "ks.of_user",
        "'org.x.Custom(org.x.Y , 3)'", "set<tuple<'org.x.Y', ks.of_user>>"}) {
    answer.metadata.columns.push_back({type, type});
  }
  std::string out;
  testing::AppendRows({kV5, 0}, answer, &out);
  const auto result = MessageOf<RowsResult>(kV5, out);
  for (const ColumnMetadata& column : result.metadata.columns) EXPECT_EQ(column.type, column.name);
}

// What a server answers that is asked by version 4 of the protocol.
TEST(Response, ADurationMayBeToldByItsClass) {
  RowsAnswer answer;
  const std::string told = "'org.apache.cassandra.db.marshal.DurationType'";
  answer.metadata.columns = {{"a", told}, {"b", "tuple<int, " + told + ">"}};
  std::string out;
  testing::AppendRows({kV4, 0}, answer, &out);
  EXPECT_EQ(MessageOf<RowsResult>(kV4, out).metadata.columns,
            (std::vector<ColumnMetadata>{{"a", "duration"}, {"b", "tuple<int, duration>"}}));
}

TEST(Response, PreparedTellsIdsMarkersAndColumns) {
  PreparedResult prepared;
  prepared.ids = {"an id of 16 byte", "metadata id"};
  prepared.markers = {"ks", "t", {{"v", "double"}, {"e", "text"}, {"b", "date"}}, 3, false, "", ""};
  prepared.key_markers = {1, 2};
  for (const ProtocolVersion version : {kV4, kV5}) {
    std::string out;
    testing::AppendPrepared({version, 0}, prepared, &out);
    const auto got = MessageOf<PreparedResult>(version, out);
    EXPECT_EQ(got.ids.id, prepared.ids.id);
    EXPECT_EQ(got.ids.metadata_id, version == kV5 ? "metadata id" : "");
    EXPECT_EQ(got.markers.columns, prepared.markers.columns);
    EXPECT_EQ(got.key_markers, prepared.key_markers);
    EXPECT_EQ(got.result.column_count, 0u);
  }
  prepared.result.columns = {{"count", "bigint"}};
  prepared.key_markers.clear();
  std::string out;
  testing::AppendPrepared({kV5, 0}, prepared, &out);
  EXPECT_EQ(MessageOf<PreparedResult>(kV5, out).result.columns, prepared.result.columns);
  prepared.key_markers = {3};
  out.clear();
  testing::AppendPrepared({kV5, 0}, prepared, &out);
  EXPECT_EQ(Decoded(kV5, out).status().code(), StatusCode::kCorruption);
}

TEST(Response, EventsTellWhatChanged) {
  using Kind = NodeEvent::Kind;
  for (const Kind kind : {Kind::kAdded, Kind::kRemoved, Kind::kMoved, Kind::kUp, Kind::kDown,
                          Kind::kOther}) {
    std::string out;
    testing::AppendNodeEvent({kV5, kEventStream}, {kind, FromHex("7f000002"), 9042}, &out);
    const auto event = MessageOf<NodeEvent>(kV5, out);
    EXPECT_EQ(event.kind, kind);
    EXPECT_EQ(event.address, FromHex("7f000002"));
    EXPECT_EQ(event.port, 9042);
    EXPECT_EQ(Decoded(kV5, out)->stream, kEventStream);
  }
  for (const int16_t stream : {kEventStream, int16_t{3}}) {
    for (const char* target : {"KEYSPACE", "TABLE", "FUNCTION"}) {
      const SchemaChange sent = {"UPDATED", target, "ks",
                                 std::string_view(target) == "KEYSPACE" ? "" : "name"};
      std::string out;
      testing::AppendSchemaChange({kV5, stream}, sent, &out);
      const auto change = MessageOf<SchemaChange>(kV5, out);
      EXPECT_EQ(change.change, sent.change);
      EXPECT_EQ(change.target, sent.target);
      EXPECT_EQ(change.keyspace, sent.keyspace);
      EXPECT_EQ(change.name, sent.name);
    }
  }
  EXPECT_EQ(MessageOf<OtherEvent>(kV5, BodyOf(Opcode::kEvent, "0003 4e4557 ff")).type, "NEW");
}

}  // namespace
}  // namespace cistern::cql
