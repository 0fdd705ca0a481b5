// BucketGroup: all splits of one bucket, merged by clustering key.
#ifndef CISTERN_ENGINE_QUERY_BUCKET_GROUP_H_
#define CISTERN_ENGINE_QUERY_BUCKET_GROUP_H_

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/query/bucket_reader.h"
#include "engine/query/bucket_walk.h"
#include "engine/query/sealed_pages.h"

namespace cistern {

// Rows of one group, with the split that each came from.
struct GroupRows {
  VersionColumns rows;
  std::vector<uint32_t> splits;  // empty: all 0
};

// Where a scan resumes inside a group.
struct GroupPosition {
  RowPosition after;
  uint32_t split = 0;  // of that row: equal keys of later splits are still to come
};

// Equal clustering keys in different splits are different rows in Cassandra, and stay
// so: ascending scans give the lower split first, descending ones the higher.
//
// Fill by one thread at a time: the read-ahead or the cursor.
class BucketGroup {
 public:
  // `pages`, which must outlive this, are where the bucket before was read; null, if another thread
  // may read meanwhile. With `only_split` the others are left out.
  BucketGroup(const QueryContext* context, const ScanShape* shape, const std::string& entity,
              FoundBucket found, const GroupPosition* resume, SealedPages* pages,
              std::optional<uint32_t> only_split = std::nullopt);

  [[nodiscard]] int64_t start_s() const { return start_s_; }

  // Fills the first batch in a read-ahead thread. The group must outlive it: Take() or
  // WaitIdle() wait for it.
  void Prefetch(ReadAhead* read_ahead, size_t row_count_max);
  void WaitIdle();
  // How long the first rows took, in whichever thread; 0: none were asked for. Not while it is
  // filled.
  [[nodiscard]] int64_t open_us() const { return open_us_; }
  // The prefetched rows, or the next ones. No row: the group is exhausted.
  [[nodiscard]] Status Take(size_t row_count_max, GroupRows* out);
  // What was passed over so far, of all splits. Not while it is filled.
  [[nodiscard]] std::vector<ScanGap> Gaps() const;

 private:
  struct Lane {
    uint32_t split = 0;
    BucketReader reader;
    VersionColumns rows;
    size_t next = 0;
    bool exhausted = false;
  };
  void ReadSealed(FoundBucket found, SealedPages* pages);
  [[nodiscard]] Status Fill(size_t row_count_max, GroupRows* out);
  [[nodiscard]] Status FillRows(size_t row_count_max, GroupRows* out);
  [[nodiscard]] Result<bool> Refill(Lane* lane, size_t row_count_max);
  [[nodiscard]] bool Before(const Lane& a, const Lane& b) const;

  const QueryContext* const context_;
  const ScanShape* const shape_;
  const int64_t start_s_;
  std::optional<SealedPages> own_pages_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  int64_t open_us_ = 0;

  std::mutex mutex_;
  std::condition_variable idle_;
  bool running_ = false;
  bool prefetched_ = false;
  bool is_broken_ = false;  // an exception left a lane half way: there is no going on
  Status prefetch_status_;
  GroupRows prefetch_rows_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_BUCKET_GROUP_H_
