// What a process leaves that ends within the commit of segments.
#ifndef CISTERN_TESTS_ENGINE_LEFT_STORE_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_LEFT_STORE_FIXTURE_H_

#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "lib/base/crash_point.h"
#include "tests/engine/salvage_fixture.h"

namespace cistern::testing {

inline constexpr char kValves[] = R"(
CREATE TABLE plant.valves (
  sensor text, day date, ts timestamp, state text,
  PRIMARY KEY ((sensor, day), ts))
WITH comment = 'cistern: bucket day = 1 day';
)";

class LeftStoreFixture : public SalvageFilesTest {
 protected:
  // The directory as it is at the point of the next commit that `work` makes, behind `last`.
  template <typename Work>
  std::string EndAt(const std::string& point, const Work& work,
                    std::function<void()> last = [] {}) {
    const std::filesystem::path to = std::filesystem::path(temp_.path()) / "left";
    left_ = {directory(), to.string(), point, std::move(last), false,
             engine_ == nullptr ? nullptr : Core()->store().db().db()};
    g_crash_hook = KeepWhatIsLeft;
    work();
    g_crash_hook = nullptr;
    EXPECT_TRUE(HasLeft()) << point;
    return left_.to;
  }
  // Of that sensor and time; one bucket is sealed.
  void SealOf(const std::string& sensor, int64_t time_ms = kStartMs) {
    SealRequest request;
    request.due_only = false;
    request.table = schema_->name;
    request.entity = Entity(sensor);
    request.time = time_ms;
    const auto sealed = engine_->Seal(request);
    ASSERT_TRUE(sealed.ok()) << sealed.status().ToString();
    ASSERT_EQ(sealed->buckets, 1u);
  }
  static bool HasLeft() { return std::filesystem::exists(left_.to); }

 private:
  struct Left {
    std::string from;
    std::string to;
    std::string at;
    std::function<void()> last;
    bool is_committing;
    rocksdb::DB* db;  // null within an opening, where nothing is merged
  };
  static void KeepWhatIsLeft(const char* point) {
    const std::string name = point;
    left_.is_committing = left_.is_committing || name.ends_with(":before_commit");
    if (!left_.is_committing || name != left_.at || HasLeft()) return;
    left_.last();
    // A file that a merge removes meanwhile would be in no MANIFEST, or in one and not there.
    EXPECT_TRUE(left_.db == nullptr || left_.db->PauseBackgroundWork().ok());
    std::filesystem::copy(left_.from, left_.to, std::filesystem::copy_options::recursive);
    EXPECT_TRUE(left_.db == nullptr || left_.db->ContinueBackgroundWork().ok());
  }

  static inline Left left_;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_ENGINE_LEFT_STORE_FIXTURE_H_
