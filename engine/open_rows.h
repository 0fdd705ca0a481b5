// What is not sealed yet, since when, and why: for who watches that rows arrive.
#ifndef CISTERN_ENGINE_OPEN_ROWS_H_
#define CISTERN_ENGINE_OPEN_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cistern/options.h"
#include "cistern/replication.h"
#include "cistern/result.h"
#include "engine/engine_core.h"
#include "storage/journal_times.h"
#include "storage/segment_walker.h"

namespace cistern {

// One look at all that is open: the buckets of the heads, and the header of every open segment, 14
// us for each. It is made in slices, and holds nothing of the store between them: neither what is
// dropped meanwhile stays on the disk for it, nor is the store kept from being opened anew.
class OpenRowsWalk {
 public:
  // Where a slice ends. One bucket is looked at in each, whatever it has.
  struct Slice {
    size_t segments_max = 0;  // sealed ones count too
    uint64_t pages_max = 0;  // read, of those whose time is not known
    int64_t until_us = 0;    // monotonic
  };
  // `options` and `times`, which is kept from walk to walk, outlive it.
  OpenRowsWalk(const EngineOptions& options, JournalTimes* times);

  // Looks at some more; false: it was the end. The same core each time. kCorruption, kIoError: what
  // follows cannot be told, and it is the end.
  [[nodiscard]] Result<bool> Step(EngineCore* core, const Slice& slice);
  // Of what it has looked at: all but the count and the reason.
  [[nodiscard]] const OpenRows& found() const { return found_; }

 private:
  // The bucket at hand, as far as it is spilled.
  struct Bucket {
    BucketKey key;
    uint64_t versions = 0;
    uint64_t rows = 0;
    uint64_t bytes = 0;
    std::optional<int64_t> oldest_us;
    int64_t last_row_us = INT64_MIN;  // of those whose time is known
    std::optional<int64_t> full_us;   // since when it has had as much as one may have
  };
  void NoteHeads(EngineCore* core);
  void NoteOverdueInHead(EngineCore* core, const Head& head);
  [[nodiscard]] bool MayBeOverdueInHead(EngineCore* core, const Head& head) const;
  void NoteSegment(EngineCore* core, const SegmentRef& segment);
  void EndBucket(EngineCore* core);
  [[nodiscard]] int64_t KnownTime(int64_t write_us) const;
  [[nodiscard]] int64_t DueAtItsEnd(EngineCore* core, uint32_t table_id, int64_t start_s,
                                    int64_t last_row_us) const;
  [[nodiscard]] int64_t DueOf(EngineCore* core, const Bucket& bucket) const;
  [[nodiscard]] bool IsOverdue(int64_t due_us) const;
  void NoteOldest(int64_t write_us);
  void NoteOverdue(int64_t due_us, uint64_t versions);

  const EngineOptions& options_;
  JournalTimes* const times_;
  const SealLimits limits_;
  bool has_begun_ = false;
  int64_t now_us_ = 0;      // when it began
  std::string from_;        // the bucket with which the next slice begins, encoded
  Bucket bucket_;
  OpenRows found_;
  std::vector<uint64_t> overdue_in_heads_;  // checksums of bucket keys, ascending
};

// All of it at once, in the caller's thread. What cannot be told is in `why`.
[[nodiscard]] OpenRows FindOpenRows(EngineCore* core, const EngineOptions& options,
                                    JournalTimes* times);

// For a loop that has other things to do: looks again and again, in short slices and in a hundredth
// of the time. One thread.
class OpenRowsWatch {
 public:
  // `options` outlive it.
  explicit OpenRowsWatch(const EngineOptions& options) : options_(options) {}

  // Does what is due. Of an opening that was not the last one's it begins anew.
  void Turn(EngineCore* core);
  // Nothing of the former opening is asked any more.
  void Forget() { walk_.reset(); }
  // As of the last turn, the first walk as far as it has come.
  [[nodiscard]] const OpenRows& rows() const { return rows_; }

 private:
  void Count(EngineCore* core);
  [[nodiscard]] bool IsWalkDue(int64_t now_us) const;
  void StepWalk(EngineCore* core, int64_t began_us);

  const EngineOptions& options_;
  JournalTimes times_;
  OpenRows rows_;
  Status damage_;          // that the last walk met
  int64_t count_us_ = 0;   // when it is counted again; monotonic, as the others
  int64_t slice_us_ = 0;   // when a slice may be done
  int64_t walk_us_ = 0;    // when a walk is due, whatever was sealed
  uint64_t sealed_ = 0;    // buckets, when they were counted,
  uint64_t walked_sealed_ = 0;  // and when the last walk began
  bool has_walked_ = false;     // to the end, since there are rows
  std::optional<OpenRowsWalk> walk_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_OPEN_ROWS_H_
