// Trained dictionaries of text: what is sealed with one reads as before, through openings, merges
// of windows, lost power and damage, and takes fewer bytes.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/engine/dictionary_fixture.h"

namespace cistern::testing {
namespace {

TEST_F(SealDictionaryTest, SmallBucketsOfLinesTakeATenthLess) {
  // The smallest budget trains none.
  Shut();
  options_.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  Open();
  FillDay(0);
  SealAll();
  const uint64_t plain_bytes = SealedBytes();
  ASSERT_TRUE(Windows()[0]->record.dictionaries.empty());
  Shut();
  options_.memory_budget_bytes = 64 << 20;
  Open();
  FillDay(2);  // trained meanwhile
  SealAll();
  const uint64_t bytes_before = SealedBytes();
  FillDay(4);  // from its first bucket on but for what it takes to pay for it
  SealAll();
  EXPECT_LT(10 * (SealedBytes() - bytes_before), 9 * plain_bytes) << "all columns of them";
  ASSERT_EQ(Windows().size(), 3u);
  EXPECT_EQ(Windows()[2]->record.dictionaries.size(), 1u);
  ExpectEveryLine();
  ExpectSound();
  Reopen();
  ExpectEveryLine();
  ExpectSound();
}

// Training takes 12 MiB meanwhile: the smallest budget goes on without.
TEST_F(SealDictionaryTest, WithoutMemoryForTrainingThereIsNone) {
  ASSERT_TRUE(engine_->Close().ok());
  options_.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  Open();
  FillDay(0);
  SealAll();
  ASSERT_EQ(Windows().size(), 1u);
  EXPECT_TRUE(Windows()[0]->record.dictionaries.empty());
  ExpectEveryLine();
  ExpectSound();
}

TEST_F(SealDictionaryTest, AnotherRunGoesOnWithWhatIsInTheWindow) {
  FillDay(0);
  SealAll();
  const auto before = ExpectOneInEachWindow();
  const uint64_t bytes_before = SealedBytes();
  Reopen();
  // Amendments of the same day, so few that a dictionary of their own would not be trained.
  FillDay(0, 20, kDayMs / 2);
  SealAll();
  EXPECT_EQ(ExpectOneInEachWindow(), before);
  const double mean_before = static_cast<double>(bytes_before) / (kSensors * kRows);
  const double mean_after = static_cast<double>(SealedBytes() - bytes_before) / (20 * kRows);
  EXPECT_LT(mean_after, mean_before);
  ExpectEveryLine();
  ExpectSound();
}

TEST_F(SealDictionaryTest, ADamagedCopyIsToldAndTheOtherOneRead) {
  FillDay(0);
  SealAll();
  const uint64_t number = ExpectOneInEachWindow().front();
  for (uint8_t copy = 0; copy < kDictionaryCopies; ++copy) {
    SCOPED_TRACE(int{copy});
    Reopen();  // with an empty cache
    const auto window = Windows().front();
    const std::string key = DictionaryKey(number, copy);
    std::string whole;
    ASSERT_TRUE(window->family->db()->Get({}, window->family->handle(), key, &whole).ok());
    std::string damaged = whole;
    damaged[damaged.size() / 2] ^= 1;
    Overwrite(*window, key, damaged);
    ExpectEveryLine();
    const auto report = engine_->Verify();
    ASSERT_TRUE(report.ok());
    ASSERT_EQ(report->problems.size(), 1u);
    EXPECT_NE(report->problems[0].find("copy " + std::to_string(copy) + " of dictionary"),
              std::string::npos)
        << report->problems[0];
    Overwrite(*window, key, whole);
  }
}

TEST_F(SealDictionaryTest, ANewWindowIsGivenTheSameOneWhenItPays) {
  FillDay(0);
  SealAll();
  const auto first = *ReadDictionary(*Windows()[0], ExpectOneInEachWindow()[0]);
  Reopen();
  FillDay(1, 10);
  SealAll();
  ASSERT_EQ(Windows().size(), 2u);
  EXPECT_TRUE(Windows()[1]->record.dictionaries.empty()) << "so few save less than it takes";
  FillDay(2);
  SealAll();
  const uint64_t number = ExpectOneInEachWindow().back();
  EXPECT_EQ((*ReadDictionary(*Windows()[1], number))->bytes(), first->bytes());
  ExpectEveryLine();
  ExpectSound();
}

// Windows that become one take their dictionaries along, and make good a copy that is damaged. The
// older window has the newer dictionary.
TEST_F(SealDictionaryTest, MergesOfWindowsTakeThemAlong) {
  FillDay(0, 1);
  SealAll();
  FillDay(2);
  SealAll();
  FillDay(0, kSensors, kDayMs / 2);
  SealAll();
  std::vector<uint64_t> numbers = ExpectOneInEachWindow();
  ASSERT_EQ(numbers.size(), 2u);
  ASSERT_GT(numbers[0], numbers[1]);
  Overwrite(*Windows().front(), DictionaryKey(numbers[0], 0), "not a dictionary");
  {
    Store& store = Core()->store();
    WindowMerge merge;
    merge.sources = Windows();
    merge.span = merge.sources[0]->record.span;
    merge.span.end_s = merge.sources[1]->record.span.end_s;
    merge.target_id = *store.NextSequence();
    merge.target = *store.CreateWindow(merge.target_id);
    WindowCopy copy(store.spills().view(), std::move(merge));
    for (bool more = true; more;) more = *copy.Copy();
    ASSERT_TRUE(copy.Flush().ok());
    for (bool more = true; more;) more = *copy.ReadBack();
    auto view = store.CommitMerge(copy.merge());
    ASSERT_TRUE(view.ok()) << view.status().ToString();
    store.spills().Publish(*std::move(view));
  }
  TickAll();
  Reopen();
  ASSERT_EQ(Windows().size(), 1u);
  const std::vector<WindowDictionary>& there = Windows().front()->record.dictionaries;
  ASSERT_EQ(there.size(), 2u);
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(there[i].number, numbers[i]);
  ExpectEveryLine();
  ExpectSound();
}

// Its pages are gaps, but for who does not want their text; rows are sealed on.
TEST_F(SealDictionaryTest, WithoutBothCopiesOnlyTheTextsThatNeedItAreLost) {
  FillDay(0);
  SealAll();
  const uint64_t number = ExpectOneInEachWindow().front();
  Reopen();
  const auto window = Windows().front();
  for (uint8_t copy = 0; copy < kDictionaryCopies; ++copy) {
    ASSERT_TRUE(window->family->db()
                    ->Delete({}, window->family->handle(), DictionaryKey(number, copy))
                    .ok());
  }
  for (const auto& [sensor, lines] : written_) EXPECT_EQ(ScanAll(sensor).size(), lines.size());
  size_t sensors_with_gaps = 0;
  for (const auto& [sensor, lines] : written_) {
    bool is_whole = false;
    const Lines read = ReadLines(sensor, &is_whole);
    EXPECT_EQ(read.empty(), !is_whole) << sensor;  // a page each
    EXPECT_TRUE(!is_whole || read == lines) << sensor;
    sensors_with_gaps += is_whole ? 0 : 1;
  }
  EXPECT_GT(sensors_with_gaps, 10u);
  EXPECT_LT(sensors_with_gaps, written_.size());
  const auto report = engine_->Verify();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->problems.size(), 2 + sensors_with_gaps) << report->problems.back();
  written_.clear();
  day_first_ = 3;
  FillDay(3);
  SealAll();
  ExpectEveryLine();
}

// Bits flipped all over the file that has the dictionary.
TEST_F(SealDictionaryTest, AFlippedBitIsNeverAnotherLine) {
  FillDay(0);
  SealAll();
  (void)ExpectOneInEachWindow();
  const std::filesystem::path path = WindowFiles().back();
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  constexpr int64_t kFlips = 40;
  int64_t whole = 0;
  for (int64_t flip = 0; flip < kFlips; ++flip) {
    SCOPED_TRACE(flip);
    const int64_t at = size * (2 * flip + 1) / (2 * kFlips);
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
    FlipBit(path, at);
    Open();
    bool all_whole = true;
    for (const auto& [sensor, lines] : written_) {
      bool is_whole = false;
      const Lines read = ReadLines(sensor, &is_whole);
      EXPECT_EQ(is_whole, read == lines) << sensor;
      all_whole = all_whole && is_whole;
    }
    const auto report = engine_->Verify();
    ASSERT_TRUE(report.ok());
    EXPECT_TRUE(all_whole || !report->problems.empty());
    whole += all_whole ? 1 : 0;
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
    FlipBit(path, at);
    Open();
  }
  EXPECT_GE(whole, 1);  // those in the copies
  ExpectEveryLine();
}

// What power takes of a round at any of its points is the round, dictionary and all.
TEST_F(SealDictionaryTest, ADictionaryIsDurableBeforeAnythingNamesIt) {
  FillDay(0);
  const std::string spilled = CopyStore();
  for (const char* point : {"seal:before_read_back", "seal:before_commit", "seal:after_commit"}) {
    SCOPED_TRACE(point);
    const std::string here = std::string(temp_.path()) + "/from-" + point;
    std::filesystem::copy(spilled, here, std::filesystem::copy_options::recursive);
    GoOnWith(here);
    std::string left;
    g_point = point;
    g_at_point = [&] { left = CopyStore(); };
    g_crash_hook = AtPoint;
    SealAll();
    g_crash_hook = nullptr;
    ASSERT_FALSE(left.empty());
    GoOnWith(left);
    ExpectEveryLine();
    ExpectSound();
    SealAll();
    (void)ExpectOneInEachWindow();
    ExpectEveryLine();
    ExpectSound();
  }
}

// A device loses more than a bit at a time: not both copies at once.
TEST_F(SealDictionaryTest, ALostSectorTakesOneCopyAtMost) {
  FillDay(0);
  SealAll();
  const uint64_t number = ExpectOneInEachWindow().front();
  const std::filesystem::path path = WindowFiles().back();
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
  constexpr int64_t kSector = 16 * 1024;
  int lost[kDictionaryCopies + 1] = {};  // sectors, by how many copies they took
  for (int64_t at = 0; at < size; at += kSector) {
    const auto flip = [&] {
      for (int64_t i = at; i < std::min(size, at + kSector); i += 512) FlipBit(path, i);
    };
    Shut();
    flip();
    Open();
    if (Windows().size() == 1) {  // its file can be opened
      size_t unreadable = 0;
      for (uint8_t copy = 0; copy < kDictionaryCopies; ++copy) {
        unreadable += ReadDictionaryCopy(*Windows()[0], number, copy).ok() ? 0 : 1;
      }
      const bool is_file_lost = engine_->Recovery().files_damaged > 0;
      ++lost[is_file_lost ? 0 : unreadable];
    }
    Shut();
    flip();
    Open();
  }
  EXPECT_GE(lost[1], 1);
  EXPECT_EQ(lost[2], 0);
}

// Both are lost with their file: pages in other files that name it are told of.
TEST_F(SealDictionaryTest, OneThatWasLostWithItsFileIsToldAtOpening) {
  FillDay(0);
  SealAll();
  FillDay(0, kSensors, kDayMs / 2);
  SealAll();
  ASSERT_GE(WindowFiles().size(), 2u);
  const std::filesystem::path path = WindowFiles().front();
  Shut();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  Open();
  const std::vector<std::string>& notes = engine_->Recovery().notes;
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("texts of column 'state'") != std::string::npos;
  }));
}

