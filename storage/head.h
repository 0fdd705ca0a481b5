// Head: the in-memory columns of the open buckets of one generation.
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
#include "storage/head_run.h"

namespace cistern {

class HeadBucket;

// One entity of the generation. Stays where it is while the head lives.
class EntitySlot {
 public:
  [[nodiscard]] uint32_t number() const { return number_; }  // 0, 1, 2, ... by first use
  [[nodiscard]] uint32_t table_id() const { return table_id_; }
  [[nodiscard]] std::string_view entity() const { return entity_; }
  [[nodiscard]] const std::shared_ptr<const TableSchema>& schema_ptr() const {
    return layout_->schema;
  }

 private:
  friend class Head;
  friend class HeadBucket;
  uint32_t number_ = 0;
  uint32_t table_id_ = 0;
  std::string_view entity_;
  const HeadLayout* layout_ = nullptr;
  HeadBucket* last_ = nullptr;        // the bucket of the newest row: the hot path
  std::vector<HeadBucket*> buckets_;  // by start, then split
};

// The rows of one bucket in this generation.
class HeadBucket {
 public:
  HeadBucket(const EntitySlot* entity, int64_t start_s, uint32_t split)
      : entity_(entity), start_s_(start_s), split_(split) {}
  [[nodiscard]] uint32_t table_id() const { return entity_->table_id(); }
  [[nodiscard]] std::string_view entity() const { return entity_->entity(); }
  [[nodiscard]] int64_t start_s() const { return start_s_; }
  [[nodiscard]] uint32_t split() const { return split_; }
  [[nodiscard]] uint64_t row_count() const { return uint64_t{main_.size()} + late_.size(); }
  [[nodiscard]] int64_t first_time() const { return first_time_; }  // ticks; with rows only
  [[nodiscard]] int64_t last_time() const { return last_time_; }
  // Journal sequences of its first and last row or delete.
  [[nodiscard]] uint64_t journal_first() const { return journal_first_; }
  [[nodiscard]] uint64_t journal_last() const { return journal_last_; }

 private:
  friend class Head;
  const EntitySlot* entity_;
  int64_t start_s_;
  uint32_t split_;
  uint64_t journal_first_ = 0;
  uint64_t journal_last_ = 0;
  int64_t first_time_ = 0;
  int64_t last_time_ = 0;
  HeadRun main_;
  HeadRun late_;
  mutable std::vector<uint32_t> late_order_;  // rows of late_ by key; guarded by sort_mutex_
  std::vector<RangeDelete> deletes_;
};

// Which rows CopyRows gives. The chunk is ascending in either direction; descending, it
// is the one that ends before the position.
struct CopyRequest {
  int64_t from = INT64_MIN;  // event times, from <= time < to
  int64_t to = INT64_MAX;
  bool unbounded_to = true;
  bool descending = false;
  const VersionColumns* after = nullptr;  // begin behind this row's key; null: at the end
  size_t after_row = 0;
  bool inclusive = false;                     // rows of that very key too
  size_t max_rows = 4096;                     // exceeded so that no key is cut
  const std::vector<bool>* wanted = nullptr;  // schema columns; others only with states
};

// One writer; readers under the lock of HeadSet. Const methods may run at the same time.
class Head {
 public:
  explicit Head(MemoryBudget* budget) : arena_(budget), charge_(budget) {}
  ~Head();
  Head(const Head&) = delete;
  Head& operator=(const Head&) = delete;

  [[nodiscard]] EntitySlot* FindOrAddEntity(uint32_t table_id,
                                            const std::shared_ptr<const TableSchema>& schema,
                                            std::string_view entity);
  [[nodiscard]] HeadBucket* FindOrAddBucket(EntitySlot* entity, int64_t start_s, uint32_t split);
  // Sequence of the journal record that later rows and deletes belong to.
  void set_sequence(uint64_t sequence) { sequence_ = sequence; }
  void AppendRow(HeadBucket* bucket, const RowBatch& batch, size_t row, const RowStamp& stamp);
  void AddRangeDelete(HeadBucket* bucket, const RangeDelete& range);

  [[nodiscard]] size_t memory_bytes() const { return arena_.memory_bytes() + charge_.bytes(); }
  [[nodiscard]] uint64_t version_count() const { return version_count_; }  // deletes included

  [[nodiscard]] const HeadBucket* FindBucket(uint32_t table_id, std::string_view entity,
                                             int64_t start_s, uint32_t split) const;
  // Start of the entity's first bucket at or after `at_s`, last at or before it.
  [[nodiscard]] std::optional<int64_t> NextBucketStart(uint32_t table_id, std::string_view entity,
                                                       int64_t at_s) const;
  [[nodiscard]] std::optional<int64_t> PreviousBucketStart(uint32_t table_id,
                                                           std::string_view entity,
                                                           int64_t at_s) const;
  [[nodiscard]] VersionColumns CopyRows(const HeadBucket& bucket, const CopyRequest& request) const;
  [[nodiscard]] const std::vector<RangeDelete>& deletes(const HeadBucket& bucket) const {
    return bucket.deletes_;
  }
  // Every bucket, by table, entity, start and split.
  [[nodiscard]] std::vector<const HeadBucket*> SortedBuckets() const;

 private:
  struct TableHead {
    std::unique_ptr<HeadLayout> layout;
    std::unordered_map<std::string_view, EntitySlot*> entities;
  };
  struct Place {
    bool late = false;
    uint32_t index = 0;
  };
  [[nodiscard]] const EntitySlot* FindEntity(uint32_t table_id, std::string_view entity) const;
  [[nodiscard]] bool IsLate(const HeadBucket& bucket, const RowBatch& batch, size_t row) const;
  void SortLate(const HeadBucket& bucket) const;
  [[nodiscard]] std::vector<Place> SelectRows(const HeadBucket& bucket,
                                              const CopyRequest& request) const;
  void Note(HeadBucket* bucket);
  void AddOwnBytes(size_t bytes);

  HeadArena arena_;
  MemoryCharge charge_;  // slots, buckets and maps
  size_t own_bytes_ = 0;
  std::unordered_map<uint32_t, TableHead> tables_;
  TableHead* last_table_ = nullptr;
  uint32_t last_table_id_ = 0;
  std::deque<EntitySlot> entities_;
  std::deque<HeadBucket> buckets_;
  uint64_t sequence_ = 0;
  uint64_t version_count_ = 0;
  mutable std::mutex sort_mutex_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_HEAD_H_
