#include "lib/base/coding.h"

#include <gtest/gtest.h>

namespace cistern {
namespace {

TEST(Coding, VarintsRoundTripAtEveryWidth) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t v : {(uint64_t{1} << bit) - 1, uint64_t{1} << bit, ~(uint64_t{1} << bit)}) {
      std::string bytes;
      PutVarint(&bytes, v);
      PutSigned(&bytes, static_cast<int64_t>(v));
      ByteReader in(bytes, "test");
      EXPECT_EQ(in.ReadVarint("u"), v);
      EXPECT_EQ(in.ReadSigned("s"), static_cast<int64_t>(v));
      EXPECT_TRUE(in.ok());
      EXPECT_EQ(in.remaining(), 0u);
    }
  }
}

// Eight bytes are looked at together where there are so many.
TEST(Coding, WhatFollowsAVarintIsNotOfIt) {
  for (const char next : {'\0', '\x7f', '\xff'}) {
    for (size_t behind = 0; behind < 10; ++behind) {
      for (int bit = 0; bit < 64; ++bit) {
        std::string bytes;
        PutVarint(&bytes, uint64_t{1} << bit);
        bytes.append(behind, next);
        ByteReader in(bytes, "test");
        EXPECT_EQ(in.ReadVarint("u"), uint64_t{1} << bit);
        EXPECT_EQ(in.remaining(), behind);
      }
    }
  }
}

TEST(Coding, ReaderNamesTheFieldThatRunsPastTheEnd) {
  ByteReader in("abc", "page");
  EXPECT_EQ(in.ReadU16("rows"), 0x6261);
  EXPECT_EQ(in.ReadU32("columns"), 0u);
  EXPECT_EQ(in.status().code(), StatusCode::kCorruption);
  EXPECT_NE(in.status().message().find("'columns' at byte 2 of 3"), std::string::npos);
  EXPECT_EQ(in.ReadU8("later"), 0);  // stays failed
}

TEST(Coding, OverlongVarintIsCorruption) {
  const std::string bytes(11, '\xff');
  ByteReader in(bytes, "page");
  (void)in.ReadVarint("count");
  EXPECT_FALSE(in.ok());
}

TEST(Coding, BigAndLittleEndianAreWhatTheySay) {
  std::string out;
  PutBig<uint32_t>(&out, 0x01020304);
  PutLittle<uint32_t>(&out, 0x01020304);
  EXPECT_EQ(out, std::string("\1\2\3\4\4\3\2\1"));
  EXPECT_EQ(GetBig<uint32_t>(out.data()), 0x01020304u);
  EXPECT_EQ(GetLittle<uint32_t>(out.data() + 4), 0x01020304u);
}

}  // namespace
}  // namespace cistern
