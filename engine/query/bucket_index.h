// BucketIndex: which buckets of an entity are in the segments of a view, as far as that was asked.
#ifndef CISTERN_ENGINE_QUERY_BUCKET_INDEX_H_
#define CISTERN_ENGINE_QUERY_BUCKET_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/base/memory_budget.h"
#include "storage/entity_buckets.h"
#include "storage/spill_set.h"

namespace cistern {

// Remembers answers, so that a small question costs no iterator over manifests; and of buckets of
// one page that page, so that it costs no lookup either. What is asked for rarely is forgotten
// first. All is charged to the budget, and given up where little is left of it. Windows are known
// by their numbers alone, so that none that ends is held. Any number of threads.
class BucketIndex {
 public:
  explicit BucketIndex(MemoryBudget* budget) : charge_(budget), budget_(budget) {}

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
  // Remembers more of a bucket in the view that is known: what was found of its rows, where the
  // manifest does not tell.
  void NoteRows(const std::shared_ptr<const SpillView>& view, const BucketKey& bucket,
                const RowStatistics& rows);
  // Remembers the only page of a seal in the view, unless it is large.
  void KeepPage(const std::shared_ptr<const SpillView>& view, uint64_t seal,
                std::string_view page);
  // Forgets all, so that its memory is free.
  void Forget();
  // How many buckets behind the one that was asked for are worth listing: more each time that the
  // entity is asked for something that is not known.
  [[nodiscard]] size_t NoteMiss(const Question& question);

 private:
  struct Split {
    uint64_t window_id = 0;  // 0: none
    BucketOutline outline;   // without its window and page
  };
  // A bucket, and the starts from which it is known to be the nearest: upwards those of
  // from_s..start_s, downwards those of start_s..to_s. Without splits the end of all: its start is
  // the highest or lowest there is.
  struct Place {
    int64_t start_s = 0;
    int64_t from_s = 0;
    int64_t to_s = 0;
    std::vector<Split> splits;
  };
  struct Entity {
    std::vector<Place> places;  // by start
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
  // Those of either kind that were asked for since the others grew old, and the others.
  template <typename Map>
  struct Generations {
    Map young;
    Map old;
    size_t young_bytes = 0;
    size_t old_bytes = 0;
    void GrowOld() {
      old = std::exchange(young, {});
      old_bytes = std::exchange(young_bytes, 0);
    }
  };
  using Entities = std::unordered_map<OwnName, Entity, Hash, Equal>;
  // By seal: a store never gives two the same number.
  using Pages = std::unordered_map<uint64_t, std::shared_ptr<const std::string>>;

  // The buckets that a view has: two with the same differ in what is counted alone.
  struct Buckets {
    uint64_t round_last = 0;
    std::vector<std::weak_ptr<const SpillFamily>> families;
    std::vector<uint64_t> windows;
    std::vector<uint64_t> ended;
  };
  [[nodiscard]] bool Knows(const std::shared_ptr<const SpillView>& view);
  [[nodiscard]] bool HasBucketsOf(const SpillView& view) const;
  [[nodiscard]] Entity* FindEntity(const Name& name);
  [[nodiscard]] static size_t BytesOf(const Place& place);
  void BeginAnew(const std::shared_ptr<const SpillView>& view);
  [[nodiscard]] std::shared_ptr<const std::string> FindPage(uint64_t seal);
  [[nodiscard]] size_t GenerationBytes() const;
  [[nodiscard]] bool TryCharge(size_t bytes);
  [[nodiscard]] bool LeavesRoom(size_t bytes) const;
  void Clear();

  std::mutex mutex_;
  Generations<Entities> entities_;
  Generations<Pages> pages_;
  MemoryCharge charge_;
  MemoryBudget* const budget_;
  std::weak_ptr<const SpillView> seen_;  // the last one with these buckets
  Buckets buckets_;  // of what is remembered
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_BUCKET_INDEX_H_
