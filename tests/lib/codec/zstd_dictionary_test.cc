// Trained dictionaries: what they save, what they refuse, and texts that name them.
#include "lib/codec/zstd_dictionary.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cistern/limits.h"
#include "lib/codec/integer_codec.h"
#include "lib/codec/text_codec.h"
#include "lib/codec/zstd_codec.h"
#include "tests/lib/codec/codec_test_util.h"
#include "tests/support/rng.h"
#include "tests/support/trained_lines.h"

namespace cistern {
namespace {

using testing::LogLine;
using testing::Rng;
using testing::TrainOnLogLines;

std::shared_ptr<const ZstdDictionary> Trained() {
  static const auto dictionary = ZstdDictionary::Make(TrainOnLogLines());
  EXPECT_TRUE(dictionary.ok()) << dictionary.status().ToString();
  return *dictionary;
}

// A store of one.
class OneDictionary final : public DictionarySource {
 public:
  static constexpr uint64_t kNumber = 300;
  [[nodiscard]] Result<std::shared_ptr<const ZstdDictionary>> Find(
      uint64_t number) const override {
    if (number == kNumber) return Trained();
    return Status::IoError("no such dictionary");
  }
};

std::vector<std::string> Lines(size_t count) {
  Rng rng(2);
  std::vector<std::string> lines;
  for (size_t i = 0; i < count; ++i) lines.push_back(LogLine(&rng));
  return lines;
}

TEST(ZstdDictionary, FramesAreSmallerAndComeBack) {
  std::string raw;
  for (const std::string& line : Lines(60)) raw += line;
  const std::string plain = ZstdCompress(raw, raw.size());
  const std::string frame = Trained()->Compress(raw, raw.size());
  ASSERT_FALSE(frame.empty());
  EXPECT_LT(frame.size(), plain.size() * 4 / 5);
  ByteReader in("", "test");
  std::string back = "before ";
  Trained()->Decompress(frame, raw.size(), "frame", &in, &back);
  EXPECT_TRUE(in.ok()) << in.status().ToString();
  EXPECT_EQ(back, "before " + raw);
  // The number is not in it, and it is no frame without the dictionary.
  ByteReader without("", "test");
  ZstdDecompress(frame, raw.size(), "frame", &without, &back);
  ExpectDamage(without.status(), "frame", "is a damaged zstd frame");
}

TEST(ZstdDictionary, FramesThatAreNotOnesAreDamage) {
  const std::string raw(500, 'q');
  const std::string frame = Trained()->Compress(raw, raw.size());
  const auto read = [](std::string_view bytes, size_t size) {
    ByteReader in(bytes, "test");
    std::string out;
    Trained()->Decompress(bytes, size, "frame", &in, &out);
    return in.status();
  };
  ASSERT_TRUE(read(frame, 500).ok());
  ExpectDamage(read(frame, 499), "frame", "is not a zstd frame of the expected content size");
  const std::string cut = frame.substr(0, frame.size() - 1);
  ExpectDamage(read(cut, 500), "frame", "is not one whole zstd frame");
  ExpectDamage(read(frame + "x", 500), "frame", "is not one whole zstd frame");
  // Flags of the frame's header: a dictionary's identifier of one byte follows.
  std::string named = frame;
  named[4] = static_cast<char>(named[4] | 1);
  named.insert(5, 1, '\x09');
  ExpectDamage(read(named, 500), "frame", "names a dictionary of its own");
}

TEST(ZstdDictionary, WhatIsNoDictionaryIsRefused) {
  const std::string bytes = TrainOnLogLines();
  ASSERT_GT(bytes.size(), 1000u);
  EXPECT_TRUE(ZstdDictionary::Make(bytes).ok());
  for (const std::string& other :
       {std::string(), std::string("no dictionary"), bytes.substr(1), bytes.substr(0, 8),
        bytes.substr(0, 40), bytes + std::string(limits::kDictionaryBytesMax, ' ')}) {
    EXPECT_EQ(ZstdDictionary::Make(other).status().code(), StatusCode::kCorruption);
  }
  EXPECT_EQ(ZstdDictionary::Make("").status().message(),
            "no dictionary of zstd of at most 65536 bytes");
  EXPECT_EQ(ZstdDictionary::Make(bytes.substr(0, 40)).status().message(),
            "not a dictionary of zstd");
  // Damage that a checksum would have told: refused, or another dictionary.
  std::string raw;
  for (const std::string& line : Lines(60)) raw += line;
  const std::string frame = Trained()->Compress(raw, raw.size());
  Rng rng(3);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = bytes;
    damaged[rng.Below(i % 2 == 0 ? 200 : bytes.size())] ^= static_cast<char>(1 + rng.Below(255));
    const auto made = ZstdDictionary::Make(damaged);
    if (!made.ok()) continue;
    ByteReader in("", "test");
    std::string out;
    (*made)->Decompress(frame, raw.size(), "frame", &in, &out);
    EXPECT_TRUE(!in.ok() || out.size() == raw.size());
  }
}

TEST(ZstdDictionary, TooFewSamplesTrainNone) {
  EXPECT_EQ(TrainDictionary("", {}), "");
  const std::vector<size_t> sizes = {3};
  EXPECT_EQ(TrainDictionary("abc", sizes), "");
}

TEST(TrainedText, NamesTheDictionaryWhereItServes) {
  const std::vector<std::string> lines = Lines(60);
  const std::vector<std::string_view> cells(lines.begin(), lines.end());
  std::string plain;
  std::string trained;
  const NumberedDictionary dictionary{OneDictionary::kNumber, Trained()};
  EXPECT_FALSE(EncodeText(cells, {}, &plain).has_dictionary);
  const TextEncoding encoding = EncodeText(cells, dictionary, &trained);
  EXPECT_TRUE(encoding.has_dictionary);
  EXPECT_LT(trained.size(), plain.size() * 4 / 5);
  ByteReader in(trained, "test");
  TextRun run;
  const OneDictionary dictionaries;
  DecodeText(encoding.id, cells.size(), 1 << 20, &dictionaries, &in, &run);
  ASSERT_TRUE(in.ok()) << in.status().ToString();
  EXPECT_EQ(in.remaining(), 0u);
  for (size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ(run.heap.substr(run.offsets[i], run.offsets[i + 1] - run.offsets[i]), lines[i]);
  }
  // Not for what is as small without, nor for more than a dictionary helps with.
  std::string bytes;
  const std::vector<std::string_view> ok(60, "OK");
  EXPECT_FALSE(EncodeText(ok, dictionary, &bytes).has_dictionary);
  const std::string noise(kDictionaryCellBytesMax + 1, 'x');
  const std::vector<std::string_view> large = {noise};
  EXPECT_FALSE(EncodeText(large, dictionary, &bytes).has_dictionary);
}

TEST(TrainedText, EveryCheckHasItsFixture) {
  const std::string raw(400, 'z');
  const std::string frame = Trained()->Compress(raw, raw.size());
  std::string lengths;
  EncodeIntegers(std::vector<int64_t>(4, 100), &lengths);
  std::string sized_frame;
  PutVarint(&sized_frame, frame.size());
  sized_frame += frame;
  struct Fixture {
    const char* name;
    std::string bytes;
    const char* field;
    const char* why;
  };
  const std::string right = Bytes({2, 0xac, 0x02});  // the form, number 300
  const Fixture fixtures[] = {
      {"no number", Bytes({2}), "dictionary", "runs past the end"},
      {"frame size beyond", right + Bytes({0xff, 0xff, 0xff, 0xff, 1}), "blob frame size",
       "is beyond its limit"},
      {"frame cut", right + Bytes({40, 1, 2}), "blob frame", "runs past the end"},
      {"form 3", Bytes({3}), "blob form", "is none that may be here"},
  };
  const OneDictionary dictionaries;
  const auto read = [&](const std::string& bytes) {
    ByteReader in(bytes, "test");
    TextRun run;
    DecodeText(EncodingId::kText, 4, 400, &dictionaries, &in, &run);
    return in.status();
  };
  EXPECT_TRUE(read(lengths + right + sized_frame).ok());
  for (const Fixture& f : fixtures) {
    SCOPED_TRACE(f.name);
    ExpectDamage(read(lengths + f.bytes), f.field, f.why);
  }
  // An error of the store is the store's.
  EXPECT_EQ(read(lengths + Bytes({2, 7}) + sized_frame).code(), StatusCode::kIoError);
}

}  // namespace
}  // namespace cistern
