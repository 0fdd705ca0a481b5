// A store that spills fast: rows that do not compress, little memory, several families.
#ifndef CISTERN_TESTS_ENGINE_SPILL_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_SPILL_FIXTURE_H_

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "storage/spill_set.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {

class SpillFixture : public EngineFixture {
 protected:
  static constexpr size_t kRowsPerRotation = 100;

  SpillFixture() {
    options_.memory_budget_bytes = 8 << 20;
    options_.log_sink = [this](LogLevel, std::string_view line) { log_.emplace_back(line); };
  }

  // One rotation of 100 rows, a share for each sensor: "abc" are three. 800 KB, by text_bytes_.
  void Fill(std::string_view sensors) {
    RowBatch batch(schema_);
    for (size_t i = 0; i < kRowsPerRotation; ++i) {
      const std::string sensor(1, sensors[i % sensors.size()]);
      batch.BeginRow();
      ASSERT_TRUE(batch.SetBytes(0, sensor).ok());
      ASSERT_TRUE(batch.SetInt(2, next_ts_).ok());
      ASSERT_TRUE(batch.SetDouble(3, static_cast<double>(i)).ok());
      std::string noise;
      while (noise.size() < text_bytes_) {
        noise.push_back(static_cast<char>('!' + random_.Below(90)));
      }
      ASSERT_TRUE(batch.SetBytes(4, noise).ok());
      ASSERT_TRUE(batch.EndRow().ok());
      expected_[sensor].emplace_back(next_ts_++, static_cast<double>(i));
    }
    ASSERT_TRUE(engine_->Append(batch, {Durability::kLog}).ok());
    Rotate();
  }
  void FillUntilFamilies(size_t count, std::string_view sensors) {
    for (int i = 0; i < 40 && Families().size() < count; ++i) Fill(sensors);
    ASSERT_EQ(Families().size(), count);
  }
  // More families than there may be: the oldest is due to be rewritten.
  void FillUntilRespillIsDue() {
    FillUntilFamilies(SpillLimits{}.family_count_max + 1, "abcdefghij");
  }
  void TickUntilIdle() {
    for (int i = 0; i < 10'000; ++i) {
      const auto report = engine_->Tick({16});
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      if (!report->more_due) return;
    }
    FAIL() << "maintenance does not come to an end";
  }

  std::vector<std::shared_ptr<const SpillFamily>> Families() {
    return Core()->store().spills().view()->families;
  }
  uint64_t Oldest() { return Families().front()->id; }
  [[nodiscard]] bool Said(std::string_view text) const {
    return std::any_of(log_.begin(), log_.end(), [text](const std::string& line) {
      return line.find(text) != std::string::npos;
    });
  }
  // Every row that was filled in, but those of the given sensors.
  void ExpectAllBut(std::string_view sensors) {
    for (const auto& [sensor, rows] : expected_) {
      if (sensors.find(sensor) == std::string_view::npos) {
        EXPECT_EQ(ScanAll(sensor), rows) << sensor;
      }
    }
  }

  size_t text_bytes_ = 8000;  // of each row that Fill() makes
  Rng random_{1};
  int64_t next_ts_ = kStartMs;
  std::map<std::string, Rows> expected_;
  std::vector<std::string> log_;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_SPILL_FIXTURE_H_
