#include "engine/cql/wire_reader.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/cql/envelope.h"
#include "engine/cql/wire_writer.h"
#include "tests/support/hex.h"

namespace cistern::cql {
namespace {

using testing::FromHex;
using testing::ToHex;

TEST(Wire, NotationsAreBigEndian) {
  std::string out;
  WireWriter wire(&out);
  wire.Byte(0xfe);
  wire.Short(0x0102);
  wire.Int(-2);
  wire.Long(0x0102030405060708);
  wire.String("ab");
  wire.LongString("c");
  wire.NullBytes();
  wire.ConsistencyLevel(Consistency::kLocalQuorum);
  wire.Inet(FromHex("7f000001"), 9042);
  EXPECT_EQ(ToHex(out), "fe0102fffffffe0102030405060708000261620000000163ffffffff0006"
                        "047f00000100002352");
  WireReader reader(out, "test");
  EXPECT_EQ(reader.Byte("byte"), 0xfe);
  EXPECT_EQ(reader.Short("short"), 0x0102);
  EXPECT_EQ(reader.Int("int"), -2);
  EXPECT_EQ(reader.Long("long"), 0x0102030405060708);
  EXPECT_EQ(reader.String("string"), "ab");
  EXPECT_EQ(reader.LongString("long string"), "c");
  EXPECT_FALSE(reader.Bytes("bytes").has_value());
  EXPECT_EQ(reader.ConsistencyLevel("consistency"), Consistency::kLocalQuorum);
  EXPECT_EQ(reader.InetAddress("address"), FromHex("7f000001"));
  EXPECT_EQ(reader.Int("port"), 9042);
  EXPECT_TRUE(reader.ok());
  EXPECT_EQ(reader.remaining(), 0u);
}

TEST(Wire, TheFirstFailureStaysAndNamesItsField) {
  const std::string bytes = FromHex("00056162");
  WireReader reader(bytes, "RESULT");
  EXPECT_EQ(reader.String("keyspace"), "");
  EXPECT_EQ(reader.Int("flags"), 0);
  EXPECT_FALSE(reader.Bytes("cell").has_value());
  EXPECT_EQ(reader.status().code(), StatusCode::kCorruption);
  EXPECT_EQ(reader.status().message(), "RESULT: keyspace at byte 2 of 4 runs past the end");
}

TEST(Wire, RefusesLengthsThatCannotBe) {
  const auto code = [](std::string_view hex, auto read) {
    const std::string bytes = FromHex(hex);
    WireReader reader(bytes, "test");
    read(&reader);
    return reader.status().code();
  };
  const auto long_string = [](WireReader* r) { static_cast<void>(r->LongString("text")); };
  EXPECT_EQ(code("ffffffff", long_string), StatusCode::kCorruption);
  EXPECT_EQ(code("7fffffff00", long_string), StatusCode::kCorruption);
  EXPECT_EQ(code("0000000161", long_string), StatusCode::kOk);
  const auto address = [](WireReader* r) { static_cast<void>(r->InetAddress("address")); };
  EXPECT_EQ(code("0500000000aa", address), StatusCode::kCorruption);
  EXPECT_EQ(code("0400000000", address), StatusCode::kOk);
  const auto count = [](WireReader* r) { EXPECT_EQ(r->Count("items", 3), 0u); };
  EXPECT_EQ(code("ffffffff", count), StatusCode::kCorruption);
  EXPECT_EQ(code("000000020102030405", count), StatusCode::kCorruption);
  EXPECT_EQ(code("00000000", count), StatusCode::kOk);
}

TEST(Envelope, HeaderComesBack) {
  EnvelopeHeader header;
  header.version = 4;
  header.direction = Direction::kResponse;
  header.flags = envelope_flag::kWarning;
  header.stream = -1;
  header.opcode = Opcode::kEvent;
  std::string out = "before";
  const size_t begin = BeginEnvelope(header, &out);
  out.append("body");
  EndEnvelope(begin, &out);
  EXPECT_EQ(ToHex(out.substr(6, 9)), "8408ffff0c00000004");
  const auto parsed = ParseEnvelopeHeader(out.substr(6), Direction::kResponse, 4);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->version, 4);
  EXPECT_EQ(parsed->stream, kEventStream);
  EXPECT_EQ(parsed->opcode, Opcode::kEvent);
  EXPECT_EQ(parsed->body_bytes, 4u);
  EXPECT_EQ(ParseEnvelopeHeader(out.substr(6), Direction::kResponse, 3).status().code(),
            StatusCode::kTooLarge);
  EXPECT_EQ(ParseEnvelopeHeader(out.substr(6), Direction::kRequest, 4).status().code(),
            StatusCode::kCorruption);
}

TEST(Protocol, ConsistencyHasItsNameBothWays) {
  for (uint16_t number = 0; number <= 0xa; ++number) {
    const auto consistency = Consistency{number};
    EXPECT_EQ(ConsistencyFromName(ConsistencyName(consistency)), consistency);
  }
  EXPECT_EQ(ConsistencyFromName("local_quorum"), Consistency::kLocalQuorum);
  EXPECT_FALSE(ConsistencyFromName("LOCAL").has_value());
  EXPECT_EQ(ConsistencyName(Consistency{11}), "unknown consistency");
}

}  // namespace
}  // namespace cistern::cql
