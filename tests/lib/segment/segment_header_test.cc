#include "lib/segment/segment_header.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "cistern/limits.h"
#include "lib/segment/segment_format.h"
#include "tests/lib/codec/codec_test_util.h"

namespace cistern {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

void ExpectSame(const SegmentHeader& a, const SegmentHeader& b) {
  EXPECT_EQ(a.schema_version, b.schema_version);
  EXPECT_EQ(a.journal_first, b.journal_first);
  EXPECT_EQ(a.journal_last, b.journal_last);
  EXPECT_EQ(a.row_count, b.row_count);
  EXPECT_EQ(a.first_time, b.first_time);
  EXPECT_EQ(a.last_time, b.last_time);
  EXPECT_EQ(a.pages, b.pages);
  EXPECT_EQ(a.deletes, b.deletes);
}

std::string RoundTrip(const SegmentHeader& header) {
  const std::string bytes = EncodeSegmentHeader(header);
  const Result<SegmentHeader> got = DecodeSegmentHeader(bytes);
  EXPECT_TRUE(got.ok()) << got.status().ToString();
  if (got.ok()) ExpectSame(*got, header);
  return bytes;
}

SegmentHeader OnePage() {
  SegmentHeader h;
  h.schema_version = 3;
  h.journal_first = 1'000'000;
  h.journal_last = 1'000'450;
  h.row_count = 100;
  h.first_time = 1'721'900'000'000;
  h.last_time = 1'721'900'099'000;
  h.pages.push_back({100, 420, h.first_time, h.last_time});
  return h;
}

TEST(SegmentHeader, OnePageIsTiny) {
  EXPECT_LE(RoundTrip(OnePage()).size(), 35u);
  EXPECT_EQ(OnePage().byte_count(), 420u);
}

TEST(SegmentHeader, OnlyDeletes) {
  SegmentHeader h;
  h.deletes.push_back({});                      // a partition delete
  h.deletes.push_back({10, 20, 1000, 0});
  h.deletes.push_back({-5, kMax, kMin, 4'000'000'000});
  h.deletes.push_back({kMin, -7, kMax, 1});
  h.deletes.push_back({kMax, kMax, 0, 0});
  RoundTrip(h);
}

TEST(SegmentHeader, ExtremesComeBack) {
  SegmentHeader h;
  h.schema_version = std::numeric_limits<uint32_t>::max();
  h.journal_last = std::numeric_limits<uint64_t>::max();
  h.first_time = kMin;
  h.last_time = kMax;
  h.pages.push_back({limits::kPageRowsMax, limits::kPageBytesMax, kMin, -1});
  h.pages.push_back({1, 1, -1, -1});
  h.pages.push_back({7, 9, 0, kMax});
  h.row_count = limits::kPageRowsMax + 8;
  RoundTrip(h);
  h.journal_first = h.journal_last;
  RoundTrip(h);
}

TEST(SegmentHeader, RandomHeadersComeBack) {
  const uint32_t seed = 5;
  std::mt19937_64 random(seed);
  for (int round = 0; round < 300; ++round) {
    SegmentHeader h;
    h.schema_version = static_cast<uint32_t>(random() >> (32 + random() % 32));
    h.journal_first = random() >> (1 + random() % 63);
    h.journal_last = h.journal_first + (random() >> (1 + random() % 63));
    int64_t time = static_cast<int64_t>(random()) / 4;
    h.first_time = time;
    for (uint64_t n = random() % 20; n > 0; --n) {
      PageInfo page;
      page.row_count = static_cast<uint32_t>(1 + random() % limits::kPageRowsMax);
      page.byte_count = static_cast<uint32_t>(1 + random() % limits::kPageBytesMax);
      page.first_time = time += static_cast<int64_t>(random() % 1000);
      page.last_time = time += static_cast<int64_t>(random() % 100'000);
      h.row_count += page.row_count;
      h.pages.push_back(page);
    }
    h.last_time = time + static_cast<int64_t>(random() % 2);
    for (uint64_t n = random() % 5; n > 0; --n) {
      RangeDelete d;
      if (random() % 2) d.from = static_cast<int64_t>(random());
      if (random() % 2) d.to = std::max(d.from, static_cast<int64_t>(random()));
      d.write_us = static_cast<int64_t>(random() >> (random() % 64));
      if (random() % 2) d.boot = static_cast<uint32_t>(random());
      h.deletes.push_back(d);
    }
    RoundTrip(h);
    if (HasFailure()) FAIL() << "seed " << seed << " round " << round;
  }
}

std::string WithChecksum(std::string body) {
  segment_format::AppendChecksum(&body);
  return body;
}

TEST(SegmentHeader, EveryCheckHasItsFixture) {
  struct Fixture {
    const char* name;
    std::string body;
    const char* field;
    const char* why;
  };
  const std::string max64 = Bytes({0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1});
  // Tag, schema version, journal first and span, first time, time span 100.
  const std::string start = Bytes({0xB1, 1, 5, 2, 20, 100});
  const Fixture fixtures[] = {
      {"tag of a page", Bytes({0xA1, 1}), "tag", "says that this is something else"},
      {"format 0", Bytes({0xB0, 1}), "tag",
       "says format 0, of before format 1 was frozen; read it with the version that wrote it"},
      {"schema version", Bytes({0xB1, 0xff, 0xff, 0xff, 0xff, 0x7f}),
       "schema version", "is beyond its limit"},
      {"journal span", Bytes({0xB1, 1, 5}) + max64, "journal span", "is beyond its limit"},
      {"time span", Bytes({0xB1, 1, 5, 2, 20}) + max64, "time span", "leads out of its range"},
      {"no page count", start, "page count", "runs past the end"},
      {"page count", start + Bytes({0x81, 0x80, 4}), "page count", "is beyond its limit"},
      {"pages without bytes", start + Bytes({2, 1, 1, 0, 0}),
       "page count", "is more than the bytes can hold"},
      {"page of no rows", start + Bytes({1, 0, 9, 0, 0, 0}), "page rows", "is zero"},
      {"page rows", start + Bytes({1, 0x81, 0x20, 9, 0, 0}), "page rows", "is beyond its limit"},
      {"page of no bytes", start + Bytes({1, 9, 0, 0, 0, 0}), "page bytes", "is zero"},
      {"page bytes", start + Bytes({1, 9, 0x81, 0x80, 0x80, 8, 0}),
       "page bytes", "is beyond its limit"},
      {"page begins late", start + Bytes({1, 9, 9, 101, 0, 0}),
       "page first time", "leads out of its range"},
      {"page ends early", start + Bytes({1, 9, 9, 90, 11, 0}),
       "page time rest", "leads out of its range"},
      {"no delete count", start + Bytes({0}), "delete count", "runs past the end"},
      {"delete count", start + Bytes({0, 0x81, 0x80, 4}), "delete count", "is beyond its limit"},
      {"deletes without bytes", start + Bytes({0, 2, 3, 0}),
       "delete count", "is more than the bytes can hold"},
      {"delete flags", start + Bytes({0, 1, 8, 0}), "delete flags", "has unknown bits"},
      {"delete ends late", start + Bytes({0, 1, 0, 0}) + max64,
       "delete to", "leads out of its range"},
      {"delete boot", start + Bytes({0, 1, 7, 0, 0xff, 0xff, 0xff, 0xff, 0x7f}), "delete boot",
       "is beyond its limit"},
      {"delete boot 0", start + Bytes({0, 1, 7, 0, 0}), "delete boot", "is zero"},
      {"bytes after the last", start + Bytes({0, 0, 0}), "end", "is not where the fields end"},
      {"no statistics", start + Bytes({1, 9, 9, 0, 0, 0, 0}), "end", "is not where the fields end"},
      {"statistics size", start + Bytes({1, 9, 9, 0, 0, 0, 0x81, 0x80, 0x40}), "statistics size",
       "is beyond its limit"},
      {"statistics of all pages",
       start + Bytes({2, 9, 9, 0, 0, 9, 9, 0, 0, 0, 1, 0x80, 0x80, 0x40}), "statistics size",
       "is beyond its limit"},
      {"statistics end early", start + Bytes({1, 9, 9, 0, 0, 0, 2, 7}), "statistics",
       "runs past the end"},
      {"bytes after statistics", start + Bytes({1, 9, 9, 0, 0, 0, 1, 7, 7}),
       "end", "is not where the fields end"},
  };
  EXPECT_TRUE(DecodeSegmentHeader(WithChecksum(start + Bytes({0, 0}))).ok());
  for (const Fixture& f : fixtures) {
    SCOPED_TRACE(f.name);
    ExpectDamage(DecodeSegmentHeader(WithChecksum(f.body)).status(), f.field, f.why);
  }
  EXPECT_EQ(DecodeSegmentHeader(WithChecksum(Bytes({0xB3, 0}))).status().code(),
            StatusCode::kTooNew);
  // Format 2 has the header of format 1.
  EXPECT_TRUE(DecodeSegmentHeader(WithChecksum(Bytes({0xB2}) + start.substr(1) + Bytes({0, 0})))
                  .ok());
}

TEST(SegmentHeader, TruncationsAndFlippedBitsAreNoticed) {
  SegmentHeader h = OnePage();
  h.deletes.push_back({h.first_time, h.last_time, 77, 3});
  const std::string bytes = RoundTrip(h);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeSegmentHeader(bytes.substr(0, size)).status().code(), StatusCode::kCorruption);
  }
  const std::string body = bytes.substr(0, bytes.size() - segment_format::kChecksumBytes);
  for (size_t size = 1; size < body.size(); ++size) {
    EXPECT_EQ(DecodeSegmentHeader(WithChecksum(body.substr(0, size))).status().code(),
              StatusCode::kCorruption);
  }
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(DecodeSegmentHeader(flipped).status().code(), StatusCode::kCorruption);
  }
}

}  // namespace
}  // namespace cistern
