// The bytes of the format do not change by accident: the worked example of FORMAT.md, and
// a page of every encoding that does not depend on the version of libzstd. Any compiler
// and optimisation level writes the same.
#include <gtest/gtest.h>

#include <bit>

#include "lib/base/checksum.h"
#include "lib/segment/page_builder.h"
#include "lib/segment/page_reader.h"
#include "lib/segment/segment_header.h"
#include "tests/lib/codec/codec_test_util.h"
#include "tests/lib/segment/page_test_util.h"

namespace cistern {
namespace {

constexpr int64_t kStartMs = 1'721'900'000'000;

TEST(Golden, WorkedExampleOfFormatMd) {
  const TableSchema schema = MakeSchema({CqlType::kTimestamp}, {CqlType::kDouble, CqlType::kText});
  VersionColumns rows = VersionColumns::For(schema);
  const double temperatures[] = {21.5, 21.6, 21.4, 21.5};
  for (int64_t i = 0; i < 4; ++i) {
    rows.write_us.push_back((kStartMs + 1000 * i) * 1000 + 250);
    rows.flags.push_back(kVersionLiveness);
    rows.columns[2].AppendFixed(kStartMs + 1000 * i);
    rows.columns[3].AppendFixed(std::bit_cast<int64_t>(temperatures[i]));
    if (i == 2) {
      rows.columns[4].AppendMissing(CellState::kAbsent);
    } else {
      rows.columns[4].AppendBytes("OK");
    }
  }
  rows.row_count = 4;
  const std::string page = Bytes({
      0xa1, 0x08, 0x04, 0x03, 0x00, 0xf4, 0x03, 0x01, 0x01, 0x09, 0x01, 0x80, 0x8c,
      0xe7, 0x93, 0x9d, 0x64, 0xd0, 0x0f, 0x02, 0x05, 0x01, 0x20, 0xac, 0x03, 0x49,
      0x28, 0x10, 0x00, 0x04, 0x08, 0x01, 0x00, 0x04, 0x00, 0x4f, 0x4b, 0x00, 0x00,
      0xf6, 0x04, 0x7f, 0x54, 0xb8, 0xd5, 0x2d, 0x99});
  EXPECT_EQ(EncodePage(schema, rows, 0, 4, nullptr), page);
  const Result<VersionColumns> got = DecodePage(schema, page, nullptr);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  ExpectSameRows(schema, *got, rows, 0, 4);

  SegmentHeader h;
  h.schema_version = 1;
  h.journal_first = 7000;
  h.journal_last = 7003;
  h.row_count = 4;
  h.first_time = kStartMs;
  h.last_time = kStartMs + 3000;
  h.pages.push_back({4, static_cast<uint32_t>(page.size()), h.first_time, h.last_time});
  h.deletes.push_back({kStartMs, kStartMs + 2000, 1'721'900'060'000'000, 0});
  EXPECT_EQ(EncodeSegmentHeader(h),
            Bytes({0xb1, 0x01, 0xd8, 0x36, 0x03, 0x80, 0x8c, 0xe7, 0x93, 0x9d, 0x64, 0xb8, 0x17,
                   0x01, 0x04, 0x2f, 0x00, 0x00, 0x01, 0x00, 0x00, 0xd0, 0x0f, 0x80, 0xfc, 0xd1,
                   0x96, 0xe3, 0x83, 0x8f, 0x06, 0x32, 0x10, 0x29, 0x54, 0x92, 0xaa, 0x9e, 0x36}));
}

// Numbers from a recurrence that is the same everywhere.
class Steps {
 public:
  int64_t Below(uint64_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<int64_t>((state_ >> 33) % bound);
  }

 private:
  uint64_t state_ = 42;
};

TEST(Golden, BytesAreTheSameForEveryCompiler) {
  const TableSchema schema =
      MakeSchema({CqlType::kTimestamp, CqlType::kInt},
                 {CqlType::kDouble, CqlType::kDouble, CqlType::kDouble, CqlType::kDouble,
                  CqlType::kFloat, CqlType::kFloat, CqlType::kBigint, CqlType::kBoolean,
                  CqlType::kText, CqlType::kTimeuuid, CqlType::kDouble});
  VersionColumns rows = VersionColumns::For(schema);
  Steps steps;
  double level = 20;
  for (int64_t i = 0; i < 300; ++i) {
    rows.write_us.push_back((kStartMs + 500 * i) * 1000 + steps.Below(3000));
    rows.expiry_s.push_back(static_cast<uint32_t>(rows.write_us.back() / 1'000'000 + 3600));
    rows.flags.push_back(steps.Below(30) == 0 ? 0 : 1);
    std::vector<ColumnData>& c = rows.columns;
    c[2].AppendFixed(kStartMs + 500 * i);
    c[3].AppendFixed(steps.Below(4));
    level += static_cast<double>(steps.Below(1000) - 500) / 997;
    c[4].AppendFixed(std::bit_cast<int64_t>(level));
    c[5].AppendFixed(std::bit_cast<int64_t>(static_cast<double>(steps.Below(90'000)) / 1000));
    c[6].AppendFixed(std::bit_cast<int64_t>(static_cast<double>(static_cast<float>(level))));
    const double scaled = i % 50 == 7 ? -0.0 : 0.0625 * static_cast<double>(steps.Below(9));
    c[7].AppendFixed(std::bit_cast<int64_t>(scaled));
    c[8].AppendFixed(std::bit_cast<uint32_t>(static_cast<float>(steps.Below(9999)) / 100));
    c[9].AppendFixed(std::bit_cast<uint32_t>(static_cast<float>(level)));
    c[10].AppendFixed(i % 90 == 3 ? steps.Below(uint64_t{1} << 31) << 20 : steps.Below(50));
    c[11].AppendFixed(i / 40 % 2);
    c[12].AppendBytes(steps.Below(5) == 0 ? "warn" : "ok");
    std::string uuid(16, 'n');
    uuid[3] = static_cast<char>(i);
    uuid[2] = static_cast<char>(i >> 8);
    c[13].AppendBytes(uuid);
    if (steps.Below(3) == 0) c[14].AppendMissing(CellState::kNull);
    else c[14].AppendFixed(std::bit_cast<int64_t>(1e-3 * static_cast<double>(steps.Below(100))));
  }
  rows.row_count = 300;
  const std::string page = EncodePage(schema, rows, 0, 300, nullptr);
  const Result<VersionColumns> got = DecodePage(schema, page, nullptr);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  ExpectSameRows(schema, *got, rows, 0, 300);
  // Changes only with the format or the choices of the codecs: then on purpose, here and
  // (for the format) in FORMAT.md.
  EXPECT_EQ(page.size(), 6090u);
  EXPECT_EQ(Checksum(page), 4666501183729304238u);
}

}  // namespace
}  // namespace cistern
