#include "lib/codec/distinct_codec.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>

#include "lib/codec/codec_select.h"
#include "tests/lib/codec/codec_test_util.h"

namespace cistern {
namespace {

using Values = std::vector<int64_t>;

// Through the codec with entries in an encoding; its bytes, empty if it does not want the run.
std::string Try(const Values& values, CqlType type, EncodingId entries) {
  DistinctCodec codec;
  ColumnMemory memory;
  memory.entry_encoding = entries;
  if (!codec.Analyze({values, ShapeOf(type)}, memory)) return {};
  std::string bytes;
  codec.Encode(&bytes);
  EXPECT_EQ(bytes.size(), codec.Score());
  ByteReader in(bytes, "test");
  Values got(values.size());
  DecodeFixed(EncodingId::kDistinct, ShapeOf(type), &in, got);
  EXPECT_TRUE(in.ok()) << in.status().ToString();
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(got, values);
  return bytes;
}

TEST(DistinctCodec, FewValuesOfManyDigitsBecomeCodes) {
  std::mt19937_64 random(3);
  Values levels(20);
  for (int64_t& level : levels) {
    level = std::bit_cast<int64_t>(static_cast<double>(random()) / 3e15);
  }
  Values values(360);
  for (int64_t& v : values) v = levels[random() % levels.size()];
  EXPECT_LE(Try(values, CqlType::kDouble, EncodingId::kBits64).size(), 20u * 8 + 360 * 5 / 8 + 12);
  FixedEncoder encoder;
  ColumnMemory memory;
  std::string first, second;
  const FixedRun run{values, ShapeOf(CqlType::kDouble)};
  EXPECT_EQ(encoder.Encode(run, &memory, &first), EncodingId::kDistinct);
  EXPECT_EQ(encoder.Encode(run, &memory, &second), EncodingId::kDistinct);
  EXPECT_EQ(first, second) << "what is remembered gives the same";
}

TEST(DistinctCodec, OddValuesComeBack) {
  const Values odd = {0, std::numeric_limits<int64_t>::min(), -1, 0x7ff0000000000000,
                      0x7ff8000000000001, 1, std::bit_cast<int64_t>(0.1)};
  Values values;
  for (int i = 0; i < 40; ++i) values.insert(values.end(), odd.begin(), odd.end());
  for (const EncodingId entries :
       {EncodingId::kInteger, EncodingId::kDecimal64, EncodingId::kDecimal32,
        EncodingId::kPrinted32, EncodingId::kBits32, EncodingId::kBits64}) {
    Try(values, CqlType::kDouble, entries);
  }
  EXPECT_FALSE(Try(values, CqlType::kBigint, EncodingId::kInteger).empty());
  EXPECT_FALSE(Try(Values(9, 7), CqlType::kSmallint, EncodingId::kInteger).empty());
}

TEST(DistinctCodec, ManyDistinctValuesAreNotWanted) {
  Values values(100);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int64_t>(i * i * 7919);
  EXPECT_TRUE(Try(values, CqlType::kBigint, EncodingId::kInteger).empty());
  EXPECT_TRUE(Try({5}, CqlType::kBigint, EncodingId::kInteger).empty());
  EXPECT_TRUE(Try(Values(9, 7), CqlType::kBigint, EncodingId::kNone).empty());
}

}  // namespace
}  // namespace cistern
