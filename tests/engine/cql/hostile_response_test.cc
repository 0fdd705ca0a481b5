// What a broken or hostile server may send: cut, flipped and lying messages give an error or a
// message, and never cost more memory than their bytes allow.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "cistern/limits.h"
#include "engine/cql/response.h"
#include "engine/cql/wire_writer.h"
#include "tests/support/cql_server_codec.h"
#include "tests/support/hex.h"

namespace {

std::atomic<size_t> largest_allocation{0};

void* Allocate(size_t bytes) {
  if (bytes > largest_allocation.load()) largest_allocation.store(bytes);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes); }
void* operator new[](size_t bytes) { return Allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return Allocate(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace cistern::cql {
namespace {

using testing::FromHex;

struct Sample {
  ProtocolVersion version;
  EnvelopeHeader header;
  std::string body;
};

Sample SampleOf(ProtocolVersion version, const std::string& bytes) {
  Sample sample;
  sample.version = version;
  sample.header = *ParseEnvelopeHeader(bytes, Direction::kResponse, 1 << 20);
  sample.body = bytes.substr(kEnvelopeHeaderBytes);
  return sample;
}

// One message of each kind that has lengths in it.
std::vector<Sample> Samples() {
  std::vector<Sample> samples;
  for (const ProtocolVersion version : {ProtocolVersion::kV4, ProtocolVersion::kV5}) {
    std::vector<std::string> all(6);
    testing::ResponseHead head;
    head.version = version;
    head.warnings = {"warning"};
    testing::RowsAnswer rows;
    rows.metadata = {"ks", "t", {{"a", "map<text, int>"}, {"b", "ks.type"}}, 2, true, "page", "id"};
    rows.rows = {{"value", std::nullopt}, {"", "x"}};
    AppendRows(head, rows, &all[0]);
    PreparedResult prepared;
    prepared.ids = {"id", "metadata"};
    prepared.markers = {"ks", "t", {{"a", "int"}}, 1, false, "", ""};
    prepared.key_markers = {0};
    AppendPrepared(head, prepared, &all[1]);
    ErrorResponse error;
    error.code = ErrorCode::kWriteFailure;
    error.failures = {{FromHex("7f000001"), 0}};
    error.failure_count = 1;
    error.write_type = "SIMPLE";
    AppendError(head, error, &all[2]);
    AppendSupported(head, {{"COMPRESSION", {"lz4"}}}, &all[3]);
    AppendNodeEvent(head, {NodeEvent::Kind::kUp, FromHex("7f000001"), 9042}, &all[4]);
    AppendSchemaChange(head, {"CREATED", "FUNCTION", "ks", "f"}, &all[5]);
    for (const std::string& bytes : all) samples.push_back(SampleOf(version, bytes));
  }
  return samples;
}

// Goes through everything that a decoded response offers.
void Use(const Response& response) {
  if (const auto* result = std::get_if<RowsResult>(&response.message)) {
    RowReader rows(result->rows);
    size_t seen = 0;
    while (rows.Next()) ++seen;
    EXPECT_EQ(seen, result->rows.row_count());
  }
  if (const auto* error = std::get_if<ErrorResponse>(&response.message)) {
    EXPECT_FALSE(DescribeError(*error).empty());
  }
}

TEST(HostileResponse, CutAnywhereIsAnError) {
  for (const Sample& sample : Samples()) {
    EXPECT_TRUE(DecodeResponse(sample.version, {sample.header, sample.body}).ok());
    for (size_t bytes = 0; bytes < sample.body.size(); ++bytes) {
      const auto response = DecodeResponse(
          sample.version, {sample.header, std::string_view(sample.body).substr(0, bytes)});
      ASSERT_FALSE(response.ok()) << OpcodeName(sample.header.opcode) << " at " << bytes;
      EXPECT_EQ(response.status().code(), StatusCode::kCorruption);
    }
  }
}

TEST(HostileResponse, FlippedBitsGiveAnErrorOrAMessage) {
  for (const Sample& sample : Samples()) {
    std::string body = sample.body;
    largest_allocation = 0;
    for (size_t bit = 0; bit < body.size() * 8; ++bit) {
      body[bit / 8] = static_cast<char>(body[bit / 8] ^ (1 << bit % 8));
      const auto response = DecodeResponse(sample.version, {sample.header, body});
      if (response.ok()) {
        Use(*response);
      } else {
        EXPECT_TRUE(response.status().code() == StatusCode::kCorruption ||
                    response.status().code() == StatusCode::kTooLarge);
      }
      body[bit / 8] = static_cast<char>(body[bit / 8] ^ (1 << bit % 8));
    }
    EXPECT_LT(largest_allocation.load(), 100 * (body.size() + 100));
  }
}

// Every 4 bytes of each message replaced by what a length or a count may lie.
TEST(HostileResponse, LyingLengthsAllocateNothingBig) {
  for (const Sample& sample : Samples()) {
    for (const char* lie : {"7fffffff", "80000000", "ffffffff", "00ffffff", "fffe0000"}) {
      for (size_t at = 0; at + 4 <= sample.body.size(); ++at) {
        std::string body = sample.body;
        body.replace(at, 4, FromHex(lie));
        largest_allocation = 0;
        const auto response = DecodeResponse(sample.version, {sample.header, body});
        if (response.ok()) Use(*response);
        EXPECT_LT(largest_allocation.load(), 100 * (body.size() + 100)) << lie << " at " << at;
      }
    }
  }
}

Status ResultStatus(const std::string& body) {
  EnvelopeHeader header;
  header.direction = Direction::kResponse;
  header.opcode = Opcode::kResult;
  return DecodeResponse(ProtocolVersion::kV5, {header, body}).status();
}

TEST(HostileResponse, RowsWithoutColumnsAreNoEndlessLoop) {
  EXPECT_EQ(ResultStatus(FromHex("00000002 00000004 00000000 7fffffff")).code(),
            StatusCode::kCorruption);
  EXPECT_TRUE(ResultStatus(FromHex("00000002 00000004 00000000 00000000")).ok());
}

TEST(HostileResponse, ColumnsAndTypesHaveLimits) {
  EXPECT_EQ(ResultStatus(FromHex("00000002 00000004 00001001 00000000")).code(),
            StatusCode::kTooLarge);
  EXPECT_EQ(ResultStatus(FromHex("00000002 00000004 ffffffff 00000000")).code(),
            StatusCode::kCorruption);
  EXPECT_EQ(ResultStatus(FromHex("00000002 00000002 00000000 ffffffff 00000000")).code(),
            StatusCode::kCorruption);

  const std::string one_column = FromHex("00000002 00000001 00000001 0000 0000 0000");
  std::string deep = one_column;
  for (int i = 0; i < 1000; ++i) deep += FromHex("0020");
  EXPECT_EQ(ResultStatus(deep).code(), StatusCode::kTooLarge);
  std::string wide = one_column + FromHex("0031 ffff");
  for (int i = 0; i < 65'535; ++i) wide += FromHex("000b");
  EXPECT_EQ(ResultStatus(wide).code(), StatusCode::kTooLarge);
  EXPECT_EQ(ResultStatus(one_column + FromHex("000a 00000000")).code(), StatusCode::kCorruption);
  EXPECT_TRUE(ResultStatus(one_column + FromHex("0009 00000000")).ok());
}

// A megabyte of the smallest items of each list: what is kept of them is bounded.
TEST(HostileResponse, LongListsAreCutShort) {
  EnvelopeHeader header;
  header.direction = Direction::kResponse;
  header.opcode = Opcode::kError;
  std::string error = FromHex("00001500 0000 0006 00000001 00000002 0001d4c0");  // 120,000
  for (int i = 0; i < 120'000; ++i) error += FromHex("04 00000000 0000");
  error += FromHex("0000");
  largest_allocation = 0;
  const auto response = DecodeResponse(ProtocolVersion::kV5, {header, error});
  ASSERT_TRUE(response.ok()) << response.status().ToString();
  EXPECT_EQ(std::get<ErrorResponse>(response->message).failure_count, 120'000);
  EXPECT_LT(largest_allocation.load(), 20'000u);

  header.opcode = Opcode::kSupported;
  std::string supported = FromHex("0001 000b") + "COMPRESSION" + FromHex("ffff");
  supported.append(2 * 65'535, '\0');
  largest_allocation = 0;
  EXPECT_TRUE(DecodeResponse(ProtocolVersion::kV5, {header, supported}).ok());
  EXPECT_LT(largest_allocation.load(), 20'000u);
}

}  // namespace
}  // namespace cistern::cql