// The bytes of the second copy change on the device before they are read back: the round is given
// up, another one seals all of it, and no more dictionaries are written in this run.
TEST_F(SealDictionaryTest, OneThatDoesNotReadBackEndsTheRound) {
  Shut();
  options_.log_sink = [this](LogLevel, std::string_view line) {
    const auto at = line.find("a seal round was given up: copy 1 of dictionary");
    given_up_ += at != std::string_view::npos ? 1 : 0;
  };
  Open();
  FillDay(0);
  g_point = "seal:before_read_back";
  const std::function<void()> damage = [&] {
    for (const std::filesystem::path& path : WindowFiles()) {
      // Behind the pages, before filter and index.
      const auto size = static_cast<int64_t>(std::filesystem::file_size(path));
      FlipBit(path, size - 3 * 1024);
    }
  };
  g_at_point = damage;
  g_crash_hook = AtPoint;
  SealAll();
  g_crash_hook = nullptr;
  EXPECT_EQ(given_up_, 1);
  ASSERT_EQ(Windows().size(), 1u);
  EXPECT_TRUE(Windows()[0]->record.dictionaries.empty());
  ExpectEveryLine();
  ExpectSound();
  Reopen();
  FillDay(2);
  SealAll();
  EXPECT_EQ(Windows()[1]->record.dictionaries.size(), 1u);
  ExpectEveryLine();
  ExpectSound();
}

}  // namespace
}  // namespace cistern::testing
