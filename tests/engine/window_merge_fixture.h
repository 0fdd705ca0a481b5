// A store whose windows come to their bound, day by day, and what must be true of it.
#ifndef CISTERN_TESTS_ENGINE_WINDOW_MERGE_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_WINDOW_MERGE_FIXTURE_H_

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/base/crash_point.h"
#include "tests/engine/engine_fixture.h"

namespace cistern::testing {

inline constexpr int64_t kDayS = 86'400;
inline constexpr size_t kBound = 8;  // of the smallest memory budget

inline std::function<void()> g_at_point;
inline const char* g_point = nullptr;
inline std::function<bool()> g_is_armed;  // null: it is; once true it is asked no more
inline void AtPoint(const char* name) {
  if (g_is_armed && !g_is_armed()) return;
  g_is_armed = nullptr;
  if (g_point == nullptr || std::string_view(name) != g_point) return;
  g_point = nullptr;
  g_at_point();
}

// A table of one bucket a day and, without a TTL, windows of two days.
class WindowMergeTest : public EngineFixture {
 protected:
  WindowMergeTest() {
    options_.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
    options_.seal_when_due = false;
  }
  void TearDown() override {
    g_crash_hook = nullptr;
    g_point = nullptr;
    g_is_armed = nullptr;
  }

  // Two rows of `pump` on each of `days` days from `day_` on, each sealed when it is over.
  void LiveDays(int days, const std::string& pump = "a") {
    for (const int end = day_ + days; day_ < end; ++day_) {
      for (const int64_t at_ms : {int64_t{0}, kDayMs / 2}) {
        MustAppend(pump, kStartMs + day_ * kDayMs + at_ms, day_);
        written_.emplace_back(kStartMs + day_ * kDayMs + at_ms, day_);
      }
      clock_->AdvanceSeconds(kDayS);
      SealAll();
      ASSERT_LE(Windows().size(), kBound) << "day " << day_;
    }
  }
  std::vector<std::shared_ptr<const WindowFamily>> Windows() {
    return Core()->store().spills().view()->windows;
  }
  bool HasWindowOfAllTimes() {
    const auto windows = Windows();
    return std::any_of(windows.begin(), windows.end(),
                       [](const auto& w) { return w->record.span == WindowSpan{}; });
  }
  Rows ScanEverything(const std::string& pump = "a") {
    return Scan(pump, kStartMs, kStartMs + 100 * kDayMs);
  }
  // What each bucket's last seal is, by bucket.
  std::map<std::string, std::pair<uint64_t, uint64_t>> Seals() {
    std::map<std::string, std::pair<uint64_t, uint64_t>> out;
    const Status s = engine_->ListBuckets([&](const BucketInfo& info) {
      out[info.bucket] = {info.seal_sequence, info.versions};
      return true;
    });
    EXPECT_TRUE(s.ok()) << s.ToString();
    return out;
  }
  // Keys of meta that begin with the tag and, for a window, with its number.
  uint64_t KeysOf(const std::string& prefix) {
    const auto view = Core()->store().spills().view();
    const std::unique_ptr<rocksdb::Iterator> it(
        view->meta->db()->NewIterator({}, view->meta->handle()));
    uint64_t count = 0;
    for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) ++count;
    return count;
  }
  // Nothing is left of what was merged, given up or cut short: manifests, outbox entries and
  // families are those of the live windows.
  void ExpectNoRemains() {
    uint64_t seals = 0;
    for (const auto& window : Windows()) {
      seals += window->record.seal_count;
      EXPECT_EQ(KeysOf(ManifestKeyFrom(window->id, "")), window->record.seal_count);
      EXPECT_EQ(KeysOf(OutboxKeyFrom(window->id)), window->record.seal_count);
    }
    EXPECT_EQ(KeysOf("M"), seals);
    EXPECT_EQ(KeysOf("O"), seals);
    EXPECT_EQ(KeysOf("W"), Windows().size());
    std::vector<std::string> families;
    ASSERT_TRUE(
        rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), directory(), &families).ok());
    const auto count = std::count_if(families.begin(), families.end(), [](const auto& name) {
      return name.starts_with("window-");
    });
    EXPECT_EQ(static_cast<size_t>(count), Windows().size());
  }

  int day_ = 0;
  Rows written_;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_WINDOW_MERGE_FIXTURE_H_
