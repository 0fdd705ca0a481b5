// Frames and their checksums against bytes that another driver and Cassandra's own code give.
#include "engine/cql/frame.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/cql/crc.h"
#include "engine/cql/lz4_block.h"
#include "tests/support/hex.h"
#include "tests/support/rng.h"

namespace cistern::cql {
namespace {

using testing::FromHex;
using testing::ToHex;

constexpr Compression kNone = Compression::kNone;
constexpr Compression kLz4 = Compression::kLz4;

std::string FrameOf(Compression compression, std::string_view payload, bool self_contained) {
  std::string out;
  AppendFrame(compression, payload, self_contained, &out);
  return out;
}

std::string RandomBytes(size_t count, uint64_t seed) {
  testing::Rng rng(seed);
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(rng.Next()));
  return bytes;
}

TEST(Crc, OfHeadersIsCassandras) {
  EXPECT_EQ(Crc24(FromHex("090002")), 0xc1c8a4u);
  EXPECT_EQ(Crc24(FromHex("ffff03")), 0x474025u);
  EXPECT_EQ(Crc24(FromHex("ffff01")), 0xfe9138u);
  EXPECT_EQ(Crc24(FromHex("2800c80004")), 0xbf0cd3u);
}

TEST(Crc, OfPayloadsBeginsWithCassandrasSeed) {
  EXPECT_EQ(FrameCrc32(""), 0x44777ed3u);
  EXPECT_EQ(FrameCrc32(FromHex("050000000500000000")), 0x4d288610u);
}

// The table of eight lanes and the one byte at a time must agree whatever the length.
TEST(Crc, OfPayloadsIsTheSameByteByByte) {
  const std::string bytes = RandomBytes(100, 1);
  for (size_t count = 0; count <= bytes.size(); ++count) {
    uint32_t state = 0xffffffff;
    for (const char c : FromHex("fa2d55ca") + bytes.substr(0, count)) {
      state ^= static_cast<uint8_t>(c);
      for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) * 0xedb88320u);
    }
    EXPECT_EQ(FrameCrc32(bytes.substr(0, count)), ~state) << count;
  }
}

TEST(Frame, IsAsCassandraWritesIt) {
  const std::string options = FromHex("050000000500000000");
  EXPECT_EQ(ToHex(FrameOf(kNone, options, true)), "090002a4c8c1" + ToHex(options) + "1086284d");
  EXPECT_EQ(ToHex(FrameOf(kLz4, options, true)), "0900000004c2b895" + ToHex(options) + "1086284d");
  EXPECT_EQ(ToHex(FrameOf(kNone, "", true)), "0000026a36c4d37e7744");
  const std::string query = FromHex(
      "0500000107000000260000001c53454c454354206b65792046524f4d2073797374656d2e6c6f63616c0001000000"
      "00");
  EXPECT_EQ(ToHex(FrameOf(kNone, query, true)), "2f0002acf306" + ToHex(query) + "e1f0de95");
  const std::string longest(kFramePayloadBytesMax, 'x');
  EXPECT_EQ(ToHex(FrameOf(kNone, longest, true).substr(0, 6)), "ffff03254047");
  EXPECT_EQ(ToHex(FrameOf(kNone, longest, false).substr(0, 6)), "ffff013891fe");
}

TEST(Frame, ComesBackAsItWasSent) {
  const std::string unpackable = RandomBytes(5000, 2);
  for (const Compression compression : {kNone, kLz4}) {
    for (const std::string& payload :
         {std::string(), std::string("a"), std::string(kFramePayloadBytesMax, 'r'), unpackable}) {
      for (const bool self_contained : {false, true}) {
        const std::string bytes = FrameOf(compression, payload, self_contained);
        const std::string stream = bytes + "next";
        std::string unpacked;
        const auto frame = ParseFrame(compression, stream, &unpacked);
        ASSERT_TRUE(frame.ok()) << frame.status().ToString();
        ASSERT_TRUE(frame->has_value());
        EXPECT_EQ((*frame)->payload, payload);
        EXPECT_EQ((*frame)->self_contained, self_contained);
        EXPECT_EQ((*frame)->frame_bytes, bytes.size());
      }
    }
  }
  EXPECT_LT(FrameOf(kLz4, std::string(kFramePayloadBytesMax, 'r'), true).size(), 1000u);
  EXPECT_EQ(FrameOf(kLz4, unpackable, true).size(), 8 + unpackable.size() + 4);
}

TEST(Frame, WaitsForItsLastByte) {
  for (const Compression compression : {kNone, kLz4}) {
    const std::string bytes = FrameOf(compression, std::string(300, 'r'), true);
    for (size_t count = 0; count < bytes.size(); ++count) {
      std::string unpacked;
      const auto frame = ParseFrame(compression, bytes.substr(0, count), &unpacked);
      ASSERT_TRUE(frame.ok()) << count;
      EXPECT_FALSE(frame->has_value()) << count;
    }
  }
}

TEST(Frame, NoFlippedBitIsTaken) {
  for (const Compression compression : {kNone, kLz4}) {
    std::string bytes = FrameOf(compression, std::string(200, 'r') + "tail", true);
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
      std::string unpacked;
      const auto frame = ParseFrame(compression, bytes, &unpacked);
      ASSERT_FALSE(frame.ok()) << bit;
      EXPECT_EQ(frame.status().code(), StatusCode::kCorruption);
      bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    }
  }
}

TEST(Lz4Block, TakesOnlyTheLengthThatItHas) {
  const std::string bytes(1000, 'r');
  std::string block;
  ASSERT_TRUE(AppendLz4Block(bytes, &block));
  std::string unpacked;
  ASSERT_TRUE(UnpackLz4Block(block, bytes.size(), &unpacked).ok());
  EXPECT_EQ(unpacked, bytes);
  for (const size_t wrong : {size_t{0}, size_t{1}, bytes.size() - 1, bytes.size() + 1}) {
    EXPECT_EQ(UnpackLz4Block(block, wrong, &unpacked).code(), StatusCode::kCorruption) << wrong;
  }
}

TEST(Lz4Block, AllocatesNothingForWhatCannotBe) {
  std::string unpacked;
  EXPECT_EQ(UnpackLz4Block("abc", size_t{1} << 30, &unpacked).code(), StatusCode::kCorruption);
  EXPECT_LT(unpacked.capacity(), 1000u);
}

TEST(Lz4Block, LeavesWhatDoesNotShrink) {
  std::string out = "kept";
  EXPECT_FALSE(AppendLz4Block("", &out));
  EXPECT_FALSE(AppendLz4Block("a", &out));
  EXPECT_FALSE(AppendLz4Block(RandomBytes(500, 3), &out));
  EXPECT_EQ(out, "kept");
}

}  // namespace
}  // namespace cistern::cql
