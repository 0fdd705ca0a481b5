// Days of log lines, sealed with trained dictionaries, and what became of them.
#ifndef CISTERN_TESTS_ENGINE_DICTIONARY_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_DICTIONARY_FIXTURE_H_

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/seal/text_trainer.h"
#include "lib/base/crash_point.h"
#include "storage/window_copy.h"
#include "storage/window_dictionaries.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/rng.h"

namespace cistern::testing {

using Lines = std::vector<std::pair<int64_t, std::string>>;  // ts and state

inline constexpr int kSensors = 200;
inline constexpr int kRows = 60;  // of a sensor a day

// What is done once, when a seal comes to the point: set g_crash_hook to AtPoint.
inline std::function<void()> g_at_point;
inline const char* g_point = "";
inline void AtPoint(const char* name) {
  if (std::string_view(name) == g_point && g_at_point) std::exchange(g_at_point, nullptr)();
}

class SealDictionaryTest : public EngineFixture {
 protected:
  SealDictionaryTest() {
    options_.seal_when_due = false;
    options_.memory_budget_bytes = 64 << 20;
  }
  void TearDown() override {
    g_crash_hook = nullptr;
    g_at_point = nullptr;
  }

  static std::string SensorName(int sensor) { return "s" + std::to_string(100 + sensor); }

  std::string NextLine() {
    static constexpr const char* kParts[] = {"modbus", "uplink", "watchdog", "storage"};
    static constexpr const char* kTexts[] = {
        ": read of register ", ": connection to broker.plant.local lost, attempt ",
        ": CRC mismatch on port /dev/ttyUSB0, bytes discarded: ", ": temperature of board "};
    std::string line = kParts[random_.Below(4)];
    line += kTexts[random_.Below(4)];
    return line + std::to_string(random_.Below(100'000));
  }

  // A day of lines of so many sensors, spilled; `late_ms` later than others.
  void FillDay(int64_t day, int sensors = kSensors, int64_t late_ms = 0) {
    const int64_t after_us = (kStartMs + (day + 1) * kDayMs) * 1000;
    if (clock_->WallMicros() < after_us) clock_->PassTo(after_us);
    for (int sensor = 0; sensor < sensors; ++sensor) {
      RowBatch batch(schema_);
      for (int i = 0; i < kRows; ++i) {
        const int64_t ts = kStartMs + day * kDayMs + late_ms + i * 60'000;
        std::string line = NextLine();
        batch.BeginRow();
        ASSERT_TRUE(batch.SetBytes(0, SensorName(sensor)).ok());
        ASSERT_TRUE(batch.SetInt(2, ts).ok());
        ASSERT_TRUE(batch.SetDouble(3, i).ok());
        ASSERT_TRUE(batch.SetBytes(4, line).ok());
        ASSERT_TRUE(batch.EndRow().ok());
        written_[SensorName(sensor)].emplace_back(ts, std::move(line));
      }
      ASSERT_TRUE(engine_->Append(batch).ok());
      Lines& lines = written_[SensorName(sensor)];
      std::sort(lines.begin(), lines.end());
    }
    Rotate();
  }

  // The lines of a sensor that can be read; whether that is all is in *is_whole.
  Lines ReadLines(const std::string& sensor, bool* is_whole) {
    ScanRequest request =
        Request(sensor, kStartMs + day_first_ * kDayMs, kStartMs + 100 * kDayMs);
    request.columns = {"ts", "state"};
    Lines lines;
    auto cursor = engine_->Scan(request);
    EXPECT_TRUE(cursor.ok()) << cursor.status().ToString();
    if (!cursor.ok()) return lines;
    ResultBatch batch;
    while ((*cursor)->Next(&batch)) {
      for (size_t i = 0; i < batch.row_count; ++i) {
        lines.emplace_back(batch.columns[0].fixed[i], batch.columns[1].bytes(i));
      }
    }
    *is_whole = (*cursor)->gaps().empty();
    EXPECT_EQ((*cursor)->status().ok(), *is_whole) << (*cursor)->status().ToString();
    return lines;
  }
  void ExpectEveryLine() {
    for (const auto& [sensor, lines] : written_) {
      bool is_whole = false;
      ASSERT_TRUE(ReadLines(sensor, &is_whole) == lines) << sensor;
      ASSERT_TRUE(is_whole);
    }
  }

  std::vector<std::shared_ptr<const WindowFamily>> Windows() {
    return Core()->store().spills().view()->windows;
  }
  uint64_t SealedBytes() {
    uint64_t bytes = 0;
    for (const auto& window : Windows()) bytes += window->record.byte_count;
    return bytes;
  }
  // Each window has one, of the column; their numbers.
  std::vector<uint64_t> ExpectOneInEachWindow() {
    std::vector<uint64_t> numbers;
    for (const auto& window : Windows()) {
      EXPECT_EQ(window->record.dictionaries.size(), 1u) << window->id;
      for (const WindowDictionary& d : window->record.dictionaries) {
        EXPECT_EQ(d.column, "state");
        numbers.push_back(d.number);
      }
    }
    return numbers;
  }
  std::vector<std::filesystem::path> WindowFiles() {
    std::vector<rocksdb::LiveFileMetaData> files;
    Core()->store().db().db()->GetLiveFilesMetaData(&files);
    std::vector<std::filesystem::path> paths;
    for (const auto& file : files) {
      if (!file.column_family_name.starts_with("window-")) continue;
      paths.push_back(std::filesystem::path(directory()) / file.relative_filename);
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }
  void Shut() {
    ASSERT_TRUE(engine_->Close().ok());
    engine_.reset();
  }
  void Overwrite(const WindowFamily& window, const std::string& key, const std::string& value) {
    ASSERT_TRUE(window.family->db()->Put({}, window.family->handle(), key, value).ok());
  }

  Rng random_{7};
  int64_t day_first_ = 0;  // of what is read
  int given_up_ = 0;  // rounds, for a copy that did not read back
  std::map<std::string, Lines> written_;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_DICTIONARY_FIXTURE_H_
