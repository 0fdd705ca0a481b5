// SegmentWalker: every segment of open buckets, in the order of buckets.
#ifndef CISTERN_STORAGE_SEGMENT_WALKER_H_
#define CISTERN_STORAGE_SEGMENT_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "storage/seal_reader.h"
#include "storage/spill_reader.h"
#include "storage/spill_set.h"

namespace cistern {

// Walks over every segment of open buckets that counts, in bucket key order over all
// rotations: not over those that a seal has replaced. One thread.
//
// Rotations may be many, and an iterator holds a block of headers of each file of its family that
// is in level 0. So there is one for each family, and of each rotation some headers are read ahead.
class SegmentWalker {
 public:
  // Begins at the first bucket whose key bytes are >= `from`.
  SegmentWalker(std::shared_ptr<const SpillView> view, std::string_view from);
  ~SegmentWalker();
  // The next segment and its bucket; nothing at the end.
  struct Item {
    BucketKey bucket;
    SegmentRef segment;
    bool is_of_sealed = false;  // the bucket has seals
    bool is_replaced = false;   // one of them has the segment
  };
  [[nodiscard]] Result<std::optional<Item>> Next();
  // The next one, be it replaced: for who goes on later, however many of those there are.
  [[nodiscard]] Result<std::optional<Item>> NextOfAll();
  // Row versions, deletes included, that were passed over because they are sealed.
  [[nodiscard]] uint64_t versions_sealed() const { return versions_sealed_; }
  // About.
  [[nodiscard]] size_t MemoryBytes() const;

 private:
  struct Header {
    std::string key;
    std::string value;
  };
  // The headers of one rotation.
  struct Lane {
    size_t family = 0;  // of the view
    uint64_t rotation = 0;
    std::string end;            // behind the last one
    std::vector<Header> ahead;  // the next one last
    std::string from;           // where those behind them begin
    bool has_more = true;       // there may be some
    [[nodiscard]] std::string_view bucket_bytes() const;  // of the next one
  };
  [[nodiscard]] static bool Later(const Lane* a, const Lane* b);
  [[nodiscard]] Status Fill(Lane* lane);
  [[nodiscard]] Result<std::optional<Item>> NextSpilled();
  [[nodiscard]] Status FindCover(Item* item);

  const std::shared_ptr<const SpillView> view_;
  SealCovers seal_covers_;
  BucketKey bucket_;             // of the last segment
  SealCover cover_;              // of bucket_
  bool has_bucket_ = false;
  uint64_t versions_sealed_ = 0;
  std::vector<std::unique_ptr<rocksdb::Iterator>> iterators_;  // by family
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Lane*> heap_;  // least bucket key first
  size_t ahead_bytes_ = 0;
  Status status_;
};

// Visits what a SegmentWalker over the view finds, until the visitor returns false.
using SegmentVisitor = std::function<Result<bool>(const BucketKey&, SegmentRef)>;
[[nodiscard]] Status VisitSegments(std::shared_ptr<const SpillView> view, std::string_view from,
                                   const SegmentVisitor& visit);

}  // namespace cistern

#endif  // CISTERN_STORAGE_SEGMENT_WALKER_H_
