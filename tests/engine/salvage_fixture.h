// A store whose files are damaged, salvaged and opened: what both give is known.
#ifndef CISTERN_TESTS_ENGINE_SALVAGE_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_SALVAGE_FIXTURE_H_

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cistern/salvage.h"
#include "tests/engine/damaged_store_fixture.h"

namespace cistern::testing {

class SalvageFilesTest : public DamagedStoreFixture {
 protected:
  // What salvage makes of the store is opened, and holds what is expected.
  void ExpectSalvaged() {
    const std::string to = (std::filesystem::path(temp_.path()) / "salvaged").string();
    std::filesystem::remove_all(to);
    SalvageOptions options;
    options.clock = clock_;
    const auto report = Salvage(directory(), to, options);
    ASSERT_TRUE(report.ok()) << report.status().ToString();
    problems_ = report->problems;
    std::string told;
    for (const std::string& problem : problems_) told += problem + "\n";
    SCOPED_TRACE(told);
    EXPECT_EQ(report->versions_lost, 0u);
    EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(to) / "rescue"));
    const std::string damaged = directory();
    directory_ = to;
    Open();
    for (const auto& [sensor, rows] : expected_) EXPECT_EQ(ScanAll(sensor), rows) << sensor;
    EXPECT_EQ(engine_->GetMetrics().versions_confirmed, confirmed_);
    ExpectSound();
    Shut();
    directory_ = damaged;
  }
  void ExpectOpened(const std::string& told) {
    Open();
    ASSERT_NE(engine_, nullptr);
    const auto notes = engine_->Recovery().notes;
    EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
      return note.find(told) != std::string::npos;
    })) << told;
    EXPECT_FALSE(engine_->Recovery().clean);
    for (const auto& [sensor, rows] : expected_) EXPECT_EQ(ScanAll(sensor), rows) << sensor;
    Reopen();
    EXPECT_TRUE(engine_->Recovery().clean);
    Shut();
  }
  // Opening and salvage both say why; every one of the words is in it.
  void ExpectRefused(const std::vector<std::string>& words) {
    const auto opened = TryOpen(options_);
    EXPECT_EQ(opened.status().code(), StatusCode::kCorruption) << opened.status().ToString();
    const std::string to = (std::filesystem::path(temp_.path()) / "refused").string();
    const auto salvaged = Salvage(directory(), to, {.clock = clock_});
    EXPECT_EQ(salvaged.status().code(), StatusCode::kCorruption) << salvaged.status().ToString();
    for (const std::string& word : words) {
      EXPECT_NE(opened.status().message().find(word), std::string::npos)
          << word << ": " << opened.status().ToString();
      EXPECT_NE(salvaged.status().message().find(word), std::string::npos)
          << word << ": " << salvaged.status().ToString();
    }
  }
  [[nodiscard]] bool HasProblem(const std::string& part) const {
    return std::any_of(problems_.begin(), problems_.end(), [&](const std::string& problem) {
      return problem.find(part) != std::string::npos;
    });
  }
  // Another store with many changes of its catalog; its directory.
  std::string MakeOtherStore() {
    kept_ = (std::filesystem::path(temp_.path()) / "kept").string();
    std::filesystem::copy(PathOf("CATALOG-2"), kept_);
    directory_ = (std::filesystem::path(temp_.path()) / "other").string();
    OpenWithTable(kPumps);
    for (int n = 0; n < 40; ++n) {
      MustAppend("x", kStartMs + n, 1);
      Rotate();
    }
    Shut();
    return directory();
  }
  void Replace(const std::string& name, const std::string& from) {
    std::filesystem::copy(std::filesystem::path(from) / name, PathOf(name),
                          std::filesystem::copy_options::overwrite_existing);
  }
  void ExpectDoesNotOpen() {
    const auto opened = TryOpen(options_);
    EXPECT_EQ(opened.status().code(), StatusCode::kCorruption) << opened.status().ToString();
  }

  std::vector<std::string> problems_;
  std::string kept_;  // CATALOG-2 as the store left it
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_SALVAGE_FIXTURE_H_
