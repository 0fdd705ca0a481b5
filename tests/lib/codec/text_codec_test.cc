#include "lib/codec/text_codec.h"

#include <gtest/gtest.h>

#include <random>

#include "cistern/limits.h"
#include "lib/codec/integer_codec.h"
#include "lib/codec/zstd_codec.h"
#include "tests/lib/codec/codec_test_util.h"

namespace cistern {
namespace {

constexpr size_t kHeapMax = limits::kPageBytesMax;

std::string RoundTrip(const std::vector<std::string>& cells, EncodingId* id = nullptr) {
  const std::vector<std::string_view> views(cells.begin(), cells.end());
  std::string bytes;
  const EncodingId encoding = EncodeText(views, {}, &bytes).id;
  if (id != nullptr) *id = encoding;
  ByteReader in(bytes, "test");
  TextRun run;
  DecodeText(encoding, cells.size(), kHeapMax, nullptr, &in, &run);
  EXPECT_TRUE(in.ok()) << in.status().ToString();
  EXPECT_EQ(in.remaining(), 0u);
  EXPECT_EQ(run.offsets.size(), cells.size() + 1);
  size_t raw = 0;
  for (size_t i = 0; i < cells.size() && in.ok(); ++i) {
    EXPECT_EQ(run.heap.substr(run.offsets[i], run.offsets[i + 1] - run.offsets[i]), cells[i]) << i;
    raw += cells[i].size() + 4;
  }
  EXPECT_LE(bytes.size(), raw + raw / 50 + 12);
  return bytes;
}

TEST(TextCodec, FewDistinctValuesBecomeADictionary) {
  std::vector<std::string> cells;
  for (int i = 0; i < 400; ++i) cells.push_back(i % 7 == 0 ? "WARN" : i % 31 == 0 ? "" : "OK");
  EncodingId id;
  EXPECT_LE(RoundTrip(cells, &id).size(), 130u);
  EXPECT_EQ(id, EncodingId::kDictionary);
  EXPECT_LE(RoundTrip(std::vector<std::string>(500, "the only one"), &id).size(), 20u);
}

TEST(TextCodec, ManyDistinctValuesAreCompressedTogether) {
  std::vector<std::string> cells;
  for (int i = 0; i < 300; ++i) {
    std::string line = "reading of sensor ";
    line.append(std::to_string(i * 7919)).append(" failed with code 17");
    cells.push_back(std::move(line));
  }
  EncodingId id;
  EXPECT_LE(RoundTrip(cells, &id).size(), 300u * 12);
  EXPECT_EQ(id, EncodingId::kText);
}

TEST(TextCodec, UuidsAreTwoIntegers) {
  std::mt19937_64 random(4);
  std::vector<std::string> timed, any;
  uint64_t time = 0x1ee5f1c0a1b2c3d;
  for (int i = 0; i < 200; ++i) {
    time += 10'000'000 + random() % 16;
    std::string uuid;
    PutBig<uint32_t>(&uuid, static_cast<uint32_t>(time));
    PutBig<uint16_t>(&uuid, static_cast<uint16_t>(time >> 32));
    PutBig<uint16_t>(&uuid, static_cast<uint16_t>(0x1000 | (time >> 48)));
    PutBig<uint64_t>(&uuid, 0x9a0b'0242'ac13'0003);
    timed.push_back(uuid);
    uuid.clear();
    PutBig<uint64_t>(&uuid, random());
    PutBig<uint64_t>(&uuid, random());
    any.push_back(uuid);
  }
  EncodingId id;
  EXPECT_LE(RoundTrip(timed, &id).size(), 200u * 5 / 8 + 40);
  EXPECT_EQ(id, EncodingId::kUuid);
  EXPECT_LE(RoundTrip(any, &id).size(), 200u * 16 + 12);
}

TEST(TextCodec, OddCellsComeBack) {
  RoundTrip({""});
  RoundTrip({"", "", ""});
  RoundTrip({std::string(1, '\0'), std::string("\xff\xfe"), ""});
  std::mt19937_64 random(9);
  std::string noise(limits::kCellBytesMax, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  RoundTrip({noise});
  RoundTrip({"a", noise, "", std::string(limits::kCellBytesMax, 'x')});
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> cells(1 + random() % 300);
    const uint64_t alphabet = 1 + random() % 256;
    const uint64_t length = 1 + random() % 12;
    for (std::string& cell : cells) {
      cell.resize(random() % length);
      for (char& c : cell) c = static_cast<char>(random() % alphabet);
    }
    RoundTrip(cells);
  }
}

TEST(TextCodec, EveryCheckHasItsFixture) {
  struct Fixture {
    const char* name;
    EncodingId id;
    std::string bytes;
    size_t heap_max;
    const char* field;
    const char* why;
  };
  const std::string frame = ZstdCompress(std::string(400, 'z'), 400);
  ASSERT_FALSE(frame.empty());
  std::string lengths100;  // four cells of 100 bytes
  EncodeIntegers(std::vector<int64_t>(4, 100), &lengths100);
  std::string sized_frame;
  PutVarint(&sized_frame, frame.size());
  sized_frame += frame;
  std::string broken_frame = sized_frame;
  broken_frame[broken_frame.size() - 4] ^= 0x55;
  std::string over_cell;
  EncodeIntegers(std::vector<int64_t>(4, limits::kCellBytesMax + 1), &over_cell);
  std::string lengths99;
  EncodeIntegers(std::vector<int64_t>(4, 99), &lengths99);
  // One entry of two bytes, "ab".
  const std::string one_entry = Bytes({1, 0, 4, 0, 'a', 'b'});
  const auto text = EncodingId::kText;
  const auto dictionary = EncodingId::kDictionary;
  const auto uuid = EncodingId::kUuid;
  const Fixture fixtures[] = {
      {"number encoding", EncodingId::kInteger, Bytes({0, 0}), 100,
       "encoding", "is not one of the bytes lane"},
      {"unknown encoding", static_cast<EncodingId>(30), "", 100,
       "encoding", "is not one of the bytes lane"},
      {"no lengths", text, "", 100, "descriptor", "runs past the end"},
      {"length -1", text, Bytes({0, 1}), 100, "cell length", "is beyond the limit of a cell"},
      {"length over a cell", text, over_cell, kHeapMax,
       "cell length", "is beyond the limit of a cell"},
      {"lengths over a page", text, lengths100, 399,
       "cell length", "is beyond the limit of a page"},
      {"no form", text, lengths100, 400, "blob form", "runs past the end"},
      {"form 2", text, lengths100 + Bytes({2}), 400, "blob form", "is none that may be here"},
      {"raw cut", text, lengths100 + Bytes({0, 1, 2}), 400, "blob bytes", "runs past the end"},
      {"frame size beyond", text, lengths100 + Bytes({1, 0xff, 0xff, 0xff, 0xff, 1}), 400,
       "blob frame size", "is beyond its limit"},
      {"frame cut", text, lengths100 + Bytes({1, 40, 1, 2}), 400,
       "blob frame", "runs past the end"},
      {"not a frame", text, lengths100 + Bytes({1, 2, 1, 2}), 400,
       "blob frame", "is not a zstd frame of the expected content size"},
      {"other content size", text, lengths99 + Bytes({1}) + sized_frame, 400, "blob frame",
       "is not a zstd frame of the expected content size"},
      {"damaged frame", text, lengths100 + Bytes({1}) + broken_frame, 400,
       "blob frame", "is a damaged zstd frame"},
      {"no entries", dictionary, Bytes({0}), 100, "entry count", "is zero"},
      {"entries beyond cells", dictionary, Bytes({5}), 100, "entry count", "is beyond its limit"},
      {"no codes", dictionary, one_entry, 100, "descriptor", "runs past the end"},
      {"code beyond", dictionary, one_entry + Bytes({0, 2}), 100,
       "code", "names no entry of the dictionary"},
      {"code below", dictionary, one_entry + Bytes({0, 1}), 100,
       "code", "names no entry of the dictionary"},
      {"cells over a page", dictionary, one_entry + Bytes({0, 0}), 7,
       "code", "makes the cells larger than a page"},
      {"uuids over a page", uuid, Bytes({0, 0, 0, 0}), 63, "uuids", "are larger than a page"},
      {"low halves cut", uuid, Bytes({0, 0}), 64, "descriptor", "runs past the end"},
  };
  for (const Fixture& f : fixtures) {
    SCOPED_TRACE(f.name);
    ByteReader in(f.bytes, "test");
    TextRun run;
    DecodeText(f.id, 4, f.heap_max, nullptr, &in, &run);
    ExpectDamage(in.status(), f.field, f.why);
  }
}

TEST(ZstdCodec, FrameMustBeWholeAlone) {
  const std::string raw(1000, 'q');
  const std::string frame = ZstdCompress(raw, raw.size());
  const auto read = [](std::string_view bytes, size_t size) {
    ByteReader in(bytes, "test");
    std::string out;
    ZstdDecompress(bytes, size, "frame", &in, &out);
    return in.status();
  };
  EXPECT_TRUE(read(frame, 1000).ok());
  ExpectDamage(read(frame, 999), "frame", "is not a zstd frame of the expected content size");
  ExpectDamage(read(frame + "x", 1000), "frame", "is not one whole zstd frame");
  ExpectDamage(read(frame + frame, 1000), "frame", "is not one whole zstd frame");
  for (size_t size = 0; size < frame.size(); ++size) {
    EXPECT_EQ(read(std::string_view(frame).substr(0, size), 1000).code(), StatusCode::kCorruption);
  }
  // Of nothing, and one that is to be skipped, which says that it holds nothing.
  EXPECT_TRUE(read(Bytes({0x28, 0xB5, 0x2F, 0xFD, 0x20, 0, 1, 0, 0}), 0).ok());
  ExpectDamage(read(Bytes({0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 7}), 0), "frame",
               "is not a zstd frame of the expected content size");
  // A frame that says it holds a terabyte is refused before anything is allocated.
  const std::string bomb = Bytes({0x28, 0xB5, 0x2F, 0xFD, 0xE0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0});
  ExpectDamage(read(bomb, 1000), "frame", "is not a zstd frame of the expected content size");
}

TEST(ZstdCodec, WhatDoesNotShrinkIsNotWanted) {
  std::mt19937_64 random(2);
  std::string noise(5000, '\0');
  for (char& c : noise) c = static_cast<char>(random());
  EXPECT_TRUE(ZstdCompress(noise, noise.size()).empty());
}

}  // namespace
}  // namespace cistern
