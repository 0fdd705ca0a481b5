#include "engine/query/bucket_walk.h"

#include <mutex>
#include <shared_mutex>
#include <utility>

namespace cistern {

HeadsNow LookAtHeads(const QueryContext& context, uint32_t table_id, const std::string& entity,
                     int64_t at_s, bool descending) {
  HeadsNow now;
  const std::shared_lock lock(context.heads->mutex);
  now.view = context.store->spills().view();
  for (const Head* head : {context.heads->active.get(), context.heads->frozen.get()}) {
    if (head == nullptr) continue;
    const std::optional<int64_t> found = descending
                                             ? head->PreviousBucketStart(table_id, entity, at_s)
                                             : head->NextBucketStart(table_id, entity, at_s);
    if (!found) continue;
    const bool is_nearer =
        !now.start_s || (descending ? *found > *now.start_s : *found < *now.start_s);
    if (is_nearer) now.start_s = found;
  }
  return now;
}

BucketWalk::BucketWalk(const QueryContext* context, uint32_t table_id, std::string entity,
                       bool descending, bool has_splits)
    : context_(context),
      table_id_(table_id),
      entity_(std::move(entity)),
      descending_(descending),
      has_splits_(has_splits) {}

BucketWalk::~BucketWalk() = default;

Result<std::optional<FoundBucket>> BucketWalk::Find(int64_t at_s) {
  HeadsNow heads = LookAtHeads(*context_, table_id_, entity_, at_s, descending_);
  if (descending_) return FindDown(at_s, std::move(heads));
  CISTERN_RETURN_IF_ERROR(StepTo(at_s, heads.view));
  passed_s_ = INT64_MAX;
  if (!has_parts_ && !heads.start_s) return std::optional<FoundBucket>();
  FoundBucket found;
  const bool is_of_heads =
      heads.start_s && (!has_parts_ || *heads.start_s <= parts_.start_s);
  found.start_s = is_of_heads ? *heads.start_s : parts_.start_s;
  passed_s_ = found.start_s;
  if (is_of_heads) return std::optional(std::move(found));
  found.view = std::move(heads.view);
  CISTERN_RETURN_IF_ERROR(TakeParts(&found));
  return std::optional(std::move(found));
}

Result<std::optional<FoundBucket>> BucketWalk::FindDown(int64_t at_s, HeadsNow heads) {
  if (!frontier_ || view_ != heads.view || at_s > passed_s_) {
    view_ = std::move(heads.view);
    frontier_.emplace(view_, table_id_, entity_, true);
  }
  passed_s_ = at_s;  // it only goes on
  CISTERN_ASSIGN_OR_RETURN(const std::optional<int64_t> start_s, frontier_->Next(at_s));
  if (!start_s && !heads.start_s) return std::optional<FoundBucket>();
  FoundBucket found;
  found.start_s = std::max(start_s.value_or(INT64_MIN), heads.start_s.value_or(INT64_MIN));
  return std::optional(std::move(found));
}

// Sees to it that parts_ is the first bucket in segments at or behind `at_s`. The walk begins anew
// for a bucket that it has passed, and after a rotation, which has moved rows into segments that
// the view did not have.
Status BucketWalk::StepTo(int64_t at_s, const std::shared_ptr<const SpillView>& view) {
  if (!buckets_ || view_ != view || at_s <= passed_s_) {
    view_ = view;
    buckets_.emplace(view_, table_id_, entity_, at_s);
    is_due_ = true;
    passed_s_ = INT64_MIN;
  }
  while (is_due_ || (has_parts_ && parts_.start_s < at_s)) {
    CISTERN_ASSIGN_OR_RETURN(has_parts_, buckets_->Next(&parts_));
    is_due_ = false;
  }
  return Status::Ok();
}

// Moves on behind the bucket that parts_ begins. Without splits only once it is asked for what
// follows, which may be in a window that is not open yet.
Status BucketWalk::TakeParts(FoundBucket* found) {
  do {
    found->parts.push_back(std::move(parts_));
    is_due_ = true;
    if (!has_splits_) return Status::Ok();
    CISTERN_ASSIGN_OR_RETURN(has_parts_, buckets_->Next(&parts_));
    is_due_ = false;
  } while (has_parts_ && parts_.start_s == found->start_s);
  return Status::Ok();
}

}  // namespace cistern
