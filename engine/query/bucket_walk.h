// BucketWalk: the buckets of one entity in scan direction, from head and segments.
#ifndef CISTERN_ENGINE_QUERY_BUCKET_WALK_H_
#define CISTERN_ENGINE_QUERY_BUCKET_WALK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "engine/query/bucket_index.h"
#include "engine/query/query_context.h"
#include "storage/entity_buckets.h"
#include "storage/spill_reader.h"

namespace cistern {

// What heads have of an entity, and the segments there are in that moment.
struct HeadsNow {
  std::shared_ptr<const SpillView> view;
  std::optional<int64_t> start_s;  // of the nearest bucket of heads; none: they have no more
};

// The bucket of heads at or behind `at_s`, in the direction.
[[nodiscard]] HeadsNow LookAtHeads(const QueryContext& context, uint32_t table_id,
                                   const std::string& entity, int64_t at_s, bool descending);

// A bucket, all splits of it.
struct FoundBucket {
  int64_t start_s = 0;
  // Set if heads had nothing of the bucket in the moment of this view: then `parts` are what it
  // consists of, by split. Null: who reads the bucket finds out.
  std::shared_ptr<const SpillView> view;
  std::vector<BucketOutline> parts;
};

// Not a snapshot: each bucket is found as of the moment of its call. Ascending it tells what each
// bucket consists of, at the cost of an iterator's step, and descending for who wants few rows.
// What the index knows costs no iterator at all; where a walk begins is noted there. One thread.
class BucketWalk {
 public:
  BucketWalk(const QueryContext* context, uint32_t table_id, std::string entity, bool descending,
             bool has_splits, bool wants_few = false);
  ~BucketWalk();

  // The nearest bucket that starts at or behind `at_s` in scan direction, which may have gone back
  // since the last call. kCorruption: a key does not parse.
  [[nodiscard]] Result<std::optional<FoundBucket>> Find(int64_t at_s);
  // Where the last one was looked for; null before.
  [[nodiscard]] const std::shared_ptr<const SpillView>& view() const { return view_; }

 private:
  [[nodiscard]] Result<bool> AskIndex(int64_t at_s, const std::shared_ptr<const SpillView>& view,
                                      BucketIndex::Answer* answer);
  [[nodiscard]] Result<bool> ListInto(BucketIndex* index, int64_t at_s,
                                      BucketIndex::Answer* answer);
  [[nodiscard]] BucketIndex::Question QuestionAt(int64_t at_s, bool descending) const {
    return {table_id_, entity_, at_s, descending};
  }
  [[nodiscard]] Result<BucketIndex::Answer> NextParts();
  [[nodiscard]] Result<std::optional<FoundBucket>> FindDown(int64_t at_s, HeadsNow heads);
  [[nodiscard]] Status StepTo(int64_t at_s, const std::shared_ptr<const SpillView>& view);
  [[nodiscard]] Status TakeParts(FoundBucket* found);

  const QueryContext* const context_;
  const uint32_t table_id_;
  const std::string entity_;
  const bool descending_;
  const bool has_splits_;
  const bool tells_parts_;
  bool has_listed_ = false;  // for the index
  // Over the view that was seen last.
  std::shared_ptr<const SpillView> view_;
  std::optional<BucketFrontier> frontier_;  // descending
  std::optional<EntityBuckets> buckets_;    // ascending
  BucketParts parts_;       // the next of buckets_
  bool has_parts_ = false;  // it has been read, and there is one
  bool is_due_ = false;     // it is to be read
  int64_t passed_s_ = INT64_MIN;  // what is behind it, in scan direction, can be found still
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_BUCKET_WALK_H_
