// Head: the in-memory rows of the open buckets of one generation.
//
// Rows in order go to the end of their bucket's main run, late ones to a side run that
// is sorted when it is read. Head plus journal are the memtable and its log.
#ifndef CISTERN_STORAGE_HEAD_H_
#define CISTERN_STORAGE_HEAD_H_

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cistern/schema.h"
#include "lib/base/memory_budget.h"
#include "lib/row/version_columns.h"
#include "storage/bucket_starts.h"
#include "storage/head_bucket.h"
#include "storage/head_entity_map.h"

namespace cistern {

// Which rows CopyRows gives. The chunk is ascending in either direction; descending, it
// is the one that ends before the position.
struct CopyRequest {
  int64_t from = INT64_MIN;  // event times, from <= time < to
  int64_t to = INT64_MAX;
  bool unbounded_to = true;
  bool descending = false;
  const VersionColumns* after = nullptr;  // begin behind this row's key; null: at the end
  size_t after_row = 0;
  bool inclusive = false;                 // rows of that very key too
  size_t max_rows = 4096;                 // exceeded so that no key is cut
  const std::vector<bool>* wanted = nullptr;  // schema columns; others only with states
};

// One writer; readers under the lock of HeadSet. Const methods may run at the same time.
class Head {
 public:
  explicit Head(MemoryBudget* budget) : arena_(budget), charge_(budget) {}
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;

  // The schema that comes first with a table stays its schema in this generation.
  [[nodiscard]] EntitySlot* FindOrAddEntity(uint32_t table_id,
                                            const std::shared_ptr<const TableSchema>& schema,
                                            std::string_view entity);
  [[nodiscard]] HeadBucket* FindOrAddBucket(EntitySlot* entity, int64_t start_s, uint32_t split) {
    HeadBucket* last = entity->last_;
    if (last != nullptr && last->start_s_ == start_s && last->split_ == split) return last;
    return FindOrAddOtherBucket(entity, start_s, split);
  }
  // Asks the machine for the memory that the entity's next row touches.
  static void PrefetchRow(const EntitySlot& slot);
  // Sequence of the journal record that later rows and deletes belong to.
  void set_sequence(uint64_t sequence) { sequence_ = sequence; }
  void AppendRow(HeadBucket* bucket, const RowBatch& batch, size_t row, const RowStamp& stamp);
  void AddRangeDelete(HeadBucket* bucket, const RangeDelete& range);

  [[nodiscard]] size_t memory_bytes() const { return arena_.memory_bytes() + own_bytes_; }
  [[nodiscard]] uint64_t version_count() const { return version_count_; }  // deletes included
  [[nodiscard]] const BucketStarts& bucket_starts() const { return bucket_starts_; }

  [[nodiscard]] const HeadBucket* FindBucket(uint32_t table_id, std::string_view entity,
                                             int64_t start_s, uint32_t split) const;
  // Start of the entity's first bucket at or after `at_s`, last at or before it.
  [[nodiscard]] std::optional<int64_t> NextBucketStart(uint32_t table_id, std::string_view entity,
                                                       int64_t at_s) const;
  [[nodiscard]] std::optional<int64_t> PreviousBucketStart(uint32_t table_id,
                                                           std::string_view entity,
                                                           int64_t at_s) const;
  // Splits of the entity's bucket that have rows or deletes here, ascending.
  [[nodiscard]] std::vector<uint32_t> SplitsOf(uint32_t table_id, std::string_view entity,
                                               int64_t start_s) const;
  // A copy of the asked versions by ascending key; of one key the newest write first.
  [[nodiscard]] VersionColumns CopyRows(const HeadBucket& bucket, const CopyRequest& request) const;
  // The same instead of what *rows holds, whose memory is used again. Not request.after's.
  void CopyRows(const HeadBucket& bucket, const CopyRequest& request, VersionColumns* rows) const;
  // All of them.
  [[nodiscard]] VersionColumns ToSorted(const HeadBucket& bucket) const;
  [[nodiscard]] const std::vector<RangeDelete>& deletes(const HeadBucket& bucket) const;
  // Every bucket, in the order of bucket keys: table, length of the entity, entity, start,
  // split.
  [[nodiscard]] std::vector<const HeadBucket*> SortedBuckets() const;

 private:
  [[nodiscard]] EntitySlot* AddEntity(uint64_t hash, uint32_t table_id,
                                      const std::shared_ptr<const TableSchema>& schema,
                                      std::string_view entity);
  static void PrefetchSlots(const EntitySlot& slot);
  [[nodiscard]] HeadBucket* FindOrAddOtherBucket(EntitySlot* entity, int64_t start_s,
                                                 uint32_t split);
  [[nodiscard]] const HeadLayout* LayoutOf(uint32_t table_id,
                                           const std::shared_ptr<const TableSchema>& schema);
  [[nodiscard]] const EntitySlot* FindEntity(uint32_t table_id, std::string_view entity) const;
  [[nodiscard]] bool IsLate(const HeadBucket& bucket, const RowBatch& batch, size_t row,
                            int64_t time) const;
  [[nodiscard]] HeadBucket::Side* SideOf(HeadBucket* bucket);
  void SortLate(const HeadBucket& bucket) const;
  void Note(HeadBucket* bucket);
  void SetOwnBytes(size_t bytes);

  HeadArena arena_;      // slots, buckets and rows
  MemoryCharge charge_;  // the rest
  size_t own_bytes_ = 0;
  size_t side_bytes_ = 0;
  HeadEntityMap entities_;
  EntitySlot* newest_ = nullptr;  // found or added last
  std::unordered_map<uint32_t, std::unique_ptr<HeadLayout>> layouts_;
  std::deque<HeadBucket::Side> sides_;
  uint64_t sequence_ = 0;
  uint64_t version_count_ = 0;
  uint64_t bucket_count_ = 0;
  BucketStarts bucket_starts_;
  mutable std::mutex sort_mutex_;  // the orders of late rows, which readers bring up to date
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_HEAD_H_
