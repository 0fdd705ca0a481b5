// EntityBuckets: the buckets of one entity in order of time, and what each consists of.
#ifndef CISTERN_STORAGE_ENTITY_BUCKETS_H_
#define CISTERN_STORAGE_ENTITY_BUCKETS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "lib/segment/page_statistics.h"
#include "storage/seal_cover.h"
#include "storage/seal_reader.h"
#include "storage/spill_set.h"

namespace cistern {

// A bucket in segments.
struct BucketParts {
  int64_t start_s = 0;
  uint32_t split = 0;
  // Of its seals, if it has one alone, whose manifest is sound, and nothing of it is spilled; null
  // otherwise: then ListSegments tells what there is.
  std::shared_ptr<const WindowFamily> window;
  uint64_t seal = 0;
  Manifest manifest;
};

// A bucket in segments, or one split of it, as far as a scan has to know it.
struct BucketOutline {
  int64_t start_s = 0;
  uint32_t split = 0;
  // Of its seal, if it has one alone, whose manifest is sound, and nothing of it is spilled; null
  // otherwise: then the rest means nothing, and ListSegments tells what there is.
  std::shared_ptr<const WindowFamily> window;
  uint64_t seal = 0;
  // What the manifest says.
  uint64_t row_count = 0;
  bool has_deletes = false;  // of ranges
  int64_t first_time = 0;    // event times, inclusive; 0 without rows
  int64_t last_time = 0;
  uint32_t schema_version = 0;
  std::optional<RowStatistics> rows;  // none: there are no statistics, or they do not parse
  // Whether the page with the first row, or the last, was read since the store was opened, and is
  // sound; false: nobody knows.
  bool first_is_sound = false;
  bool last_is_sound = false;
  // Its only page, where a reader was asked to keep it; null otherwise.
  std::shared_ptr<const std::string> page;
};

[[nodiscard]] BucketOutline OutlineOf(const BucketParts& parts);

// Walks over manifests side by side, a window's one after another, so a bucket costs the step of
// an iterator. Nothing of heads. One thread.
class EntityBuckets {
 public:
  // Begins at the first bucket that starts at or after `from_s`.
  EntityBuckets(std::shared_ptr<const SpillView> view, uint32_t table_id, std::string entity,
                int64_t from_s);
  ~EntityBuckets();

  [[nodiscard]] const SpillView& view() const { return *view_; }
  // The next bucket; false at the end. Reuses what *parts holds. kCorruption: a key does not parse.
  [[nodiscard]] Result<bool> Next(BucketParts* parts);

 private:
  struct Place {
    int64_t start_s = 0;
    uint32_t split = 0;
    friend auto operator<=>(const Place&, const Place&) = default;
  };
  struct Window {
    std::shared_ptr<const WindowFamily> family;
    std::string prefix;  // of its manifests of the entity
    std::unique_ptr<rocksdb::Iterator> iterator;
    Place place;
    uint64_t seal = 0;
  };
  struct Rotation {
    size_t family = 0;
    uint64_t sequence = 0;
    Place place;
  };
  [[nodiscard]] Status SeekAll();
  [[nodiscard]] Status OpenDue();
  [[nodiscard]] Result<bool> Open(Window* window);
  [[nodiscard]] Result<bool> Land(Window* window) const;
  [[nodiscard]] Result<bool> Seek(Rotation* rotation, const Place& from);
  [[nodiscard]] Result<bool> TakeSeals(const Place& place, BucketParts* parts, SealCover* cover);
  [[nodiscard]] Result<bool> TakeSpilled(const Place& place, SealCover* cover);
  [[nodiscard]] std::optional<Place> Least() const;

  const std::shared_ptr<const SpillView> view_;
  const uint32_t table_id_;
  const std::string entity_;
  const int64_t from_s_;
  std::vector<Window> windows_;      // that are open and have more
  std::unique_ptr<rocksdb::Iterator> spare_;  // of a window that has no more, for the next
  std::vector<std::shared_ptr<const WindowFamily>> waiting_;  // by start, latest first
  std::vector<std::unique_ptr<rocksdb::Iterator>> headers_;   // by spill family
  std::vector<Rotation> rotations_;  // that have more
  bool is_begun_ = false;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_ENTITY_BUCKETS_H_
