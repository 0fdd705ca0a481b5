// Every error of section 8 of the specification with its own fields, in both versions.
#include "engine/cql/error_response.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "engine/cql/readable.h"
#include "engine/cql/response.h"
#include "tests/support/cql_server_codec.h"
#include "tests/support/hex.h"

namespace cistern::cql {
namespace {

using testing::FromHex;

constexpr ProtocolVersion kVersions[] = {ProtocolVersion::kV4, ProtocolVersion::kV5};

ErrorResponse Sent(ProtocolVersion version, const ErrorResponse& error) {
  std::string out;
  testing::AppendError({version, 1}, error, &out);
  const auto header = ParseEnvelopeHeader(out, Direction::kResponse, 1 << 20);
  const auto response = DecodeResponse(
      version, Envelope{*header, std::string_view(out).substr(kEnvelopeHeaderBytes)});
  EXPECT_TRUE(response.ok()) << response.status().ToString();
  return response.ok() ? std::get<ErrorResponse>(response->message) : ErrorResponse();
}

ErrorResponse Read(ProtocolVersion version, std::string_view hex, Status* status) {
  const std::string bytes = FromHex(hex);
  WireReader reader(bytes, "ERROR");
  ErrorResponse error = ReadErrorResponse(&reader, version);
  *status = reader.status();
  return error;
}

ErrorResponse Full(ErrorCode code) {
  ErrorResponse error;
  error.code = code;
  error.message = "the server's words";
  error.consistency = Consistency::kLocalQuorum;
  error.required = 2;
  error.received = 1;
  return error;
}

TEST(ErrorResponse, WithoutFieldsIsCodeAndMessage) {
  for (const ProtocolVersion version : kVersions) {
    for (const int32_t code : {0x0, 0xa, 0x100, 0x1001, 0x1002, 0x1003, 0x1600, 0x2000, 0x2100,
                               0x2200, 0x2300, 0x7777}) {
      ErrorResponse error;
      error.code = ErrorCode{code};
      error.message = "words";
      const ErrorResponse got = Sent(version, error);
      EXPECT_EQ(got.code, error.code);
      EXPECT_EQ(got.message, "words");
      EXPECT_EQ(ErrorCodeName(got.code) == "unknown error", code == 0x7777);
    }
  }
}

TEST(ErrorResponse, OfReplicasTellsHowMany) {
  for (const ProtocolVersion version : kVersions) {
    for (const ErrorCode code : {ErrorCode::kUnavailable, ErrorCode::kWriteTimeout,
                                 ErrorCode::kReadTimeout, ErrorCode::kCasWriteUnknown}) {
      ErrorResponse error = Full(code);
      error.data_present = code == ErrorCode::kReadTimeout;
      if (code == ErrorCode::kWriteTimeout) error.write_type = "UNLOGGED_BATCH";
      const ErrorResponse got = Sent(version, error);
      EXPECT_EQ(got.consistency, error.consistency);
      EXPECT_EQ(got.required, 2);
      EXPECT_EQ(got.received, 1);
      EXPECT_EQ(got.write_type, error.write_type);
      EXPECT_EQ(got.data_present, error.data_present);
    }
  }
}

TEST(ErrorResponse, OfFailuresTellsReasonsInV5) {
  for (const ErrorCode code : {ErrorCode::kReadFailure, ErrorCode::kWriteFailure}) {
    ErrorResponse error = Full(code);
    error.failure_count = 2;
    error.failures = {{FromHex("7f000001"), 5}, {std::string(16, '\1'), 999}};
    error.data_present = code == ErrorCode::kReadFailure;
    if (code == ErrorCode::kWriteFailure) error.write_type = "SIMPLE";
    for (const ProtocolVersion version : kVersions) {
      const ErrorResponse got = Sent(version, error);
      EXPECT_EQ(got.failure_count, 2);
      EXPECT_EQ(got.data_present, error.data_present);
      EXPECT_EQ(got.write_type, error.write_type);
      ASSERT_EQ(got.failures.size(), version == ProtocolVersion::kV5 ? 2u : 0u);
      if (got.failures.empty()) continue;
      EXPECT_EQ(got.failures[0].address, FromHex("7f000001"));
      EXPECT_EQ(FailureReasonName(got.failures[0].reason), "node down");
      EXPECT_EQ(FailureReasonName(got.failures[1].reason), "unknown reason");
    }
  }
}

TEST(ErrorResponse, NamesWhatItIsAbout) {
  for (const ProtocolVersion version : kVersions) {
    ErrorResponse exists = Full(ErrorCode::kAlreadyExists);
    exists.keyspace = "ks";
    exists.name = "t";
    EXPECT_EQ(Sent(version, exists).keyspace, "ks");
    EXPECT_EQ(Sent(version, exists).name, "t");
    ErrorResponse function = Full(ErrorCode::kFunctionFailure);
    function.keyspace = "ks";
    function.name = "f";
    EXPECT_EQ(Sent(version, function).name, "f");
    ErrorResponse unprepared = Full(ErrorCode::kUnprepared);
    unprepared.statement_id = "an id";
    EXPECT_EQ(Sent(version, unprepared).statement_id, "an id");
  }
}

TEST(ErrorResponse, ContentionsMayBeLeftOut) {
  Status status;
  const std::string_view old = "00001100 0000 0009 00000001 00000002 0003 434153";
  EXPECT_EQ(Read(ProtocolVersion::kV5, old, &status).write_type, "CAS");
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(Read(ProtocolVersion::kV5, std::string(old) + "0007", &status).contentions, 7);
  EXPECT_TRUE(status.ok());
}

TEST(ErrorResponse, RefusesACountThatCannotBe) {
  Status status;
  Read(ProtocolVersion::kV5, "00001500 0000 0006 00000001 00000002 7fffffff 04 7f000001 0000",
       &status);
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
  Read(ProtocolVersion::kV5, "00001500 0000 0006 00000001 00000002 00000001 05 7f000001 0000 0000",
       &status);
  EXPECT_EQ(status.code(), StatusCode::kCorruption);
}

TEST(Readable, ObeysNoControlCharacterAndKeepsItsLength) {
  EXPECT_EQ(Readable("\x1b]0;owned\x07\nFATAL \xc2\x9b" "31m"), "?]0;owned??FATAL ?31m");
  EXPECT_EQ(Readable("r\xc3\xa4""ck \xe2\x82\xac"), "r\xc3\xa4""ck \xe2\x82\xac");
  EXPECT_EQ(Readable("\xc2\x80\xc2\x9f\xc2\xa0"), "??\xc2\xa0");
  EXPECT_EQ(Readable("\x9b" "31m \xff"), "?31m ?");
  EXPECT_EQ(Readable("abcdef", 4), "abcd...");
  EXPECT_EQ(Readable("ab\xc3\xa4", 3), "ab...");
}

TEST(ErrorResponse, DescribesItselfForPeople) {
  ErrorResponse error = Full(ErrorCode::kWriteTimeout);
  error.write_type = "UNLOGGED_BATCH";
  EXPECT_EQ(DescribeError(error),
            "write timeout (0x1100) at LOCAL_QUORUM, 1 of 2 replicas, UNLOGGED_BATCH: "
            "the server's words");
  ErrorResponse failure = Full(ErrorCode::kWriteFailure);
  failure.failures = {{FromHex("7f000001"), 1}};
  EXPECT_EQ(DescribeError(failure),
            "write failure (0x1500) at LOCAL_QUORUM, 1 of 2 replicas, too many tombstones: "
            "the server's words");
  ErrorResponse invalid;
  invalid.code = ErrorCode::kInvalid;
  invalid.message = "bad\x1b[31m \xc2\x9b\x7f caf\xc3\xa9";
  EXPECT_EQ(DescribeError(invalid), "invalid (0x2200): bad?[31m ?? caf\xc3\xa9");
  invalid.message = "\xff\xfe";
  EXPECT_EQ(DescribeError(invalid), "invalid (0x2200): ??");
  invalid.message.clear();
  for (int i = 0; i < 2000; ++i) invalid.message += "\xc3\xa9";
  const std::string described = DescribeError(invalid);
  EXPECT_EQ(described.size(), std::string("invalid (0x2200): ").size() + 1024 + 3);
  EXPECT_EQ(described.find('?'), std::string::npos);
}

}  // namespace
}  // namespace cistern::cql
