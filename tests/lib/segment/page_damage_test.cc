// Every check of the page decoder has a fixture: a valid page, patched, with a new
// checksum. Arbitrary damage never gets past the checksum, and past a right one it
// never does worse than an error.
#include <gtest/gtest.h>

#include <bit>
#include <random>

#include "lib/segment/page_builder.h"
#include "lib/segment/page_reader.h"
#include "lib/segment/segment_format.h"
#include "tests/lib/codec/codec_test_util.h"
#include "tests/lib/segment/page_test_util.h"

namespace cistern {
namespace {

// Two rows: a timestamp and an int of which the second is absent.
TableSchema SmallSchema() { return MakeSchema({CqlType::kTimestamp}, {CqlType::kInt}); }

// The page of SmallSchema() as its fields, so that each can be replaced.
struct Fields {
  std::string tag = Bytes({0xA1});
  std::string flags = Bytes({0});
  std::string row_count = Bytes({2});
  std::string column_count = Bytes({2});
  std::string write_us = Bytes({0x01, 20, 4});  // 10, 12
  std::string boot;
  std::string expiry;
  std::string version_flags = Bytes({1});
  std::string c0 = Bytes({0x01});
  std::string c0_values = Bytes({3, 0x01, 40, 2});  // size; 20, 21
  std::string r0 = Bytes({0x21});
  std::string r0_states = Bytes({0x10, 0, 2});
  std::string r0_values = Bytes({2, 0x00, 14});  // size; 7
  std::string tail;

