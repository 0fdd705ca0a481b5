// StampModel: the write timestamps that a store gives, told from its writes alone.
#ifndef CISTERN_TESTS_SUPPORT_STAMP_MODEL_H_
#define CISTERN_TESTS_SUPPORT_STAMP_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace cistern::testing {

// For a store whose clock is always believed, and that one thread writes to.
class StampModel {
 public:
  // A commit at `wall_us` into a head generation: that of the one before, if it has its address in
  // the same opening of the store.
  void Begin(int64_t wall_us, const std::shared_ptr<const void>& opening, const void* generation) {
    least_us_ = std::max(least_us_, wall_us / 1000 * 1000);
    if (opening_.lock() == opening && generation == generation_) return;
    opening_ = opening;
    generation_ = generation;
    least_us_ = std::max(least_us_, largest_us_ + 1);
    newest_.clear();
  }
  // Versions of one row never have the same.
  int64_t OfRow(const std::string& entity, int64_t event_time) {
    const auto [it, is_new] = newest_.try_emplace(entity, Newest{least_us_, event_time});
    Newest& newest = it->second;
    if (newest.write_us < least_us_) {
      newest.write_us = least_us_;
    } else if (!is_new && event_time <= newest.event_time) {
      ++newest.write_us;
    }
    newest.event_time = event_time;
    return Note(newest.write_us);
  }
  int64_t OfDelete(const std::string& entity) {
    const auto it = newest_.find(entity);
    const int64_t above_us = it == newest_.end() ? least_us_ : it->second.write_us + 1;
    newest_[entity] = Newest{std::max(least_us_, above_us), INT64_MAX};
    return Note(newest_[entity].write_us);
  }

 private:
  struct Newest {
    int64_t write_us = 0;
    int64_t event_time = 0;
  };
  int64_t Note(int64_t write_us) {
    largest_us_ = std::max(largest_us_, write_us);
    return write_us;
  }

  std::weak_ptr<const void> opening_;
  const void* generation_ = nullptr;
  int64_t least_us_ = 0;
  int64_t largest_us_ = 0;
  std::map<std::string, Newest> newest_;  // of the generation
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_STAMP_MODEL_H_
