// JournalTimes: when the rows of journal records were written.
#ifndef CISTERN_STORAGE_JOURNAL_TIMES_H_
#define CISTERN_STORAGE_JOURNAL_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "lib/row/reconcile.h"
#include "storage/spill_reader.h"
#include "storage/table_set.h"

namespace cistern {

// Write timestamps, microseconds since 1970, inclusive.
struct WriteTimes {
  int64_t first_us = 0;
  int64_t last_us = 0;
  friend bool operator==(const WriteTimes&, const WriteTimes&) = default;
};

// No header and no record tells when rows were written, but a header names the journal records that
// they came with, and write timestamps never fall from record to record. So pages are read of some
// segments, and the times between two of them that are close are known. Of a hundred thousand open
// segments a few hundred pages are read, whatever rotations and rewritings have made of them.
//
// One thread.
class JournalTimes {
 public:
  // About those of the segment's rows: false by a minute at most, or by a sixteenth of their age at
  // `now_us`. Where its pages cannot be read, what its neighbours in the journal tell. Nothing:
  // they tell nothing either. A failed read is not remembered.
  [[nodiscard]] std::optional<WriteTimes> Of(const SegmentRef& segment, const TablePtr& table,
                                             std::shared_ptr<const BootBases> bases,
                                             int64_t now_us);
  // Since it was made.
  [[nodiscard]] uint64_t pages_read() const { return pages_read_; }

  // --- what Of does, without a store
  // Rows of the records first..last were written from `times.first_us` to `times.last_us`.
  void Note(uint64_t first, uint64_t last, const WriteTimes& times);
  [[nodiscard]] std::optional<WriteTimes> Find(uint64_t first, uint64_t last, int64_t now_us) const;

  // --- where the clock was ahead and was taken back, timestamps tell nothing
  // Every record up to `last` was there at that time of the clock.
  void NoteSeen(uint64_t last, int64_t now_us);
  // When the record was there; nothing: it was not seen yet.
  [[nodiscard]] std::optional<int64_t> SeenAt(uint64_t record) const;

 private:
  struct Around {
    std::optional<int64_t> before_us;  // of the record itself or the nearest one before it
    std::optional<int64_t> behind_us;  // of the record itself or the nearest one behind it
    [[nodiscard]] bool IsClose(int64_t now_us) const;
  };
  [[nodiscard]] Around FindAround(uint64_t record) const;
  [[nodiscard]] std::optional<WriteTimes> GuessOf(const SegmentRef& segment) const;
  [[nodiscard]] std::optional<WriteTimes> Read(const SegmentRef& segment, const TablePtr& table);

  std::shared_ptr<const BootBases> bases_;  // by which times_ are
  std::map<uint64_t, int64_t> times_;       // by record; they do not fall
  std::map<uint64_t, int64_t> seen_;        // the same
  uint64_t pages_read_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_JOURNAL_TIMES_H_
