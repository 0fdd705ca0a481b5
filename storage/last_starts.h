// LastStarts: where the last bucket of each table begins.
#ifndef CISTERN_STORAGE_LAST_STARTS_H_
#define CISTERN_STORAGE_LAST_STARTS_H_

#include <algorithm>
#include <cstdint>
#include <map>

namespace cistern {

// Of the buckets that were noted. Not thread-safe.
class LastStarts {
 public:
  void Note(uint32_t table_id, int64_t start_s) {
    const auto [at, is_new] = starts_.try_emplace(table_id, start_s);
    at->second = std::max(at->second, start_s);
  }
  void Note(const LastStarts& others) {
    for (const auto& [table_id, start_s] : others.starts_) Note(table_id, start_s);
  }
  void Forget(uint32_t table_id) { starts_.erase(table_id); }
  // Whether a bucket of the table begins at `start_s` or later.
  [[nodiscard]] bool HasFrom(uint32_t table_id, int64_t start_s) const {
    const auto at = starts_.find(table_id);
    return at != starts_.end() && at->second >= start_s;
  }

 private:
  std::map<uint32_t, int64_t> starts_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_LAST_STARTS_H_
