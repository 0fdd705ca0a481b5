// Random and mangled input for every reader and for what stands behind it: nothing is lost,
// nothing ends the process, and what is refused has a reason.
#include <gtest/gtest.h>

#include <random>

#include "tests/tools/reader_test_util.h"
#include "tools/line_protocol_reader.h"
#include "tools/row_mapper.h"

namespace cistern::tool {
namespace {

constexpr std::string_view kCsvSeed =
    "a,2024-01-01T00:00:00Z,1.5,\"x \"\"y\"\"\",true,0xcafe\r\nb,1,nan,,0,\n";
constexpr std::string_view kJsonSeed =
    "{\"e\":\"a\",\"ts\":1750.0,\"v\":-0,\"w\":\"\\u00e9\",\"on\":true,\"l\":[1,2]}\n";
constexpr std::string_view kDocumentSeed =
    "[{\"e\":\"a\",\"ts\":1750.0,\n\"v\":NaN,\"on\":true,\"l\":[1,2]},{\"e\":\"b\",\"ts\":1}]\n";
constexpr std::string_view kEscapedSeed =
    "a,2024-01-01T00:00:00Z,1.5,C:\\\\x \\\"y\\\" \\x41,true,0xcafe\n#c\nb,1,nan,\"\\\n\",0,\n";
constexpr std::string_view kLineSeed =
    "m,e=a\\ b,w=x v=1.5,on=t,n=3i,l=\"[1, 2]\" 1465839830100\n# c\nm,e=b v=2 5\n";

std::unique_ptr<RecordReader> NewReader(int format, Input* input) {
  CsvDialect dialect;
  if (format == 0) return NewCsvReader(input, dialect);
  if (format == 1) return NewJsonReader(input, JsonLayout::kLines, {"l.0"});
  if (format == 2) return NewLineProtocolReader(input);
  if (format == 3) return NewJsonReader(input, JsonLayout::kDocument, {"x.v", "l.0"});
  EXPECT_TRUE(ParseEscape("cqlsh", &dialect).ok());
  dialect.comment = "#";
  dialect.skip_lines = 1;
  return NewCsvReader(input, dialect);
}

// The seed a few times over, with bytes changed, taken out, doubled and swapped.
std::string Mangled(std::string_view seed, std::mt19937* random) {
  std::string text;
  for (int i = 0; i < 8; ++i) text += seed;
  const size_t changes = (*random)() % 24;
  for (size_t i = 0; i < changes && !text.empty(); ++i) {
    const size_t at = (*random)() % text.size();
    switch ((*random)() % 4) {
      case 0: text[at] = static_cast<char>((*random)()); break;
      case 1: text.erase(at, 1 + (*random)() % 4); break;
      case 2: text.insert(at, text.substr((*random)() % text.size(), (*random)() % 20)); break;
      default: std::swap(text[at], text[(*random)() % text.size()]); break;
    }
  }
  return text;
}

class HostileInput : public ::testing::TestWithParam<int> {};

TEST_P(HostileInput, EveryLineIsARecordOrHasAReason) {
  const std::string_view seeds[] = {kCsvSeed, kJsonSeed, kLineSeed, kDocumentSeed,
                                    kEscapedSeed};
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  auto schema = ParseCreateTable(
      "CREATE TABLE t (e text, day date, ts timestamp, v double, w text, on_ boolean, b blob, "
      "n int, l frozen<list<int>>, PRIMARY KEY ((e, day), ts))");
  ASSERT_TRUE(schema.ok());
  MappingOptions options;
  options.maps = {"on=on_"};
  const bool is_json = GetParam() == 1 || GetParam() == 3;
  if (is_json) options.ignores = {"x", "l.0", "l.1"};
  uint64_t taken = 0;
  uint64_t refused = 0;
  for (int round = 0; round < 1500; ++round) {
    auto mapper = RowMapper::Make(*schema, options, std::nullopt);
    ASSERT_TRUE(mapper.ok());
    if (GetParam() == 0 || GetParam() == 4) {
      ASSERT_TRUE(mapper->BindHeader({"e", "ts", "v", "w", "on", "b"}).ok());
    }
    const auto input = Input::FromText(Mangled(seeds[GetParam()], &random));
    const auto reader = NewReader(GetParam(), input.get());
    RowBatch batch(*schema);
    Record record;
    for (;;) {
      const ReadOutcome outcome = reader->Next(&record);
      if (outcome == ReadOutcome::kEnd) break;
      if (outcome == ReadOutcome::kBad) {
        EXPECT_FALSE(record.reason.empty());
        ++refused;
        continue;
      }
      ASSERT_EQ(outcome, ReadOutcome::kRecord);
      const size_t rows_before = batch.row_count();
      const Status s = mapper->AddRow(record, &batch);
      EXPECT_EQ(batch.row_count(), rows_before + (s.ok() ? 1 : 0));
      EXPECT_EQ(s.ok(), s.message().empty());
      ++(s.ok() ? taken : refused);
    }
  }
  EXPECT_GT(taken, 1000u);
  EXPECT_GT(refused, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Formats, HostileInput, ::testing::Values(0, 1, 2, 3, 4));

}  // namespace
}  // namespace cistern::tool
