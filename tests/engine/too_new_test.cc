// A store that a newer Cistern wrote to: whatever is too new is said to be that, and is
// neither given up nor changed.
#include <rocksdb/db.h>

#include <fstream>
#include <iterator>

#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "storage/keyspace.h"
#include "storage/spill_reader.h"
#include "storage/store.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {
namespace {

// The value with another first byte, under a right checksum.
std::string WithFirstByte(std::string value, uint8_t first) {
  value.resize(value.size() - 8);
  value[0] = static_cast<char>(first);
  PutLittle<uint64_t>(&value, Checksum(value));
  return value;
}

class TooNewTest : public EngineFixture {
 protected:
  void Shut() {
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
  }
  // Replaces the value of `key` in the family where it is, behind the engine's back.
  // `value` becomes what it was.
  void Swap(FamilyKind kind, const std::string& key, std::string* value) {
    StoreConfig config;
    config.directory = directory();
    config.clock = clock_;
    auto opened = OpenStore(config);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    bool found = false;
    for (const auto& [name, handle] : opened->families) {
      std::string before;
      if (FamilyKindOf(name) != kind || !opened->db->Get({}, handle, key, &before).ok()) continue;
      found = true;
      if (value->empty()) *value = WithFirstByte(before, static_cast<uint8_t>(before[0] + 1));
      ASSERT_TRUE(opened->db->Put({}, handle, key, *value).ok());
      *value = before;
    }
    EXPECT_TRUE(found);
    ASSERT_TRUE(opened->Close().ok());
  }
  // Opening with that value of the next version is refused; with the old one all is there.
  void ExpectRefused(FamilyKind kind, const std::string& key) {
    Shut();
    std::string value;
    Swap(kind, key, &value);
    const std::string next = "version " + std::to_string(value[0] + 1);
    for (const bool read_only : {true, false, false}) {
      EngineOptions options = options_;
      options.read_only = read_only;
      const auto opened = TryOpen(options);
      ASSERT_EQ(opened.status().code(), StatusCode::kTooNew) << opened.status().ToString();
      EXPECT_NE(opened.status().message().find(next), std::string::npos);
      EXPECT_NE(opened.status().message().find("use the newer one"), std::string::npos);
    }
    Swap(kind, key, &value);
    Open();
    EXPECT_FALSE(engine_->Recovery().recovered_with_loss);
    EXPECT_EQ(ScanAll("a"), (Rows{{kStartMs, 1}, {kStartMs + 1, 2}, {kStartMs + 2, 3}}));
    ExpectSound();
  }
  void AppendThree() {
    for (int i = 0; i < 3; ++i) MustAppend("a", kStartMs + i, i + 1);
  }
};

TEST_F(TooNewTest, AJournalRecordIsNotGivenUpAsDamaged) {
  AppendThree();
  ExpectRefused(FamilyKind::kJournal, JournalKey(2));
}

TEST_F(TooNewTest, RecordsOfTheCatalogAreRefused) {
  AppendThree();
  ExpectRefused(FamilyKind::kMeta, std::string(kStateKey));
  ExpectRefused(FamilyKind::kMeta, TableKey(1));
  Rotate();
  const uint64_t family = Core()->store().spills().view()->families.front()->id;
  ExpectRefused(FamilyKind::kMeta, SpillKey(family));
}

TEST_F(TooNewTest, TheStoresFormatIsRefused) {
  AppendThree();
  Shut();
  const std::string path = directory() + "/CISTERN";
  std::string text;
  {
    std::ifstream file(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  std::string newer = text;
  newer.replace(newer.find("format 1"), 8, "format 2");
  std::ofstream(path, std::ios::binary | std::ios::trunc) << newer;
  const auto opened = TryOpen(options_);
  ASSERT_EQ(opened.status().code(), StatusCode::kTooNew) << opened.status().ToString();
  EXPECT_NE(opened.status().message().find("format 2"), std::string::npos);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  Open();
  EXPECT_EQ(ScanAll("a").size(), 3u);
}

// One page of a later format: its bucket says so, the others go on, and it is
// not rewritten.
TEST_F(TooNewTest, APageOfALaterFormatCostsItsBucketAlone) {
  MustAppend("b", kStartMs, 9);
  AppendThree();
  Rotate();
  const BucketKey bucket{1, Entity("a").bytes, kStartMs / 1000, 0};
  const auto segments = ListSegments(*Core()->store().spills().view(), bucket);
  ASSERT_TRUE(segments.ok());
  ASSERT_EQ(segments->size(), 1u);
  const std::string page = PageKey((*segments)[0].id, 0);
  const SegmentFamily& family = *(*segments)[0].family;
  std::string bytes;
  ASSERT_TRUE(family.family->db()->Get({}, family.family->handle(), page, &bytes).ok());
  const auto format_3 = static_cast<uint8_t>((static_cast<uint8_t>(bytes[0]) & 0xF0) | 3);
  ASSERT_TRUE(family.family->db()
                  ->Put({}, family.family->handle(), page, WithFirstByte(bytes, format_3))
                  .ok());
  auto cursor = engine_->Scan(Request("a", kStartMs, kStartMs + kDayMs));
  ASSERT_TRUE(cursor.ok());
  Rows seen;
  Drain(cursor->get(), &seen);
  EXPECT_EQ((*cursor)->status().code(), StatusCode::kTooNew) << (*cursor)->status().ToString();
  EXPECT_NE((*cursor)->status().message().find("format 3"), std::string::npos);
  EXPECT_EQ(ScanAll("b"), (Rows{{kStartMs, 9}}));
  // Enough small rotations for its family to be gathered, were it not for that page.
  for (int i = 1; i < 40; ++i) {
    MustAppend("b", kStartMs + i, i);
    Rotate();
  }
  ASSERT_TRUE(engine_->Tick({1000}).ok());
  EXPECT_TRUE(engine_->Health().ok());
  EXPECT_EQ(ScanAll("b").size(), 40u);
  cursor->reset();
  ASSERT_TRUE(family.family->db()->Put({}, family.family->handle(), page, bytes).ok());
  EXPECT_EQ(ScanAll("a").size(), 3u);
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
