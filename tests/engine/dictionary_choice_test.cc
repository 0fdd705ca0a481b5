// Which dictionaries a window gets, and which it does not.
#include <memory>
#include <string>

#include "engine/seal/seal_dictionaries.h"
#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "storage/keyspace.h"
#include "storage/spill_writer.h"
#include "tests/engine/dictionary_fixture.h"

namespace cistern::testing {
namespace {

class DictionaryChoiceTest : public SealDictionaryTest {
 protected:
  // The store's view, with a window that has so many more, of columns that are not there.
  std::shared_ptr<const SpillView> ViewWithMore(size_t count) {
    auto view = std::make_shared<SpillView>(*Core()->store().spills().view());
    auto window = std::make_shared<WindowFamily>(*view->windows[0]);
    for (size_t i = 0; i < count; ++i) {
      window->record.dictionaries.push_back({1, "x" + std::to_string(i), UINT64_MAX - count + i});
    }
    view->windows[0] = window;
    return view;
  }
  // A page of lines.
  VersionColumns Page() {
    VersionColumns rows = VersionColumns::For(*schema_);
    for (rows.row_count = 0; rows.row_count < kRows; ++rows.row_count) {
      rows.columns[4].AppendBytes(NextLine());
    }
    return rows;
  }
  // As a round that seals so many pages, of the table or another one of its columns.
  void ServePages(size_t count, SealDictionaries* dictionaries, SpillWriter* writer,
                  uint32_t other = 0) {
    const uint32_t table_id = (*Core()->tables().Find("plant.pumps"))->id + other;
    writer->Begin({table_id, "s", 0, 0}, schema_.get(), 0, 0, 0);
    for (size_t page = 0; page < count; ++page) {
      const Status s = dictionaries->Serve(table_id, *schema_, Page(), writer);
      ASSERT_TRUE(s.ok()) << s.ToString();
    }
    writer->Abandon();
  }
};

TEST_F(DictionaryChoiceTest, AWindowKeepsTheOneItHasWhereTheNewestOfTheColumnIsDamaged) {
  FillDay(0);
  SealAll();
  FillDay(2);
  SealAll();
  const auto numbers = ExpectOneInEachWindow();
  ASSERT_EQ(numbers.size(), 2u);
  for (uint8_t copy = 0; copy < kDictionaryCopies; ++copy) {
    Overwrite(*Windows()[1], DictionaryKey(numbers[1], copy), "not a dictionary");
  }
  Reopen();
  FillDay(0, kSensors, kDayMs / 2);
  SealAll();
  EXPECT_EQ(Windows()[0]->record.dictionaries.size(), 1u);
  // New windows get the one that can be read.
  FillDay(4);
  SealAll();
  ASSERT_EQ(Windows().size(), 3u);
  ASSERT_EQ(Windows()[2]->record.dictionaries.size(), 1u);
  const uint64_t newest = Windows()[2]->record.dictionaries[0].number;
  EXPECT_EQ((*ReadDictionary(*Windows()[2], newest))->bytes(),
            (*ReadDictionary(*Windows()[0], numbers[0]))->bytes());
}

TEST_F(DictionaryChoiceTest, ColumnsOfOneNameInTwoTablesHaveTheirOwn) {
  FillDay(0);
  SealAll();
  const WindowDictionary first = Windows()[0]->record.dictionaries.at(0);
  std::string cql = kPumps;
  cql.replace(cql.find("pumps"), 5, "other");
  ASSERT_TRUE(engine_->CreateTable(cql).ok());
  schema_ = *engine_->FindTable("plant.other");
  written_.clear();
  FillDay(0);
  SealAll();
  ASSERT_EQ(Windows().size(), 1u);
  const std::vector<WindowDictionary> there = Windows()[0]->record.dictionaries;
  ASSERT_EQ(there.size(), 2u);
  EXPECT_NE(there[0].table_id, there[1].table_id);
  EXPECT_EQ(there[0], first);
  EXPECT_NE((*ReadDictionary(*Windows()[0], there[0].number))->bytes(),
            (*ReadDictionary(*Windows()[0], there[1].number))->bytes());
  Reopen();
  // Each goes on with its own: nothing is trained for so few.
  FillDay(0, 20, kDayMs / 2);
  SealAll();
  EXPECT_EQ(Windows()[0]->record.dictionaries, there);
}

TEST_F(DictionaryChoiceTest, AWindowThatHasAsManyAsItMayGetsNoMore) {
  FillDay(0, 1);
  SealAll();
  const auto window = Windows()[0];
  for (const size_t there : {limits::kWindowDictionariesMax - 1, limits::kWindowDictionariesMax}) {
    SCOPED_TRACE(there);
    MemoryBudget budget(64 << 20);
    SealDictionaries dictionaries(&budget);
    SpillWriter writer(FamilyKind::kWindow, window->family, *Core()->store().NextSequence());
    const auto view = ViewWithMore(there);
    dictionaries.Begin(view, view->windows[0]);
    ServePages(kSensors, &dictionaries, &writer);
    ServePages(kSensors, &dictionaries, &writer, 1);
    const size_t room = limits::kWindowDictionariesMax - there;
    EXPECT_EQ(dictionaries.written().size(), room);
    EXPECT_EQ(dictionaries.known().size(), limits::kWindowDictionariesMax);
    EXPECT_EQ(writer.byte_count() > 4096, room > 0) << "what is written is counted";
  }
}

// The window has one that does not fit into memory at the moment: it is not given another one as
// soon as there is room, only to be written twice.
TEST_F(DictionaryChoiceTest, OneThatIsLeftAsideIsNotReplaced) {
  FillDay(0);
  SealAll();
  (void)ExpectOneInEachWindow();
  const auto view = Core()->store().spills().view();
  MemoryBudget budget(64 << 20);
  SealDictionaries dictionaries(&budget);
  SpillWriter writer(FamilyKind::kWindow, view->windows[0]->family,
                     *Core()->store().NextSequence());
  MemoryCharge others(&budget);
  others.Set(budget.limit_bytes() - kDictionaryMemoryBytes / 2);  // what is left is for samples
  dictionaries.Begin(view, view->windows[0]);
  ServePages(1, &dictionaries, &writer);
  others.Set(0);
  ServePages(kSensors, &dictionaries, &writer);
  EXPECT_TRUE(dictionaries.written().empty());
  dictionaries.End();
  // Nor in the next round, which reads it: what was trained meanwhile was not compared with it.
  dictionaries.Begin(view, view->windows[0]);
  ServePages(kSensors, &dictionaries, &writer);
  EXPECT_TRUE(dictionaries.written().empty());
  dictionaries.End();
  EXPECT_LE(budget.used_bytes(), budget.limit_bytes() / 16);
}

// Both can be read, and are not the same.
TEST_F(DictionaryChoiceTest, CopiesThatDifferAreNotTaken) {
  Shut();
  std::string told;
  options_.log_sink = [&told](LogLevel, std::string_view line) { told.append(line); };
  Open();
  FillDay(0, 1);
  SealAll();
  ASSERT_TRUE(Windows()[0]->record.dictionaries.empty());
  FillDay(0, kSensors, kDayMs / 2);
  g_point = "seal:before_read_back";
  g_at_point = [&] {
    const auto window = Windows()[0];
    const std::unique_ptr<rocksdb::Iterator> it(
        window->family->db()->NewIterator({}, window->family->handle()));
    std::string key;
    std::string value;
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      if (!IsDictionaryKey(it->key().ToStringView())) continue;
      key = it->key().ToString();
      value = it->value().ToString();
    }
    ASSERT_FALSE(key.empty());
    value.resize(value.size() - 8);
    value.back() = static_cast<char>(value.back() ^ 1);
    PutLittle<uint64_t>(&value, Checksum(value));
    Overwrite(*window, key, value);
  };
  g_crash_hook = AtPoint;
  SealAll();
  g_crash_hook = nullptr;
  EXPECT_NE(told.find("differ"), std::string::npos);
  EXPECT_TRUE(Windows()[0]->record.dictionaries.empty());
  ExpectEveryLine();
}

}  // namespace
}  // namespace cistern::testing