  [[nodiscard]] std::string Page() const {
    std::string page = tag + flags + row_count + column_count + write_us + boot + expiry +
                       version_flags + c0 + c0_values + r0 + r0_states + r0_values + tail;
    segment_format::AppendChecksum(&page);
    return page;
  }
};

TEST(PageDamage, TheUndamagedFixtureIsWhatTheBuilderWrites) {
  const TableSchema schema = SmallSchema();
  VersionColumns rows = VersionColumns::For(schema);
  rows.row_count = 2;
  rows.write_us = {10, 12};
  rows.flags = {1, 1};
  rows.columns[2].fixed = {20, 21};
  rows.columns[3].AppendFixed(7);
  rows.columns[3].AppendMissing(CellState::kAbsent);
  const Result<VersionColumns> got = DecodePage(schema, Fields().Page(), nullptr, nullptr);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  ExpectSameRows(schema, *got, rows, 0, 2);
}

TEST(PageDamage, EveryCheckHasItsFixture) {
  struct Fixture {
    const char* name;
    std::string Fields::* where;
    std::string bytes;
    const char* field;
    const char* why;
  };
  using F = Fields;
  const Fixture fixtures[] = {
      {"tag of a header", &F::tag, Bytes({0xB1}), "tag", "says that this is something else"},
      {"format 0", &F::tag, Bytes({0xA0}),
       "tag", "says format 0, of before format 1 was frozen; read it with the version that wrote "
              "it"},
      {"unknown flag", &F::flags, Bytes({0x20}), "flags", "has unknown bits"},
      {"expiry told but absent", &F::flags, Bytes({0x04}),
       "flags", "describes an expiry that is not there"},
      {"no rows", &F::row_count, Bytes({0}), "row count", "is zero"},
      {"4097 rows", &F::row_count, Bytes({0x81, 0x20}), "row count", "is beyond its limit"},
      {"257 columns", &F::column_count, Bytes({0x81, 2}), "column count", "is beyond its limit"},
      {"3 columns", &F::column_count, Bytes({3}), "column count", "is not the schema's"},
      {"write times", &F::write_us, Bytes({0x07}), "descriptor",
       "mixes runs with other bits"},
      {"version flags", &F::version_flags, Bytes({4}), "version flags", "has unknown bits"},
      {"descriptor", &F::c0, Bytes({0x81}), "column descriptor", "has unknown bits"},
      {"absent keys", &F::c0, Bytes({0x41}),
       "column descriptor", "has missing cells in a clustering column"},
      {"wrong encoding of keys", &F::c0, Bytes({0x07}), "encoding",
       "is not one of the column's type"},
      {"column too long", &F::c0_values, Bytes({127, 0x01, 40, 2}),
       "column bytes", "runs past the end"},
      {"column over a page", &F::c0_values, Bytes({0xff, 0xff, 0xff, 0xff, 1}), "column bytes",
       "is beyond its limit"},
      {"column with a tail", &F::c0_values, Bytes({4, 0x01, 40, 2, 9}),
       "end of values", "is not where the fields end"},
      {"states of nothing", &F::r0_states, Bytes({0x00, 6}), "cell state",
       "is not value, absent or null"},
      {"states all alike", &F::r0_states, Bytes({0x00, 2}),
       "cell state", "is the same in all rows of a mixed column"},
      {"value out of range", &F::r0_values, Bytes({6, 0, 0x80, 0x80, 0x80, 0x80, 0x10}), "value",
       "is outside of the column's type"},
      {"bytes after the last", &F::tail, Bytes({0}), "end", "is not where the fields end"},
  };
  const TableSchema schema = SmallSchema();
  for (const Fixture& f : fixtures) {
    SCOPED_TRACE(f.name);
    Fields fields;
    fields.*f.where = f.bytes;
    ExpectDamage(DecodePage(schema, fields.Page(), nullptr, nullptr).status(), f.field, f.why);
  }
}

TEST(PageDamage, WhoKnowsTheRowCountIsToldOfAnother) {
  const TableSchema schema = SmallSchema();
  const std::vector<bool> wanted(schema.columns.size(), true);
  VersionColumns rows;
  EXPECT_TRUE(DecodePageValues(schema, Fields().Page(), 2, wanted, nullptr, &rows).ok());
  for (const size_t row_count : {1u, 3u}) {
    ExpectDamage(DecodePageValues(schema, Fields().Page(), row_count, wanted, nullptr, &rows),
                 "row count", "is not the expected one");
  }
}

TEST(PageDamage, OptionalFieldsAreChecked) {
  const TableSchema schema = SmallSchema();
  Fields fields;
  fields.flags = Bytes({segment_format::kPageHasBoot});
  fields.boot = Bytes({0x00, 0x80, 0x80, 0x80, 0x80, 0x20});  // 2^32
  ExpectDamage(DecodePage(schema, fields.Page(), nullptr, nullptr).status(), "boot",
               "is out of range");
  fields.boot = Bytes({0x00, 1});  // -1
  ExpectDamage(DecodePage(schema, fields.Page(), nullptr, nullptr).status(), "boot",
               "is out of range");

  fields = Fields();
  fields.flags = Bytes({segment_format::kPageHasExpiry});
  fields.expiry = Bytes({0x00, 1});
  ExpectDamage(DecodePage(schema, fields.Page(), nullptr, nullptr).status(), "expiry",
               "is out of range");
  fields.flags =
      Bytes({segment_format::kPageHasExpiry | segment_format::kPageExpiryFromWrite});
  ExpectDamage(DecodePage(schema, fields.Page(), nullptr, nullptr).status(), "expiry",
               "is out of range");

  fields = Fields();
  fields.flags = Bytes({segment_format::kPageVersionFlagsVary});
  fields.version_flags = Bytes({0x00, 8});  // 4
  ExpectDamage(DecodePage(schema, fields.Page(), nullptr, nullptr).status(), "version flags",
               "is out of range");

  fields = Fields();
  fields.r0 = Bytes({0x41});  // all absent, with values
  fields.r0_states = "";
  ExpectDamage(DecodePage(schema, fields.Page(), nullptr, nullptr).status(), "encoding",
               "is given for no values");
  fields.r0 = Bytes({0x40});
  ExpectDamage(DecodePage(schema, fields.Page(), nullptr, nullptr).status(), "end of values",
               "is not where the fields end");
  const Status in_column = DecodePage(schema, fields.Page(), nullptr, nullptr).status();
  EXPECT_NE(in_column.message().find("column 'r0'"),
            std::string::npos);

  fields = Fields();
  fields.flags = Bytes({segment_format::kPageWriteFromEvent});
  const TableSchema by_uuid = MakeSchema({CqlType::kTimeuuid}, {CqlType::kInt});
  ExpectDamage(DecodePage(by_uuid, fields.Page(), nullptr, nullptr).status(), "flags",
               "tells write times from an event time that is not a number");
}

TEST(PageDamage, CellBytesOfAllColumnsTogetherAreBounded) {
  // Two columns of 64 KiB cells, each from a dictionary of one entry: a small page that
  // would unpack to more than a page may hold.
  const TableSchema schema = MakeSchema({CqlType::kTimestamp}, {CqlType::kText, CqlType::kText});
  VersionColumns rows = VersionColumns::For(schema);
  for (int64_t i = 0; i < 7; ++i) {
    rows.write_us.push_back(i);
    rows.flags.push_back(1);
    rows.columns[2].AppendFixed(i);
    for (size_t c = 3; c < 5; ++c) rows.columns[c].AppendBytes(std::string(1 << 16, 'x'));
  }
  rows.row_count = 7;
  ASSERT_EQ(PageEnd(schema, rows, 0, 100), 7u);
  std::string page = EncodePage(schema, rows, 0, 7, nullptr);
  EXPECT_LT(page.size(), 1000u);
  ASSERT_TRUE(DecodePage(schema, page, nullptr, nullptr).ok());
  // The same with 127 rows: 8 MiB in each column.
  page.resize(page.size() - segment_format::kChecksumBytes);
  ASSERT_EQ(page[2], 7);
  page[2] = 127;
  segment_format::AppendChecksum(&page);
  const Status status = DecodePage(schema, page, nullptr, nullptr).status();
  ExpectDamage(status, "code", "makes the cells larger than a page");
  EXPECT_NE(status.message().find("column 'r1'"), std::string::npos) << status.ToString();
}

// A page with something of everything.
std::string RichPage(const TableSchema& schema, size_t count) {
  std::mt19937_64 random(12);
  VersionColumns rows = VersionColumns::For(schema);
  rows.row_count = count;
  for (size_t i = 0; i < count; ++i) {
    const auto n = static_cast<int64_t>(i);
    rows.write_us.push_back(1'700'000'000'000'000 + n * 1'000'000 +
                            static_cast<int64_t>(random() % 900));
    rows.boot.push_back(i % 11 == 0 ? 3 : 0);
    rows.expiry_s.push_back(i % 5 == 0 ? 0 : static_cast<uint32_t>(1'800'000'000 + i));
    rows.flags.push_back(i % 17 == 3 ? 0 : 1);
    rows.columns[2].AppendFixed(1'700'000'000'000 + n * 1000);
    rows.columns[3].AppendFixed(std::bit_cast<int64_t>(static_cast<double>(random() % 300) / 10));
    if (i % 4 == 1)
      rows.columns[4].AppendMissing(i % 8 == 1 ? CellState::kNull : CellState::kAbsent);
    else rows.columns[4].AppendFixed(static_cast<int64_t>(random() % 3));
    rows.columns[5].AppendBytes(i % 3 == 0 ? "left" : "right");
    std::string text("line number ");
    rows.columns[6].AppendBytes(text.append(std::to_string(random() % 100'000)));
    rows.columns[7].AppendFixed(static_cast<int64_t>(random() & 0xffffffff));
    std::string uuid(16, 'u');
    uuid[3] = static_cast<char>(i);
    rows.columns[8].AppendBytes(uuid);
    rows.columns[9].AppendMissing(CellState::kNull);
  }
  return EncodePage(schema, rows, 0, count, nullptr);
}

TableSchema RichSchema() {
  return MakeSchema({CqlType::kTimestamp},
                    {CqlType::kDouble, CqlType::kInt, CqlType::kText, CqlType::kText,
                     CqlType::kFloat, CqlType::kUuid, CqlType::kBigint});
}

std::vector<char> Exact(std::string_view bytes) { return {bytes.begin(), bytes.end()}; }

TEST(PageDamage, EveryTruncationIsNoticed) {
  const TableSchema schema = RichSchema();
  const std::string page = RichPage(schema, 120);
  ASSERT_TRUE(DecodePage(schema, page, nullptr, nullptr).ok());
  for (size_t size = 0; size < page.size(); ++size) {
    const std::vector<char> cut = Exact(page.substr(0, size));
    ASSERT_EQ(DecodePage(schema, {cut.data(), cut.size()}, nullptr, nullptr).status().code(),
              StatusCode::kCorruption);
  }
  // With a new checksum the fields themselves must notice.
  const std::string body = page.substr(0, page.size() - segment_format::kChecksumBytes);
  for (size_t size = 1; size < body.size(); ++size) {
    std::string cut = body.substr(0, size);
    segment_format::AppendChecksum(&cut);
    const std::vector<char> exact = Exact(cut);
    ASSERT_EQ(DecodePage(schema, {exact.data(), exact.size()}, nullptr, nullptr).status().code(),
              StatusCode::kCorruption)
        << size;
  }
}

TEST(PageDamage, FlippedBitsAreNoticed) {
  const TableSchema schema = RichSchema();
  const std::string page = RichPage(schema, 60);
  for (size_t bit = 0; bit < page.size() * 8; ++bit) {
    std::string flipped = page;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_EQ(DecodePage(schema, flipped, nullptr, nullptr).status().code(),
              StatusCode::kCorruption)
        << bit;
  }
}

TEST(PageDamage, DamageUnderARightChecksumNeverDoesWorseThanAnError) {
  const TableSchema schema = RichSchema();
  const std::string page = RichPage(schema, 60);
  const std::string body = page.substr(0, page.size() - segment_format::kChecksumBytes);
  const uint32_t seed = 77;
  std::mt19937_64 random(seed);
  size_t refused = 0;
  const size_t rounds = body.size() * 8 + 20'000;
  for (size_t round = 0; round < rounds; ++round) {
    std::string damaged = body;
    if (round < body.size() * 8) {
      damaged[round / 8] = static_cast<char>(damaged[round / 8] ^ (1 << (round % 8)));
    } else {
      for (uint64_t n = 1 + random() % 4; n > 0; --n) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
    }
    segment_format::AppendChecksum(&damaged);
    const std::vector<char> exact = Exact(damaged);
    const Result<VersionColumns> got =
        DecodePage(schema, {exact.data(), exact.size()}, nullptr, nullptr);
    if (!got.ok()) {
      ++refused;
      ASSERT_TRUE(got.status().code() == StatusCode::kCorruption ||
                  got.status().code() == StatusCode::kTooNew)
          << got.status().ToString();
    } else {
      ASSERT_LE(got->row_count, limits::kPageRowsMax);
    }
  }
  EXPECT_GT(refused, rounds / 10);
}

TEST(PageDamage, EnvelopeIsChecked) {
  const TableSchema schema = SmallSchema();
  const std::string page = Fields().Page();
  const auto message = [&schema](std::string_view bytes) {
    const Status status = DecodePage(schema, bytes, nullptr, nullptr).status();
    EXPECT_EQ(status.code(), StatusCode::kCorruption);
    return status.message();
  };
  EXPECT_EQ(message(""), "page: size of 0 bytes is too small for a checksum");
  EXPECT_EQ(message("12345678"), "page: size of 8 bytes is too small for a checksum");
  EXPECT_EQ(message(page.substr(1)),
            "page: field 'checksum' does not match the 19 bytes before it");
  EXPECT_EQ(message(std::string(limits::kPageBytesMax + 1, 'x')),
            "page: size of 16777217 bytes is beyond the limit of 16777216");
  Fields other;
  other.tag = Bytes({0xB1});
  EXPECT_EQ(message(other.Page()), "page: field 'tag' says that this is something else");
  other.tag = Bytes({0xA0});
  EXPECT_EQ(message(other.Page()),
            "page: field 'tag' says format 0, of before format 1 was frozen; read it with the "
            "version that wrote it");
  std::string dictionary = Bytes({0xC1, 0});
  segment_format::AppendChecksum(&dictionary);
  EXPECT_EQ(segment_format::CheckEnvelope(dictionary, segment_format::kDictionaryTag, "dictionary")
                .status()
                .message(),
            "dictionary: field 'tag' says a format that has no dictionaries");
  Fields newer;
  newer.tag = Bytes({0xA7});
  const Status status = DecodePage(schema, newer.Page(), nullptr, nullptr).status();
  EXPECT_EQ(status.code(), StatusCode::kTooNew);
  EXPECT_EQ(status.message(),
            "page: format 7 is newer than this build, which reads formats up to 2");
}

}  // namespace
}  // namespace cistern
