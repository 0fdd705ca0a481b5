// What is packed into LZ4 blocks, and unpacked by LZ4's own decoder.
#include "engine/cql/lz4_block.h"

#include <gtest/gtest.h>
#include <lz4.h>

#include <string>
#include <string_view>
#include <vector>

#include "engine/cql/lz4_search.h"
#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "tests/support/rng.h"

namespace cistern::cql {
namespace {

using testing::Rng;

std::string RandomBytes(Rng* rng, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(rng->Next()));
  return bytes;
}

// The block of Lz4Search, in a buffer of exactly `room` bytes; empty if it did not fit.
std::string Packed(std::string_view bytes, size_t room) {
  std::vector<char> out(room);
  Lz4Search search;
  const size_t size = search.Pack(bytes, out.data(), room);
  EXPECT_LE(size, room);
  return std::string(out.data(), size);
}

// What any block of so many bytes fits into.
size_t RoomFor(size_t size) {
  return static_cast<size_t>(LZ4_compressBound(static_cast<int>(size)));
}

void ExpectComesBack(std::string_view bytes) {
  const std::string block = Packed(bytes, RoomFor(bytes.size()));
  ASSERT_FALSE(block.empty()) << bytes.size();
  std::string unpacked(bytes.size(), '\0');
  ASSERT_EQ(LZ4_decompress_safe(block.data(), unpacked.data(), static_cast<int>(block.size()),
                                static_cast<int>(unpacked.size())),
            static_cast<int>(bytes.size()));
  ASSERT_TRUE(unpacked == bytes);
  ASSERT_EQ(Packed(bytes, RoomFor(bytes.size())), block);  // the same again
}

// Rows as a push has them: a part that stays, values that come back or are new, a time that
// rises; of one length, or with texts and missing cells.
std::string Rows(Rng* rng, size_t row_count, bool same_length) {
  const std::string constant = RandomBytes(rng, 1 + rng->Below(90));
  std::vector<std::string> values;
  for (int i = 0; i < 40; ++i) values.push_back(RandomBytes(rng, 8));
  std::string rows;
  for (size_t row = 0; row < row_count; ++row) {
    rows += constant;
    PutBig<int64_t>(&rows, 1'735'689'600'000 + static_cast<int64_t>(row) * 1000);
    for (int column = 0; column < 4; ++column) {
      if (!same_length && rng->OneIn(9)) {
        PutBig<int32_t>(&rows, -2);
        continue;
      }
      PutBig<int32_t>(&rows, 8);
      rows += rng->OneIn(5) ? RandomBytes(rng, 8) : values[rng->Below(values.size())];
    }
    if (!same_length) rows += std::string_view("a text of some length").substr(0, rng->Below(20));
  }
  return rows;
}

TEST(Lz4Search, EverySizeComesBack) {
  Rng rng(1);
  const std::string random = RandomBytes(&rng, 300);
  const std::string rows = Rows(&rng, 8, true);
  for (size_t size = 0; size <= 300; ++size) {
    ExpectComesBack(random.substr(0, size));
    ExpectComesBack(std::string(size, 'r'));
    ExpectComesBack(rows.substr(0, size));
  }
}

TEST(Lz4Search, RowsComeBack) {
  const uint64_t seed = testing::SeedFromEnv();
  SCOPED_TRACE("CISTERN_SEED=" + std::to_string(seed));
  Rng rng(seed);
  for (int round = 0; round < 300; ++round) {
    ExpectComesBack(Rows(&rng, rng.Below(600), rng.OneIn(2)));
  }
}

// Distances have 16 bits, and the table's places wrap around there.
TEST(Lz4Search, WhatIsFarAwayComesBack) {
  Rng rng(3);
  const std::string piece = RandomBytes(&rng, 3000);
  for (const size_t between : {62'000u, 62'535u, 62'536u, 62'537u, 65'535u, 65'536u, 130'000u}) {
    ExpectComesBack(piece + RandomBytes(&rng, between) + piece);
    ExpectComesBack(piece + std::string(between, '\0') + piece);
  }
}

TEST(Lz4Search, KeepsToItsRoom) {
  Rng rng(4);
  for (const std::string& bytes :
       {Rows(&rng, 40, true), Rows(&rng, 40, false), RandomBytes(&rng, 700), std::string(2000, 'r'),
        std::string(10, 'r')}) {
    const std::string block = Packed(bytes, RoomFor(bytes.size()));
    EXPECT_EQ(Packed(bytes, block.size()), block);
    // AddressSanitizer looks at what is written behind each of them.
    for (size_t room = 0; room < block.size(); ++room) EXPECT_EQ(Packed(bytes, room), "") << room;
  }
}

// Rows of one length whose values come back: what LZ4's own plain search is too short-sighted for.
TEST(Lz4Search, TakesFewerBytesThanThePlainSearch) {
  Rng rng(5);
  for (const bool same_length : {true, false}) {
    const std::string rows = Rows(&rng, 400, same_length);
    std::string plain(RoomFor(rows.size()), '\0');
    const int plain_bytes =
        LZ4_compress_default(rows.data(), plain.data(), static_cast<int>(rows.size()),
                             static_cast<int>(plain.size()));
    EXPECT_LT(Packed(rows, RoomFor(rows.size())).size() * 100,
              static_cast<size_t>(plain_bytes) * (same_length ? 92 : 100));
  }
}

// The same everywhere: a search that finds less, or other matches, is seen here.
TEST(Lz4Search, MakesThisVeryBlock) {
  Rng rng(7);
  const std::string block = Packed(Rows(&rng, 400, true), 100'000);
  EXPECT_EQ(block.size(), 8993u);
  EXPECT_EQ(Checksum(block), 9228334399160737272u);
}

TEST(Lz4Block, IsAppendedOnlyWhereItIsShorter) {
  Rng rng(6);
  for (const size_t size : {0u, 1u, 2u, 100u, 4095u, 4096u, 50'000u}) {
    std::string out = "before";
    EXPECT_FALSE(AppendLz4Block(RandomBytes(&rng, size), &out)) << size;
    EXPECT_EQ(out, "before");
  }
  for (const size_t size : {100u, 4095u, 4096u, 50'000u}) {
    const std::string bytes(size, 'x');
    std::string out = "before";
    ASSERT_TRUE(AppendLz4Block(bytes, &out)) << size;
    ASSERT_EQ(out.substr(0, 6), "before");
    std::string unpacked;
    ASSERT_TRUE(UnpackLz4Block(std::string_view(out).substr(6), size, &unpacked).ok());
    EXPECT_TRUE(unpacked == bytes);
  }
}

}  // namespace
}  // namespace cistern::cql
