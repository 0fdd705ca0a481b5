// DuplicateWatch: which rows of a run replace what earlier rows of the run said.
#ifndef CISTERN_TOOLS_DUPLICATE_WATCH_H_
#define CISTERN_TOOLS_DUPLICATE_WATCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "cistern/row_batch.h"
#include "cistern/schema.h"

namespace cistern::tool {

// Two rows of one key replace one another where both set a column. Rows that set different columns
// are merged, and nothing is lost, as when a line has the temperature and the next one the
// humidity of one time.
//
// Memory is bounded: two generations of at most 12 MiB each. A generation that is full becomes the
// older one, and the older one is forgotten, so a row is compared with at least the `rows_max`
// before it. A row beyond all times of its entity so far is new without a comparison: recordings in
// the order of time are judged exactly, however long they are, and at little cost: their rows
// are put on a list, which becomes a table when the first row has to be looked for.
// Keys are compared by 64 bits of a hash: among a million rows one is taken for another with a
// chance of 1 in 40 million. One thread at a time.
class DuplicateWatch {
 public:
  enum class Verdict {
    kNew,       // or merged with earlier rows
    kReplaces,  // a value of an earlier row
    kUnknown,   // an earlier row may have been forgotten
  };
  static constexpr size_t kRowsMax = 256 * 1024;
  static constexpr size_t kEntitiesMax = 64 * 1024;

  explicit DuplicateWatch(std::shared_ptr<const TableSchema> schema, size_t rows_max = kRowsMax);

  // What the row is beside those added before, of which it is one from now on.
  [[nodiscard]] Verdict Add(const RowBatch& batch, size_t row);
  // What the row is. Nothing is added.
  [[nodiscard]] Verdict Look(const RowBatch& batch, size_t row);
  // The row, which was kNew or kUnknown when it was added, was not stored after all.
  void Forget(const RowBatch& batch, size_t row);

 private:
  // Open addressing with linear probing; at most three quarters full. Key 0: empty.
  struct Slot {
    uint64_t key = 0;
    uint64_t columns = 0;  // that are set: bit i is the i-th of a group of 64 regular columns
  };
  class Generation {
   public:
    // Rows; a key counts as often as it was put on the list.
    [[nodiscard]] size_t size() const { return used_ + listed_.size(); }
    // Of a key that is not in it.
    void List(Slot row) { listed_.push_back(row); }
    // Of any key.
    void Insert(Slot row);
    // The columns that rows of the key set; nullptr: there are none. Valid until the next change.
    [[nodiscard]] uint64_t* Find(uint64_t key);

   private:
    Slot* SlotOf(uint64_t key);  // the one that has the key, or the empty one for it
    void TakeList();

    std::vector<Slot> listed_;  // not in slots_ as yet
    std::vector<Slot> slots_;   // a power of two; empty: no row was looked for
    size_t used_ = 0;           // slots
  };
  struct Span {  // times of one entity so far
    int64_t first = INT64_MAX;
    int64_t last = INT64_MIN;
  };
  struct Row {
    uint64_t key = 0;      // a hash of all key columns
    Span* span = nullptr;  // of its entity; nullptr: there are too many entities
    int64_t time = 0;
  };

  Row Take(const RowBatch& batch, size_t row);
  void FindSpan(const RowBatch& batch, size_t row);
  [[nodiscard]] static bool IsBeyond(const Row& row) {
    return row.span != nullptr && (row.time > row.span->last || row.time < row.span->first);
  }
  // Calls visit(key, columns) for each group of 64 regular columns of which the row sets some.
  template <typename Visit>
  void ForEachGroup(const RowBatch& batch, size_t row, uint64_t key, const Visit& visit) const;
  Verdict Judge(const RowBatch& batch, size_t row, const Row& taken);
  void Insert(uint64_t key, uint64_t columns, bool is_beyond);

  const std::shared_ptr<const TableSchema> schema_;
  const size_t rows_max_;
  Generation young_;
  Generation old_;
  bool has_forgotten_ = false;
  std::unordered_map<uint64_t, Span> spans_;  // by a hash of the entity
  // Of the last row, since rows of one entity often follow one another:
  std::string last_packed_;    // its entity columns
  uint64_t last_entity_ = 0;   // a hash of them
  Span* last_span_ = nullptr;
  std::string packed_;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_DUPLICATE_WATCH_H_
