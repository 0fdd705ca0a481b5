// Keys: their bytes, that their order is the order of what they name, and hostile ones.
#include "storage/keyspace.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/rng.h"

namespace cistern {
namespace {

using testing::Rng;

constexpr int kRounds = 20'000;

template <typename T>
T OneOf(Rng* random, const std::vector<T>& values) {
  return values[random->Below(values.size())];
}

// Values near one another and at the ends, so that every field decides now and then.
BucketKey RandomBucket(Rng* random) {
  static const std::vector<std::string> kEntities = {
      "", std::string(1, '\0'), std::string(2, '\0'), "a", std::string("a\0", 2), "a\xff", "ab",
      "b", "\xff", "\xff\xff", std::string(300, 'x')};
  BucketKey key;
  key.table_id = OneOf<uint32_t>(random, {0, 1, 2, 255, 256, 0x7fffffff, 0x80000000, UINT32_MAX});
  key.entity = OneOf(random, kEntities);
  key.start_s = OneOf<int64_t>(random, {INT64_MIN, INT64_MIN + 1, -256, -1, 0, 1, 255, 256,
                                        1'800'000'000, INT64_MAX});
  if (random->OneIn(2)) key.start_s = static_cast<int64_t>(random->Next());
  key.split = OneOf<uint32_t>(random, {0, 1, 255, 256, UINT16_MAX});
  return key;
}

// The order that KEYSPACE.md promises: shorter entities first, then by their bytes.
std::weak_ordering Order(const BucketKey& a, const BucketKey& b) {
  return std::tuple(a.table_id, a.entity.size(), a.entity, a.start_s, a.split) <=>
         std::tuple(b.table_id, b.entity.size(), b.entity, b.start_s, b.split);
}

TEST(Keyspace, BytesAreThoseOfTheSpecification) {
  const BucketKey key{0x01020304, "ab", -1, 0x0506};
  const std::string bucket("\x01\x02\x03\x04\x00\x02"
                           "ab\x7f\xff\xff\xff\xff\xff\xff\xff\x05\x06",
                           18);
  EXPECT_EQ(EncodeBucketKey(key), bucket);
  const std::string rotation("\0\0\0\0\0\0\1\2", 8);
  EXPECT_EQ(HeaderKey(0x102, key), rotation + "H" + bucket);
  EXPECT_EQ(HeadersEnd(0x102), rotation + "I");
  const uint64_t segment = uint64_t{0x102} << kSegmentIndexBits | 3;
  EXPECT_EQ(PageKey(segment, 0x04050607),
            rotation + "P" + std::string("\0\0\0\1\2\0\0\3", 8) + "\x04\x05\x06\x07");
  EXPECT_EQ(JournalKey(0x102), rotation);
  EXPECT_EQ(TableKey(0x102), std::string("T\0\0\1\2\0\0\0\0", 9));
  EXPECT_EQ(TableKey(1, 0x304), std::string("T\0\0\0\1\0\0\3\4", 9));
  EXPECT_EQ(BootKey(0x102), std::string("B\0\0\1\2", 5));
  EXPECT_EQ(SpillKey(0x102), "S" + rotation);
  EXPECT_EQ(WindowKey(0x102), "W" + rotation);
  EXPECT_EQ(OutboxKey(0x102, 0x102), "O" + rotation + rotation);
  EXPECT_TRUE(OutboxKey(0x102, 7).starts_with(OutboxKeyFrom(0x102)));
  EXPECT_EQ(PushKey(0x102), "P" + rotation);
  EXPECT_EQ(ParsePushKey(PushKey(0x102)), 0x102u);
  EXPECT_FALSE(ParsePushKey("P" + rotation + "x"));
  EXPECT_FALSE(ParsePushKey(WindowKey(0x102)));
  EXPECT_EQ(ManifestKey(0x102, key, 0x102), "M" + rotation + bucket + rotation);
}

TEST(Keyspace, BucketKeysComeBackAndKeepTheOrderOfTheirFields) {
  Rng random(1);
  for (int round = 0; round < kRounds; ++round) {
    const BucketKey a = RandomBucket(&random);
    const BucketKey b = RandomBucket(&random);
    const std::string a_bytes = EncodeBucketKey(a);
    ASSERT_EQ(DecodeBucketKey(a_bytes), a);
    ASSERT_EQ(a_bytes.compare(EncodeBucketKey(b)) <=> 0, Order(a, b)) << "round " << round;
  }
}

TEST(Keyspace, AnEntitysBucketsStandTogetherInOrderOfTime) {
  Rng random(2);
  for (int round = 0; round < kRounds; ++round) {
    const BucketKey key = RandomBucket(&random);
    const BucketKey other = RandomBucket(&random);
    const bool same = key.table_id == other.table_id && key.entity == other.entity;
    ASSERT_EQ(EncodeBucketKey(other).starts_with(EntityPrefix(key.table_id, key.entity)), same);
  }
}

TEST(Keyspace, EachRotationHasItsOwnRangeHeadersBeforePages) {
  Rng random(3);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t rotation = random.Below(uint64_t{1} << 40);
    const uint64_t index = random.Below(kSegmentIndexMask + 1);
    const std::string header = HeaderKey(rotation, RandomBucket(&random));
    const std::string page = PageKey(rotation << kSegmentIndexBits | index,
                                     static_cast<uint32_t>(random.Next()));
    ASSERT_LT(header, HeadersEnd(rotation));
    ASSERT_LT(HeadersEnd(rotation), page);
    ASSERT_LT(page, HeaderKeyFrom(rotation + 1, ""));
    ASSERT_EQ(RotationOf(rotation << kSegmentIndexBits | index), rotation);
  }
}

TEST(Keyspace, NumbersInKeysKeepTheirOrder) {
  Rng random(4);
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = random.Next() >> random.Below(64);
    const uint64_t b = random.OneIn(4) ? a + 1 : random.Next() >> random.Below(64);
    const auto order = a <=> b;
    ASSERT_EQ(ParseJournalKey(JournalKey(a)), a);
    ASSERT_EQ(JournalKey(a).compare(JournalKey(b)) <=> 0, order);
    ASSERT_EQ(SpillKey(a).compare(SpillKey(b)) <=> 0, order);
    ASSERT_EQ(PageKey(a, 7).compare(PageKey(b, 7)) <=> 0, order);
  }
}

TEST(Keyspace, EveryCutAndEveryWrongLengthIsNoKey) {
  const BucketKey key{7, "pump-17", 1'799'971'200, 3};
  const std::string bucket = EncodeBucketKey(key);
  const std::string header = HeaderKey(9, key);
  EXPECT_EQ(ParseHeaderKey(header), key);
  for (size_t cut = 0; cut < header.size(); ++cut) {
    EXPECT_EQ(ParseHeaderKey(header.substr(0, cut)), std::nullopt) << cut;
    EXPECT_EQ(DecodeBucketKey(bucket.substr(0, std::min(cut, bucket.size() - 1))), std::nullopt);
  }
  EXPECT_EQ(DecodeBucketKey(bucket + "x"), std::nullopt);
  EXPECT_EQ(ParseHeaderKey(header + "x"), std::nullopt);
  EXPECT_EQ(ParseHeaderKey(PageKey(9 << kSegmentIndexBits, 0)), std::nullopt);
  EXPECT_EQ(ParseHeaderKey(DictionaryKey(9 << kSegmentIndexBits, 0)), std::nullopt);
  for (size_t size = 0; size < 20; ++size) {
    EXPECT_EQ(ParseJournalKey(std::string(size, 'k')).has_value(), size == 8);
  }
  std::string lying = bucket;  // says that its entity is longer than the key
  lying[4] = lying[5] = '\xff';
  EXPECT_EQ(DecodeBucketKey(lying), std::nullopt);
}

// By window, then in the order of bucket keys, then by seal; and each names its bucket.
TEST(Keyspace, ManifestsStandByWindowBucketAndSeal) {
  Rng random(6);
  for (int round = 0; round < kRounds; ++round) {
    const BucketKey a = RandomBucket(&random);
    const BucketKey b = random.OneIn(2) ? a : RandomBucket(&random);
    const uint64_t window_a = random.Below(3);
    const uint64_t window_b = random.Below(3);
    const uint64_t seal_a = random.Next();
    const uint64_t seal_b = random.Next();
    const std::string key = ManifestKey(window_a, a, seal_a);
    const auto name = ParseManifestKey(key);
    ASSERT_TRUE(name);
    ASSERT_EQ(name->window_id, window_a);
    ASSERT_EQ(name->bucket, a);
    ASSERT_EQ(name->seal, seal_a);
    ASSERT_TRUE(key.starts_with(ManifestKeyFrom(window_a, EncodeBucketKey(a))));
    const auto order = std::tuple(window_a, EncodeBucketKey(a), seal_a) <=>
                       std::tuple(window_b, EncodeBucketKey(b), seal_b);
    ASSERT_EQ(key.compare(ManifestKey(window_b, b, seal_b)) <=> 0, order);
    ASSERT_EQ(ParseManifestKey(key.substr(0, key.size() - 1)), std::nullopt);
    ASSERT_EQ(ParseManifestKey(key.substr(0, random.Below(17))), std::nullopt);
  }
}

TEST(Keyspace, WhateverDecodesIsWhatItsBytesSay) {
  Rng random(5);
  int decoded = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string bytes = EncodeBucketKey(RandomBucket(&random));
    for (uint64_t flips = random.Below(4); flips > 0; --flips) {
      char& byte = bytes[random.Below(bytes.size())];
      byte = static_cast<char>(byte ^ (1 << random.Below(8)));
    }
    if (random.OneIn(4)) bytes.resize(random.Below(bytes.size() + 8));
    const auto key = DecodeBucketKey(bytes);
    if (!key) continue;
    ++decoded;
    ASSERT_EQ(EncodeBucketKey(*key), bytes);
  }
  EXPECT_GT(decoded, kRounds / 4);
}

}  // namespace
}  // namespace cistern
