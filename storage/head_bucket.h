// EntitySlot and HeadBucket: who has rows in a head generation, and in which buckets.
#ifndef CISTERN_STORAGE_HEAD_BUCKET_H_
#define CISTERN_STORAGE_HEAD_BUCKET_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lib/row/version_columns.h"
#include "storage/head_layout.h"
#include "storage/head_run.h"

namespace cistern {

class HeadBucket;

// One entity of the generation. Stays where it is while the head lives.
class EntitySlot {
 public:
  EntitySlot(uint32_t number, uint32_t table_id, const HeadLayout* layout, std::string_view entity)
      : number_(number), table_id_(table_id), layout_(layout), entity_(entity) {}

  [[nodiscard]] uint32_t number() const { return number_; }  // 0, 1, 2, ... by first use
  [[nodiscard]] uint32_t table_id() const { return table_id_; }
  [[nodiscard]] std::string_view entity() const { return entity_; }
  [[nodiscard]] const TableSchema& schema() const { return *layout_->schema; }
  [[nodiscard]] const std::shared_ptr<const TableSchema>& schema_ptr() const {
    return layout_->schema;
  }

  // The write timestamp of the entity's next row: the least that is not below `least_us` nor below
  // any before it, nor that of a row with the same key. Rows share one while their times rise.
  [[nodiscard]] int64_t StampRow(int64_t least_us, int64_t event_time) {
    if (stamped_us_ < least_us) {
      stamped_us_ = least_us;
    } else if (event_time <= stamped_time_) {
      ++stamped_us_;
    }
    stamped_time_ = event_time;
    return stamped_us_;
  }
  // That of a delete: above those of all rows before it, and below those of all after it.
  [[nodiscard]] int64_t StampDelete(int64_t least_us) {
    stamped_us_ = std::max(stamped_us_ + 1, least_us);
    stamped_time_ = INT64_MAX;
    return stamped_us_;
  }

 private:
  friend class Head;
  friend class HeadBucket;
  [[nodiscard]] std::span<HeadBucket* const> buckets() const { return {buckets_, bucket_count_}; }

  uint32_t number_;
  uint32_t table_id_;
  const HeadLayout* layout_;
  std::string_view entity_;         // in the arena
  int64_t stamped_us_ = INT64_MIN;  // write timestamp of the newest row or delete, effective
  int64_t stamped_time_ = 0;        // event time of that row
  HeadBucket* last_ = nullptr;      // the bucket of the newest row: the hot path
  const char* last_row_ = nullptr;  // the newest row itself, only to be prefetched
  EntitySlot* successor_ = nullptr; // whose row came next after this one's, the last time
  HeadBucket** buckets_ = nullptr;  // by start, then split; in the arena
  uint32_t bucket_count_ = 0;
  uint32_t bucket_room_ = 0;
};

// The rows of one bucket in this generation.
class HeadBucket {
 public:
  HeadBucket(EntitySlot* entity, int64_t start_s, uint32_t split)
      : entity_(entity), start_s_(start_s), split_(split) {}

  [[nodiscard]] uint32_t table_id() const { return entity_->table_id(); }
  [[nodiscard]] std::string_view entity() const { return entity_->entity(); }
  [[nodiscard]] const TableSchema& schema() const { return entity_->schema(); }
  [[nodiscard]] int64_t start_s() const { return start_s_; }
  [[nodiscard]] uint32_t split() const { return split_; }
  [[nodiscard]] uint64_t row_count() const {
    return uint64_t{main_.size()} + (side_ == nullptr ? 0 : side_->late.size());
  }
  [[nodiscard]] int64_t first_time() const { return first_time_; }  // ticks; with rows only
  [[nodiscard]] int64_t last_time() const { return last_time_; }
  // Write timestamp of the row or delete that came last.
  [[nodiscard]] int64_t newest_write_us() const {
    const char* late = side_ == nullptr ? nullptr : side_->late.last_row();
    int64_t newest = INT64_MIN;
    for (const char* row : {main_.last_row(), late}) {
      if (row != nullptr) newest = std::max(newest, HeadLayout::WriteOf(row));
    }
    if (side_ != nullptr && !side_->deletes.empty()) {
      newest = std::max(newest, side_->deletes.back().write_us);
    }
    return newest;
  }
  // Journal sequences of its first and last row or delete.
  [[nodiscard]] uint64_t journal_first() const { return journal_first_; }
  [[nodiscard]] uint64_t journal_last() const { return journal_last_; }

 private:
  friend class Head;
  friend class HeadReader;
  // What only some buckets have.
  struct Side {
    HeadRun late;                            // rows whose key is below the main run's last
    mutable std::vector<uint32_t> order;     // rows of `late` by key; guarded by the head
    std::vector<RangeDelete> deletes;
  };
  [[nodiscard]] const HeadLayout& layout() const { return *entity_->layout_; }

  EntitySlot* entity_;
  int64_t start_s_;
  uint32_t split_;
  bool has_equal_times_ = false;  // perhaps; false: every key of the main run is different
  uint64_t journal_first_ = 0;
  uint64_t journal_last_ = 0;
  int64_t first_time_ = 0;
  int64_t last_time_ = 0;  // the main run's last row has it: late rows are before that
  HeadRun main_;           // ascending; of equal keys the later arrival is behind
  Side* side_ = nullptr;   // owned by the head
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_HEAD_BUCKET_H_
