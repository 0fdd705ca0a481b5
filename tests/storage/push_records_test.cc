// What is remembered of pushes: both states, their limits, and a server's words. Cuts and flipped
// bits are those of every record: meta_records_test.cc.
#include "storage/push_records.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "cistern/limits.h"
#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "lib/cql/wire_value.h"
#include "storage/record_coding.h"

namespace cistern {
namespace {

PushRecord Parked() {
  PushRecord r;
  r.state = PushState::kParked;
  r.window_id = UINT64_MAX;
  r.bucket = {UINT32_MAX, std::string(limits::kEntityKeyBytesMax, 'e'), INT64_MIN, UINT16_MAX};
  r.version_count = UINT64_MAX;
  r.parked_us = INT64_MAX;
  r.attempts = UINT32_MAX;
  r.error_code = INT32_MIN;
  r.words = std::string(limits::kParkedWordsBytesMax, 'w');
  return r;
}

PushRecord Pushing() {
  PushRecord r = Parked();
  r.state = PushState::kPushing;
  r.position = std::string(limits::kPushPositionBytesMax, '\0');
  r.parked_us = 0;
  r.attempts = 0;
  r.error_code = 0;
  r.words.clear();
  return r;
}

void ExpectRefused(const PushRecord& record, const std::string& field) {
  const Status s = DecodePush(EncodePush(record)).status();
  EXPECT_EQ(s.code(), StatusCode::kCorruption) << field;
  EXPECT_NE(s.message().find(field), std::string::npos) << s.message();
}

TEST(PushRecords, EveryFieldOfAStateComesBack) {
  for (const PushRecord& record : {Parked(), Pushing()}) {
    const auto back = DecodePush(EncodePush(record));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(*back, record);
  }
}

TEST(PushRecords, FieldsOfTheOtherStateAreNotStored) {
  PushRecord both = Parked();
  both.position = "here";
  EXPECT_EQ(*DecodePush(EncodePush(both)), Parked());
  both.state = PushState::kPushing;
  EXPECT_EQ(DecodePush(EncodePush(both))->words, "");
  EXPECT_EQ(DecodePush(EncodePush(both))->position, "here");
}

TEST(PushRecords, WhatIsBeyondALimitIsRefused) {
  PushRecord record = Parked();
  record.words += 'w';
  ExpectRefused(record, "words");
  record = Pushing();
  record.position += 'p';
  ExpectRefused(record, "position");
  record.bucket.entity += 'e';
  ExpectRefused(record, "bucket");
  for (const int state : {0, 3, 255}) {
    record = Parked();
    record.state = static_cast<PushState>(state);
    ExpectRefused(record, "state");
  }
}

// A right checksum over a bucket that is none, and an error code of more than 32 bits.
TEST(PushRecords, FieldsThatLieAreRefused) {
  const auto decode = [](const std::string& bucket, int64_t error_code) {
    std::string bytes = record_coding::Begin();
    bytes.push_back(static_cast<char>(PushState::kParked));
    PutVarint(&bytes, 7);
    record_coding::PutString(&bytes, bucket);
    PutVarint(&bytes, 9);
    PutSigned(&bytes, 1);
    PutVarint(&bytes, 2);
    PutSigned(&bytes, error_code);
    record_coding::PutString(&bytes, "why");
    return DecodePush(record_coding::Sealed(std::move(bytes)));
  };
  const std::string bucket = EncodeBucketKey({1, "a", 0, 0});
  const auto whole = decode(bucket, INT32_MAX);
  ASSERT_TRUE(whole.ok()) << whole.status().ToString();
  EXPECT_EQ(whole->words, "why");
  EXPECT_EQ(decode(bucket, int64_t{INT32_MAX} + 1).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(decode(bucket, int64_t{INT32_MIN} - 1).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(decode(bucket + "x", 0).status().code(), StatusCode::kCorruption);
  EXPECT_EQ(decode("", 0).status().code(), StatusCode::kCorruption);
}

TEST(PushRecords, WordsAreCutBetweenTwoCharacters) {
  constexpr size_t kMax = limits::kParkedWordsBytesMax;
  EXPECT_EQ(KeptWords(""), "");
  EXPECT_EQ(KeptWords(std::string(kMax, 'x')).size(), kMax);
  EXPECT_EQ(KeptWords(std::string(kMax + 1, 'x')).size(), kMax);
  for (const std::string character : {"\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x9a\xb0"}) {
    for (size_t before = kMax - 6; before <= kMax; ++before) {
      const std::string words = std::string(before, 'x') + character + character + character;
      const std::string_view kept = KeptWords(words);
      EXPECT_TRUE(IsUtf8(kept)) << before << " before " << character;
      EXPECT_LE(kept.size(), kMax);
      EXPECT_GT(kept.size() + character.size(), kMax) << "no more than one character is lost";
    }
  }
  EXPECT_EQ(KeptWords(std::string(2 * kMax, '\x80')).size(), kMax) << "not UTF-8";
}

}  // namespace
}  // namespace cistern
