// Pages that name a trained dictionary, and which may.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lib/segment/page_builder.h"
#include "lib/segment/page_reader.h"
#include "lib/segment/segment_format.h"
#include "tests/lib/codec/codec_test_util.h"
#include "tests/lib/segment/page_test_util.h"
#include "tests/support/trained_lines.h"

namespace cistern {
namespace {

using testing::LogLine;
using testing::Rng;

constexpr uint64_t kNumber = 300;
constexpr size_t kRows = 60;
constexpr size_t kText = 3;  // the column

// A store of one.
class OneDictionary final : public DictionarySource {
 public:
  OneDictionary() : made_(ZstdDictionary::Make(testing::TrainOnLogLines())) {}
  [[nodiscard]] Result<std::shared_ptr<const ZstdDictionary>> Find(
      uint64_t number) const override {
    if (number == kNumber) return made_;
    return Status::IoError("no such dictionary");
  }

 private:
  Result<std::shared_ptr<const ZstdDictionary>> made_;
};

class PageDictionary : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto dictionary = dictionaries_.Find(kNumber);
    ASSERT_TRUE(dictionary.ok()) << dictionary.status().ToString();
    cache_.SetDictionary(kText, {kNumber, *dictionary});
  }
  VersionColumns Lines() {
    Rng rng(2);
    VersionColumns rows = VersionColumns::For(schema_);
    rows.row_count = kRows;
    for (size_t i = 0; i < kRows; ++i) {
      rows.write_us.push_back(static_cast<int64_t>(1000 * i));
      rows.flags.push_back(kVersionLiveness);
      rows.columns[2].AppendFixed(static_cast<int64_t>(i));
      rows.columns[kText].AppendBytes(LogLine(&rng));
    }
    return rows;
  }
  // What each way of reading the page tells.
  std::vector<Status> ReadAllWays(const std::string& page, const DictionarySource* dictionaries) {
    std::vector<bool> wanted(schema_.columns.size(), false);
    wanted[kText] = true;
    VersionColumns rows;
    return {DecodePage(schema_, page, nullptr, dictionaries).status(),
            DecodePage(schema_, page, &wanted, dictionaries).status(),
            DecodePageValues(schema_, page, wanted, dictionaries).status(),
            DecodePageValues(schema_, page, kRows, wanted, dictionaries, &rows)};
  }
  static std::string WithTag(std::string page, uint8_t tag) {
    page.resize(page.size() - segment_format::kChecksumBytes);
    page[0] = static_cast<char>(tag);
    segment_format::AppendChecksum(&page);
    return page;
  }

  const TableSchema schema_ = MakeSchema({CqlType::kTimestamp}, {CqlType::kText});
  const OneDictionary dictionaries_;
  CodecCache cache_;
};

TEST_F(PageDictionary, OneThatNamesItIsOfFormat2AndComesBack) {
  const VersionColumns rows = Lines();
  const std::string page = EncodePage(schema_, rows, 0, kRows, &cache_);
  EXPECT_EQ(page[0], '\xA2');
  const Result<VersionColumns> got = DecodePage(schema_, page, nullptr, &dictionaries_);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  ExpectSameRows(schema_, *got, rows, 0, kRows);
  for (const Status& status : ReadAllWays(page, &dictionaries_)) {
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  for (const Status& status : ReadAllWays(page, nullptr)) {
    ExpectDamage(status, "blob form", "is none that may be here");
  }
}

TEST_F(PageDictionary, OneOfFormat1MayNotNameIt) {
  const std::string page = EncodePage(schema_, Lines(), 0, kRows, &cache_);
  for (const Status& status : ReadAllWays(WithTag(page, 0xA1), &dictionaries_)) {
    ExpectDamage(status, "blob form", "is none that may be here");
  }
}

TEST_F(PageDictionary, OneThatNamesNoneIsOfFormat1) {
  const VersionColumns rows = Lines();
  const std::string page = EncodePage(schema_, rows, 0, kRows, nullptr);
  EXPECT_EQ(page[0], '\xA1');
  // Format 2 may name one, and need not.
  for (const std::string& either : {page, WithTag(page, 0xA2)}) {
    const Result<VersionColumns> got = DecodePage(schema_, either, nullptr, &dictionaries_);
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    ExpectSameRows(schema_, *got, rows, 0, kRows);
  }
}

}  // namespace
}  // namespace cistern
