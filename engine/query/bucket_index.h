// BucketIndex: which buckets of an entity are in the segments of a view, as far as that was asked.
#ifndef CISTERN_ENGINE_QUERY_BUCKET_INDEX_H_
#define CISTERN_ENGINE_QUERY_BUCKET_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/query/kept_pages.h"
#include "lib/base/memory_budget.h"
#include "storage/entity_buckets.h"
#include "storage/spill_set.h"

namespace cistern {

// Remembers answers, so that a small question costs no iterator over manifests; and of buckets of
// one page that page, so that it costs no lookup either. What is asked for rarely is forgotten
// first. All of it is kept memory, which gives way to whatever is charged; an allocation that fails
// means that something is not remembered. Windows are known by their numbers alone, so that none
// that ends is held. Any number of threads.
class BucketIndex {
 public:
  explicit BucketIndex(MemoryBudget* budget);

  // What there is of an entity at or behind a start, in a direction.
  struct Answer {
    std::vector<BucketOutline> splits;  // of the nearest bucket; empty: there is none
  };
  struct Question {
    uint32_t table_id = 0;
    std::string_view entity;
    int64_t at_s = 0;
    bool descending = false;
  };
  // Whether the nearest bucket of the view at or after at_s is known, descending at or before; then
  // *answer has it. Of a view with other buckets than the last one nothing is. *answer is empty
  // where it is not known.
  [[nodiscard]] bool Find(const std::shared_ptr<const SpillView>& view, const Question& question,
                          Answer* answer);
  // Remembers the answer, which was found in the view. Of an older view than the last that was
  // asked about nothing is remembered.
  void Note(const std::shared_ptr<const SpillView>& view, const Question& question,
            const Answer& answer);
  // How many buckets behind the one that was asked for are worth listing: more each time that the
  // entity is asked for something that is not known.
  [[nodiscard]] size_t NoteMiss(const Question& question);

  // Remember more of a bucket that is known, which is in the seal alone:
  // what was found of its rows, where the manifest does not tell;
  void NoteRows(const std::shared_ptr<const SpillView>& view, const BucketKey& bucket,
                uint64_t seal, const RowStatistics& rows);
  // that its first page was read, its last one, or both, and are sound;
  void NoteSound(const std::shared_ptr<const SpillView>& view, const BucketKey& bucket,
                 uint64_t seal, bool first, bool last);
  // and its only page, unless that is large.
  void KeepPage(const std::shared_ptr<const SpillView>& view, const BucketKey& bucket,
                uint64_t seal, std::string_view page);

 private:
  // A split of a bucket, and the starts from which the bucket is known to be the nearest: upwards
  // those of from_s..start_s, downwards those of start_s..to_s. Or the end of all: its start is the
  // highest or lowest there is.
  struct Part {
    int64_t start_s = 0;
    int64_t from_s = 0;
    int64_t to_s = 0;
    // As in BucketOutline.
    uint64_t window_id = 0;  // 0: none
    uint64_t seal = 0;
    uint64_t row_count = 0;
    int64_t first_time = 0;
    int64_t last_time = 0;
    uint32_t split = 0;
    uint32_t schema_version = 0;
    RowStatistics rows;
    uint32_t page_slot = KeptPages::kNoSlot;
    bool is_end = false;
    bool has_deletes = false;
    bool has_rows = false;  // whether `rows` says something
    bool first_is_sound = false;
    bool last_is_sound = false;
  };
  struct Entity {
    std::vector<Part> parts;  // by start and split
    uint32_t misses = 0;
  };
  struct Name {
    uint32_t table_id = 0;
    std::string_view entity;
  };
  struct OwnName {
    uint32_t table_id = 0;
    std::string entity;
    operator Name() const { return {table_id, entity}; }
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Name& name) const;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Name& a, const Name& b) const {
      return a.table_id == b.table_id && a.entity == b.entity;
    }
  };
  using Entities = std::unordered_map<OwnName, Entity, Hash, Equal>;
  // What is forgotten, so that it is freed behind the lock: declared before that is taken.
  struct Gone {
    Entities young;
    Entities old;
    KeptPages pages;
  };

  // The buckets that a view has: two with the same differ in what is counted alone.
  struct Buckets {
    uint64_t round_last = 0;
    std::vector<std::weak_ptr<const SpillFamily>> families;
    std::vector<uint64_t> windows;
    std::vector<uint64_t> ended;
  };
  [[nodiscard]] bool Knows(const std::shared_ptr<const SpillView>& view);
  [[nodiscard]] bool HasBucketsOf(const SpillView& view) const;
  [[nodiscard]] Entity* FindEntity(const Name& name, Gone* gone);
  [[nodiscard]] Part* FindPart(const std::shared_ptr<const SpillView>& view,
                               const BucketKey& bucket, uint64_t seal, Gone* gone);
  [[nodiscard]] bool Tell(const SpillView& view, const Entity& entity, const Question& question,
                          Answer* answer);
  void Add(const Name& name, const Part& place, const Answer& answer, Gone* gone);
  [[nodiscard]] static Part PartOf(const Part& place, const BucketOutline& outline);
  [[nodiscard]] static BucketOutline OutlineOf(const Part& part);
  [[nodiscard]] static size_t BytesOf(const Name& name, size_t part_count);
  [[nodiscard]] size_t GenerationBytes() const;
  [[nodiscard]] size_t HeldBytes() const;
  void GrowOld(Gone* gone);
  void BeginAnew(const std::shared_ptr<const SpillView>& view, Gone* gone);
  [[nodiscard]] bool TryKeep(size_t bytes);
  void TellHeld();
  void GiveWay(size_t bytes);

  MemoryBudget* const budget_;
  std::mutex mutex_;
  // Those that were asked for since the others grew old, and the others.
  Entities young_;
  Entities old_;
  size_t young_bytes_ = 0;
  size_t old_bytes_ = 0;
  KeptPages pages_;
  std::weak_ptr<const SpillView> seen_;  // the last one with these buckets
  Buckets buckets_;                      // of what is remembered
  KeptMemory kept_;                      // goes first
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_BUCKET_INDEX_H_
