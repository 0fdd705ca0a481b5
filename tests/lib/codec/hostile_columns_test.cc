// Columns made to be bad for the codecs: none grows by more than 2 % or 16 bytes, every bit comes
// back, and the bytes are the same from every compiler, optimised or not.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "lib/base/checksum.h"
#include "lib/codec/codec_select.h"
#include "lib/codec/text_codec.h"
#include "tests/support/rng.h"

namespace cistern {
namespace {

using Values = std::vector<int64_t>;
using testing::Rng;

// Doubles that are no decimals: NaN payloads, infinities, denormals, zeros of both signs.
const Values& OddDoubles() {
  static const Values values = {
      std::bit_cast<int64_t>(0.0), std::bit_cast<int64_t>(-0.0), 0x7ff0000000000000,
      static_cast<int64_t>(0xfff0000000000000), 0x7ff8000000000000, 0x7ff0000000000001,
      static_cast<int64_t>(0xfff8dead0000beef), 1, static_cast<int64_t>(0x8000000000000001),
      0x000fffffffffffff, 0x0010000000000000, 0x7fefffffffffffff,
      std::bit_cast<int64_t>(9007199254740993.0), std::bit_cast<int64_t>(1e22),
      std::bit_cast<int64_t>(0.1), -1};
  return values;
}

constexpr int kKindCount = 12;

// One column of a kind: what a codec is good at with something in it that it is not.
Values Column(int kind, size_t count, Rng* random) {
  Values values(count);
  const auto scale = static_cast<double>(random->Between(1, 100'000));
  double level = static_cast<double>(random->Between(-1'000'000, 1'000'000)) / scale;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t r = random->Next();
    const auto decimal = static_cast<double>(random->Between(-5000, 5000)) / 100;
    level += static_cast<double>(random->Between(-500, 500)) / 997;
    switch (kind) {
      case 0: values[i] = static_cast<int64_t>(r); break;
      case 1: values[i] = OddDoubles()[r % OddDoubles().size()]; break;
      case 2: values[i] = std::bit_cast<int64_t>(decimal); break;
      case 3: values[i] = std::bit_cast<int64_t>(level); break;
      case 4: values[i] = std::bit_cast<int64_t>(double{static_cast<float>(level)}); break;
      case 5:
        values[i] = r % 2 == 0 ? std::bit_cast<int64_t>(decimal) : static_cast<int64_t>(r);
        break;
      case 6:
        values[i] = r % 9 == 0 ? OddDoubles()[r / 9 % OddDoubles().size()]
                               : std::bit_cast<int64_t>(decimal);
        break;
      case 7: values[i] = static_cast<int64_t>(r >> (i % 64)); break;
      case 8:
        values[i] = static_cast<int64_t>(r % 3);
        values[i] = i % 2 == 0 ? std::numeric_limits<int64_t>::min() + values[i]
                               : std::numeric_limits<int64_t>::max() - values[i];
        break;
      case 9: values[i] = i > 0 && r % 4 != 0 ? values[i - 1] : static_cast<int64_t>(r); break;
      case 10: values[i] = i >= 7 && r % 5 != 0 ? values[i - 7] : static_cast<int64_t>(r); break;
      default: values[i] = std::bit_cast<int64_t>(decimal * 1e300 / (r % 3 == 0 ? 0.0 : 1e10));
    }
  }
  return values;
}

// The values as the type has them.
void Narrow(CqlType type, Values* values) {
  for (int64_t& v : *values) {
    switch (type) {
      case CqlType::kBoolean: v &= 1; break;
      case CqlType::kTinyint: v = static_cast<int8_t>(v); break;
      case CqlType::kSmallint: v = static_cast<int16_t>(v); break;
      case CqlType::kInt: v = static_cast<int32_t>(v); break;
      case CqlType::kFloat: v = static_cast<int64_t>(static_cast<uint32_t>(v >> 29)); break;
      default: break;
    }
  }
}

constexpr CqlType kTypes[] = {CqlType::kBoolean, CqlType::kTinyint, CqlType::kSmallint,
                              CqlType::kInt,     CqlType::kBigint,  CqlType::kTimestamp,
                              CqlType::kFloat,   CqlType::kDouble};

// Encodes, checks size and bits; gives the encoding and the bytes.
std::string Encoded(const Values& values, CqlType type, ColumnMemory* memory) {
  FixedEncoder encoder;
  const NumberShape shape = ShapeOf(type);
  std::string bytes;
  const EncodingId id = encoder.Encode({values, shape}, memory, &bytes);
  const size_t raw_bytes = values.size() * shape.byte_width;
  EXPECT_LE(bytes.size(), raw_bytes + std::max<size_t>(raw_bytes / 50, 16));
  ByteReader in(bytes, "test");
  Values back(values.size());
  DecodeFixed(id, shape, &in, back);
  EXPECT_TRUE(in.ok()) << in.status().ToString();
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(back, values);
  bytes.insert(bytes.begin(), static_cast<char>(id));
  return bytes;
}

TEST(HostileColumns, NeverGrowByMoreThanTwoPercentOrSixteenBytes) {
  Rng random(21);
  for (const size_t count : {1u, 2u, 3u, 17u, 60u, 360u, 1800u, 4096u}) {
    for (const CqlType type : kTypes) {
      for (int kind = 0; kind < kKindCount; ++kind) {
        SCOPED_TRACE(::testing::Message() << count << " values, type " << static_cast<int>(type)
                                          << ", kind " << kind);
        ColumnMemory memory;
        for (int page = 0; page < 2; ++page) {
          Values values = Column(kind, count, &random);
          Narrow(type, &values);
          Encoded(values, type, &memory);
        }
        // What is remembered of one kind meets another.
        Values other = Column((kind + 1) % kKindCount, count, &random);
        Narrow(type, &other);
        Encoded(other, type, &memory);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(HostileColumns, TextNeverGrowsByMoreThanItsLengths) {
  Rng random(22);
  for (const size_t count : {1u, 17u, 360u, 4096u}) {
    for (const uint64_t alphabet : {1u, 2u, 26u, 256u}) {
      std::vector<std::string> cells(count);
      size_t raw_bytes = 0;
      for (std::string& cell : cells) {
        cell.resize(random.Below(20));
        for (char& c : cell) c = static_cast<char>(random.Below(alphabet));
        raw_bytes += cell.size() + 1;  // a length of one byte
      }
      const std::vector<std::string_view> views(cells.begin(), cells.end());
      std::string bytes;
      const EncodingId id = EncodeText(views, {}, &bytes).id;
      EXPECT_LE(bytes.size(), raw_bytes + std::max<size_t>(raw_bytes / 50, 16))
          << count << " cells of " << alphabet << " letters";
      ByteReader in(bytes, "test");
      TextRun run;
      DecodeText(id, count, raw_bytes, nullptr, &in, &run);
      ASSERT_TRUE(in.ok()) << in.status().ToString();
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(run.heap.substr(run.offsets[i], run.offsets[i + 1] - run.offsets[i]), cells[i]);
      }
    }
  }
}

// One digest for g++ at -O3 and for clang without optimisation and with sanitizers, which both
// run this. zstd's frames are left out: they may differ between versions of the library.
TEST(HostileColumns, BytesAreTheSameForEveryCompiler) {
  Rng random(23);
  std::string all;
  for (const CqlType type : kTypes) {
    for (int kind = 0; kind < kKindCount; ++kind) {
      ColumnMemory memory;
      for (const size_t count : {1u, 60u, 360u, 360u, 1800u}) {
        Values values = Column(kind, count, &random);
        Narrow(type, &values);
        const std::string bytes = Encoded(values, type, &memory);
        if (static_cast<EncodingId>(bytes[0]) != EncodingId::kRawZstd) all += bytes;
      }
    }
  }
  // Changes with the format or the choices of the codecs: then on purpose.
  EXPECT_EQ(all.size(), 444059u);
  EXPECT_EQ(Checksum(all), 2951484390367971717u);
}

}  // namespace
}  // namespace cistern
