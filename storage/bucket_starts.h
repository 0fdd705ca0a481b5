// BucketStarts: where the first and the last bucket of each table begin.
#ifndef CISTERN_STORAGE_BUCKET_STARTS_H_
#define CISTERN_STORAGE_BUCKET_STARTS_H_

#include <algorithm>
#include <cstdint>
#include <map>

namespace cistern {

// Of the buckets that were noted. Not thread-safe.
class BucketStarts {
 public:
  struct Range {
    int64_t first_s = 0;
    int64_t last_s = 0;
  };

  void Note(uint32_t table_id, int64_t start_s) { Note(table_id, Range{start_s, start_s}); }
  void Note(const BucketStarts& others) {
    for (const auto& [table_id, range] : others.ranges_) Note(table_id, range);
  }
  void Forget(uint32_t table_id) { ranges_.erase(table_id); }
  // By table.
  [[nodiscard]] const std::map<uint32_t, Range>& ranges() const { return ranges_; }
  // Whether a bucket of the table begins at `start_s` or later.
  [[nodiscard]] bool HasFrom(uint32_t table_id, int64_t start_s) const {
    const auto at = ranges_.find(table_id);
    return at != ranges_.end() && at->second.last_s >= start_s;
  }

 private:
  void Note(uint32_t table_id, const Range& range) {
    Range& known = ranges_.try_emplace(table_id, range).first->second;
    known.first_s = std::min(known.first_s, range.first_s);
    known.last_s = std::max(known.last_s, range.last_s);
  }

  std::map<uint32_t, Range> ranges_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_BUCKET_STARTS_H_
