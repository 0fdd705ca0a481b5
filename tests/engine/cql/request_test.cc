// Requests against known bytes, and against the server's side of the codec.
#include "engine/cql/request.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "engine/cql/envelope.h"
#include "tests/support/cql_server_codec.h"
#include "tests/support/hex.h"

namespace cistern::cql {
namespace {

using testing::FromHex;
using testing::SentValue;
using testing::ToHex;

constexpr ProtocolVersion kV4 = ProtocolVersion::kV4;
constexpr ProtocolVersion kV5 = ProtocolVersion::kV5;

// What a server makes of one envelope.
template <typename Message>
Message Received(ProtocolVersion version, std::string_view bytes) {
  const auto header = ParseEnvelopeHeader(bytes, Direction::kRequest, 1 << 24);
  EXPECT_TRUE(header.ok());
  EXPECT_EQ(header->version, static_cast<uint8_t>(version));
  EXPECT_EQ(header->body_bytes, bytes.size() - kEnvelopeHeaderBytes);
  const auto request = testing::DecodeRequest(
      version, Envelope{*header, bytes.substr(kEnvelopeHeaderBytes)});
  EXPECT_TRUE(request.ok()) << request.status().ToString();
  const auto* message = request.ok() ? std::get_if<Message>(&*request) : nullptr;
  EXPECT_NE(message, nullptr);
  return message != nullptr ? *message : Message();
}

ValueRun ThreeValues() {
  ValueRun run;
  ValueWriter writer(&run);
  writer.Value("text");
  writer.Null();
  writer.Unset();
  return run;
}

void ExpectThreeValues(const std::vector<SentValue>& values) {
  ASSERT_EQ(values.size(), 3u);
  EXPECT_EQ(values[0], (SentValue{SentValue::Kind::kValue, "text"}));
  EXPECT_EQ(values[1].kind, SentValue::Kind::kNull);
  EXPECT_EQ(values[2].kind, SentValue::Kind::kUnset);
}

TEST(Request, HasKnownBytes) {
  std::string out;
  AppendOptions({kV5, 0}, &out);
  EXPECT_EQ(ToHex(out), "050000000500000000");
  for (const ProtocolVersion version : {kV4, kV5}) {
    out.clear();
    ASSERT_TRUE(AppendStartup({version, 0}, {}, &out).ok());
    EXPECT_EQ(ToHex(out), std::string(version == kV4 ? "04" : "05") +
                              "00000001000000160001000b43514c5f56455253494f4e0005332e302e30");
  }
  out.clear();
  ASSERT_TRUE(AppendPlainAuthResponse({kV5, 0}, "cassandra", "cassandra", &out).ok());
  EXPECT_EQ(ToHex(out.substr(9)), "000000140063617373616e6472610063617373616e647261");
  out.clear();
  QueryOptions one;
  one.consistency = Consistency::kOne;
  ASSERT_TRUE(AppendQuery({kV5, 1}, "SELECT key FROM system.local", one, {}, &out).ok());
  EXPECT_EQ(ToHex(out),
            "0500000107000000260000001c53454c454354206b65792046524f4d2073797374656d2e6c6f63616c0001"
            "00000000");
  out.clear();
  ASSERT_TRUE(AppendQuery({kV4, 1}, "S", one, {}, &out).ok());
  EXPECT_EQ(ToHex(out), "0400000107000000080000000153000100");
}

TEST(Request, StartupSaysWhatIsAskedFor) {
  StartupOptions options;
  options.compression = Compression::kLz4;
  options.driver_name = "Cistern";
  options.driver_version = "0.1.0";
  options.throw_on_overload = true;
  std::string out;
  ASSERT_TRUE(AppendStartup({kV5, 3}, options, &out).ok());
  const std::map<std::string, std::string> expected = {{"CQL_VERSION", "3.0.0"},
                                                       {"COMPRESSION", "lz4"},
                                                       {"DRIVER_NAME", "Cistern"},
                                                       {"DRIVER_VERSION", "0.1.0"},
                                                       {"THROW_ON_OVERLOAD", "1"}};
  EXPECT_EQ(Received<testing::StartupRequest>(kV5, out).options, expected);
}

TEST(Request, PlainTokenIsUserAndPassword) {
  std::string out;
  ASSERT_TRUE(AppendPlainAuthResponse({kV4, 0}, "gateway", "secret word", &out).ok());
  const std::string token = Received<testing::AuthResponseRequest>(kV4, out).token;
  const auto credentials = testing::ParsePlainToken(token);
  ASSERT_TRUE(credentials.has_value());
  EXPECT_EQ(credentials->user, "gateway");
  EXPECT_EQ(credentials->password, "secret word");

  out = "before";
  const std::string zero("a\0b", 3);
  for (const auto& [user, password] : {std::pair<std::string, std::string>{"", "p"},
                                       {"u", ""}, {zero, "p"}, {"u", zero}}) {
    EXPECT_EQ(AppendPlainAuthResponse({kV4, 0}, user, password, &out).code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(AppendPlainAuthResponse({kV4, 0}, "u", std::string(70'000, 'p'), &out).code(),
            StatusCode::kTooLarge);
  EXPECT_EQ(out, "before");
}

TEST(Request, RegistersForAllEvents) {
  std::string out;
  AppendRegister({kV5, 9}, &out);
  const std::vector<std::string> expected = {"TOPOLOGY_CHANGE", "STATUS_CHANGE", "SCHEMA_CHANGE"};
  EXPECT_EQ(Received<testing::RegisterRequest>(kV5, out).events, expected);
}

TEST(Request, PrepareHasFlagsInV5Only) {
  std::string out;
  ASSERT_TRUE(AppendPrepare({kV4, 0}, "INSERT", &out).ok());
  EXPECT_EQ(ToHex(out.substr(9)), "00000006494e53455254");
  out.clear();
  ASSERT_TRUE(AppendPrepare({kV5, 0}, "INSERT", &out).ok());
  EXPECT_EQ(ToHex(out.substr(9)), "00000006494e5345525400000000");
  EXPECT_EQ(Received<testing::PrepareRequest>(kV5, out).cql, "INSERT");
}

TEST(Request, QueryCarriesEveryParameter) {
  for (const ProtocolVersion version : {kV4, kV5}) {
    QueryOptions options;
    options.consistency = Consistency::kEachQuorum;
    options.serial_consistency = Consistency::kLocalSerial;
    options.default_timestamp_us = 1'700'000'000'000'001;
    options.skip_metadata = true;
    options.page_rows = 500;
    options.paging_state = "state";
    if (version == kV5) options.now_in_seconds = 4'000'000'000u;
    std::string out;
    ASSERT_TRUE(AppendQuery({version, 5}, "SELECT", options, ThreeValues(), &out).ok());
    const auto query = Received<testing::QueryRequest>(version, out);
    EXPECT_EQ(query.cql, "SELECT");
    const testing::RequestParameters& got = query.parameters;
    EXPECT_EQ(got.consistency, Consistency::kEachQuorum);
    EXPECT_EQ(got.serial_consistency, Consistency::kLocalSerial);
    EXPECT_EQ(got.default_timestamp_us, 1'700'000'000'000'001);
    EXPECT_TRUE(got.skip_metadata);
    EXPECT_EQ(got.page_rows, 500);
    EXPECT_EQ(got.paging_state, "state");
    EXPECT_EQ(got.now_in_seconds, options.now_in_seconds);
    EXPECT_FALSE(got.keyspace.has_value());
    ExpectThreeValues(got.values);
  }
}

TEST(Request, ExecuteHasAMetadataIdInV5Only) {
  const PreparedIds ids = {"statement id", "metadata id"};
  for (const ProtocolVersion version : {kV4, kV5}) {
    std::string out;
    ASSERT_TRUE(AppendExecute({version, 5}, ids, {}, ThreeValues(), &out).ok());
    const auto execute = Received<testing::ExecuteRequest>(version, out);
    EXPECT_EQ(execute.id, ids.id);
    EXPECT_EQ(execute.metadata_id, version == kV5 ? ids.metadata_id : "");
    EXPECT_EQ(execute.parameters.consistency, Consistency::kLocalQuorum);
    EXPECT_FALSE(execute.parameters.page_rows.has_value());
    EXPECT_FALSE(execute.parameters.skip_metadata);
    ExpectThreeValues(execute.parameters.values);
  }
}

TEST(Request, BatchCarriesItsStatements) {
  const std::vector<PreparedIds> prepared = {{"first", "m1"}, {"second", "m2"}};
  BoundBatch batch;
  batch.Add({1, ThreeValues()});
  ValueWriter writer = batch.Begin(0);
  writer.Bigint(-2);
  writer.Int(7);
  writer.Value(ColumnType{CqlType::kText, {}}, 0, "typed");
  batch.Add({1, ValueRun()});
  for (const ProtocolVersion version : {kV4, kV5}) {
    BatchOptions options;
    options.consistency = Consistency::kQuorum;
    options.default_timestamp_us = 42;
    if (version == kV5) options.now_in_seconds = 1'700'000'000;
    std::string out;
    ASSERT_TRUE(AppendBatch({version, 32767}, prepared, batch, options, &out).ok());
    EXPECT_LE(out.size(), batch.WireBytes(6) + kBatchOverheadBytesMax);
    const auto got = Received<testing::BatchRequest>(version, out);
    EXPECT_EQ(got.type, BatchType::kUnlogged);
    EXPECT_EQ(got.parameters.consistency, Consistency::kQuorum);
    EXPECT_EQ(got.parameters.default_timestamp_us, 42);
    EXPECT_EQ(got.parameters.now_in_seconds, options.now_in_seconds);
    ASSERT_EQ(got.entries.size(), 3u);
    EXPECT_EQ(got.entries[0].id, "second");
    ExpectThreeValues(got.entries[0].values);
    EXPECT_EQ(got.entries[1].id, "first");
    ASSERT_EQ(got.entries[1].values.size(), 3u);
    EXPECT_EQ(ToHex(got.entries[1].values[0].bytes), "fffffffffffffffe");
    EXPECT_EQ(ToHex(got.entries[1].values[1].bytes), "00000007");
    EXPECT_EQ(got.entries[1].values[2].bytes, "typed");
    EXPECT_EQ(got.entries[2].id, "second");
    EXPECT_TRUE(got.entries[2].values.empty());
  }
  batch.Clear();
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(batch.WireBytes(16), 0u);
}

TEST(Request, RefusesWhatCannotBeSentAndLeavesNothingBehind) {
  std::string out = "before";
  QueryOptions now;
  now.now_in_seconds = 1;
  EXPECT_EQ(AppendQuery({kV4, 0}, "S", now, {}, &out).code(), StatusCode::kNotSupported);
  BatchOptions batch_now;
  batch_now.now_in_seconds = 1;
  EXPECT_EQ(AppendBatch({kV4, 0}, {}, BoundBatch(), batch_now, &out).code(),
            StatusCode::kNotSupported);
  QueryOptions least;
  least.default_timestamp_us = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(AppendQuery({kV5, 0}, "S", least, {}, &out).code(), StatusCode::kInvalidArgument);
  QueryOptions pages;
  pages.page_rows = 1u << 31;
  EXPECT_EQ(AppendQuery({kV5, 0}, "S", pages, {}, &out).code(), StatusCode::kInvalidArgument);
  const std::string long_text(limits::kCqlRequestBytesMax + 1, 'x');
  EXPECT_EQ(AppendPrepare({kV5, 0}, long_text, &out).code(), StatusCode::kTooLarge);
  EXPECT_EQ(AppendExecute({kV5, 0}, {std::string(65'536, 'x'), ""}, {}, {}, &out).code(),
            StatusCode::kTooLarge);
  ValueRun values;
  ValueWriter(&values).Value(std::string_view(long_text).substr(1));
  EXPECT_EQ(AppendQuery({kV5, 0}, "S", {}, values, &out).code(), StatusCode::kTooLarge);
  const std::vector<PreparedIds> prepared = {{"id", ""}};
  BoundBatch many;
  for (int i = 0; i < 65'536; ++i) many.Add({0, {}});
  EXPECT_EQ(AppendBatch({kV5, 0}, prepared, many, {}, &out).code(), StatusCode::kTooLarge);
  EXPECT_EQ(out, "before");
}

}  // namespace
}  // namespace cistern::cql
