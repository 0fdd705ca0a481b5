// Trained dictionaries as stored values: they come back, and every check has its fixture.
#include "lib/segment/dictionary_value.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "cistern/limits.h"
#include "lib/segment/segment_format.h"
#include "tests/lib/codec/codec_test_util.h"
#include "tests/support/trained_lines.h"

namespace cistern {
namespace {

using testing::TrainOnLogLines;

constexpr uint64_t kNumber = 7001ull << 24 | 3;

const std::string& Content() {
  static const std::string bytes = TrainOnLogLines();
  return bytes;
}

std::string Varint(uint64_t value) {
  std::string out;
  PutVarint(&out, value);
  return out;
}

std::string Checked(std::string body) {
  segment_format::AppendChecksum(&body);
  return body;
}

std::string Unchecked(std::string_view value) {
  return std::string(value.substr(0, value.size() - segment_format::kChecksumBytes));
}

// A value as its fields, so that each can be replaced.
struct Fields {
  std::string tag = Bytes({0xC2});
  std::string number = Varint(kNumber);
  std::string size = Varint(Content().size());
  std::string content = Content();
  std::string tail;

  [[nodiscard]] std::string Value() const { return Checked(tag + number + size + content + tail); }
};

Status Read(std::string_view value) { return DecodeDictionary(kNumber, value).status(); }

TEST(DictionaryValue, ComesBackUnderItsNumber) {
  const auto dictionary = ZstdDictionary::Make(Content());
  ASSERT_TRUE(dictionary.ok()) << dictionary.status().ToString();
  for (const uint64_t number : {uint64_t{0}, uint64_t{127}, uint64_t{128}, kNumber, UINT64_MAX}) {
    const std::string value = EncodeDictionary(number, **dictionary);
    const auto got = DecodeDictionary(number, value);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ((*got)->bytes(), Content());
  }
  EXPECT_EQ(EncodeDictionary(kNumber, **dictionary), Fields().Value());
}

TEST(DictionaryValue, TheGreatestComesBack) {
  // What follows the tables of entropy is content, whatever it is.
  std::string bytes = Content();
  bytes.resize(limits::kDictionaryBytesMax, 'x');
  const auto dictionary = ZstdDictionary::Make(bytes);
  ASSERT_TRUE(dictionary.ok()) << dictionary.status().ToString();
  const auto got = DecodeDictionary(kNumber, EncodeDictionary(kNumber, **dictionary));
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ((*got)->bytes(), bytes);
}

TEST(DictionaryValue, EveryCheckHasItsFixture) {
  struct Fixture {
    const char* name;
    std::string Fields::* where;
    std::string bytes;
    const char* field;
    const char* why;
  };
  using F = Fields;
  const std::string beyond = Varint(limits::kDictionaryBytesMax + 1);
  const Fixture fixtures[] = {
      {"tag of a page", &F::tag, Bytes({0xA2}), "tag", "says that this is something else"},
      {"tag of a header", &F::tag, Bytes({0xB1}), "tag", "says that this is something else"},
      {"format 1", &F::tag, Bytes({0xC1}), "tag", "says a format that has no dictionaries"},
      {"another number", &F::number, Varint(kNumber + 1), "number", "is that of another one"},
      {"size beyond", &F::size, beyond, "size", "is beyond its limit"},
      {"content cut", &F::content, Content().substr(1), "content", "runs past the end"},
      {"bytes behind", &F::tail, Bytes({0}), "end", "is not where the fields end"},
  };
  for (const Fixture& f : fixtures) {
    SCOPED_TRACE(f.name);
    Fields fields;
    fields.*f.where = f.bytes;
    ExpectDamage(Read(fields.Value()), f.field, f.why);
  }
}

TEST(DictionaryValue, TheLimitOfItsSizeIsCheckedBeforeItsContent) {
  Fields fields;
  fields.size = Varint(limits::kDictionaryBytesMax + 1);
  fields.content.resize(limits::kDictionaryBytesMax + 1, 'x');
  ExpectDamage(Read(fields.Value()), "size", "is beyond its limit");
  fields.size = Varint(limits::kDictionaryBytesMax);
  fields.content = Content();
  ExpectDamage(Read(fields.Value()), "content", "runs past the end");
}

TEST(DictionaryValue, WhatIsNoDictionaryIsDamage) {
  for (const std::string& other : {std::string(), std::string("no dictionary"),
                                   Content().substr(1), Content().substr(0, 40)}) {
    Fields fields;
    fields.size = Varint(other.size());
    fields.content = other;
    EXPECT_EQ(Read(fields.Value()).code(), StatusCode::kCorruption) << other.size();
  }
}

TEST(DictionaryValue, ALaterFormatIsTooNew) {
  for (const int tag : {0xC3, 0xCF}) {
    Fields fields;
    fields.tag = Bytes({tag});
    EXPECT_EQ(Read(fields.Value()).code(), StatusCode::kTooNew);
  }
}

TEST(DictionaryValue, EveryTruncationIsNoticed) {
  const std::string value = Fields().Value();
  for (size_t size = 0; size < value.size(); ++size) {
    ASSERT_EQ(Read(value.substr(0, size)).code(), StatusCode::kCorruption) << size;
  }
  // With a new checksum the fields themselves must notice.
  const std::string body = Unchecked(value);
  for (size_t size = 1; size < body.size(); ++size) {
    ASSERT_EQ(Read(Checked(body.substr(0, size))).code(), StatusCode::kCorruption) << size;
  }
}

TEST(DictionaryValue, FlippedBitsAreNoticed) {
  std::string value = Fields().Value();
  for (size_t bit = 0; bit < value.size() * 8; ++bit) {
    const auto flip = static_cast<char>(1 << (bit % 8));
    value[bit / 8] = static_cast<char>(value[bit / 8] ^ flip);
    ASSERT_EQ(Read(value).code(), StatusCode::kCorruption) << bit;
    value[bit / 8] = static_cast<char>(value[bit / 8] ^ flip);
  }
  ASSERT_TRUE(Read(value).ok());
}

TEST(DictionaryValue, FlippedBitsOfTheFieldsAreNoticedUnderARightChecksum) {
  const std::string body = Unchecked(Fields().Value());
  const size_t fields_end = body.size() - Content().size();
  for (size_t bit = 0; bit < fields_end * 8; ++bit) {
    std::string flipped = body;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const StatusCode code = Read(Checked(flipped)).code();
    const bool is_format = bit < 4;
    EXPECT_TRUE(code == StatusCode::kCorruption || (is_format && code == StatusCode::kTooNew))
        << bit;
  }
}

}  // namespace
}  // namespace cistern
