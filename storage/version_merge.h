// VersionMerge: the row versions of one bucket from many sources, key by key.
#ifndef CISTERN_STORAGE_VERSION_MERGE_H_
#define CISTERN_STORAGE_VERSION_MERGE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cistern/result.h"
#include "lib/row/reconcile.h"
#include "storage/version_source.h"

namespace cistern {

// Rows begin..end-1 of a chunk.
struct ChunkRun {
  std::shared_ptr<const VersionColumns> chunk;
  size_t begin = 0;
  size_t end = 0;
};

// K-way merge by clustering key. Sources are opened only when the merge reaches their
// bound, so memory is that of the sources that overlap, a chunk each. One thread.
class VersionMerge {
 public:
  VersionMerge(const TableSchema& schema, bool descending)
      : schema_(schema), descending_(descending) {}

  void Add(std::unique_ptr<VersionSource> source);

  // Moves to the next clustering key in reading direction; false at the end.
  [[nodiscard]] Result<bool> NextKey();
  // The next rows, at most `row_count_max`, if one source has them for itself: no other has a row
  // of their event times or before, so they need not be merged with others;
  // all versions of a key are in it. Empty if it is not so. Ascending
  // merges alone. Does not move.
  [[nodiscard]] Result<ChunkRun> PeekRun(size_t row_count_max);
  // Passes so many rows of the run that was peeked at, not more than it has. Ends versions().
  void SkipRun(size_t row_count);
  // All versions of the current key, in no particular order. Valid until NextKey().
  [[nodiscard]] std::span<const VersionRef> versions() const { return versions_; }
  // Rows that the open sources hold in memory.
  [[nodiscard]] size_t MemoryBytes() const;

 private:
  struct Open {
    std::unique_ptr<VersionSource> source;
    std::shared_ptr<const VersionColumns> chunk;
    size_t taken = 0;  // rows of the chunk already passed
    [[nodiscard]] size_t index(bool descending) const {
      return descending ? chunk->row_count - 1 - taken : taken;
    }
  };
  [[nodiscard]] bool Before(const Open& a, const Open& b) const;
  [[nodiscard]] Status OpenDue();
  [[nodiscard]] Status Advance(size_t open_index);
  void FoldVersions();

  const TableSchema& schema_;
  const bool descending_;
  bool sorted_ = false;
  std::vector<std::unique_ptr<VersionSource>> waiting_;  // by bound, soonest last
  std::vector<Open> open_;                               // unordered; few
  std::vector<VersionRef> versions_;
  std::vector<std::shared_ptr<const VersionColumns>> pinned_;  // chunks that versions_ refers to
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_VERSION_MERGE_H_
