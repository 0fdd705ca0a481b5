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
                       bool descending, bool has_splits, bool wants_few)
    : context_(context),
      table_id_(table_id),
      entity_(std::move(entity)),
      descending_(descending),
      has_splits_(has_splits),
      tells_parts_(!descending || wants_few) {}

BucketWalk::~BucketWalk() = default;

Result<std::optional<FoundBucket>> BucketWalk::Find(int64_t at_s) {
  HeadsNow heads = LookAtHeads(*context_, table_id_, entity_, at_s, descending_);
  BucketIndex::Answer answer;
  bool is_known = false;
  if (tells_parts_) {
    CISTERN_ASSIGN_OR_RETURN(is_known, AskIndex(at_s, heads.view, &answer));
  }
  if (!is_known && descending_) return FindDown(at_s, std::move(heads));
  if (!is_known) {
    CISTERN_RETURN_IF_ERROR(StepTo(at_s, heads.view));
    passed_s_ = INT64_MAX;
  }
  const bool has_more = is_known ? !answer.splits.empty() : has_parts_;
  if (!has_more && !heads.start_s) return std::optional<FoundBucket>();
  const int64_t start_s = !has_more ? 0 : is_known ? answer.splits[0].start_s : parts_.start_s;
  FoundBucket found;
  const bool is_of_heads =
      heads.start_s &&
      (!has_more || (descending_ ? *heads.start_s >= start_s : *heads.start_s <= start_s));
  found.start_s = is_of_heads ? *heads.start_s : start_s;
  if (!is_known) passed_s_ = found.start_s;
  if (is_of_heads) return std::optional(std::move(found));
  found.view = std::move(heads.view);
  if (is_known) {
    found.parts = std::move(answer.splits);
  } else {
    CISTERN_RETURN_IF_ERROR(TakeParts(&found));
  }
  return std::optional(std::move(found));
}

// Whether the index has the answer. Where the walk begins it is looked for and noted there;
// whoever walks on does so by steps, which are cheaper than that.
Result<bool> BucketWalk::AskIndex(int64_t at_s, const std::shared_ptr<const SpillView>& view,
                                  BucketIndex::Answer* answer) {
  if (view_ != view) {
    view_ = view;
    buckets_.reset();
    frontier_.reset();
    passed_s_ = INT64_MIN;
  }
  BucketIndex& index = *context_->buckets;
  if (index.Find(view_, QuestionAt(at_s, descending_), answer)) return true;
  if (std::exchange(has_listed_, true)) return false;
  return ListInto(&index, at_s, answer);
}

// Looks for the answer in segments, and for more of the entity the more often that had to be done.
// False: a seal that the view does not have yet is in the way.
Result<bool> BucketWalk::ListInto(BucketIndex* index, int64_t at_s, BucketIndex::Answer* answer) {
  const size_t ahead = index->NoteMiss(QuestionAt(at_s, descending_));
  const auto note = [&](int64_t at, bool down, const BucketIndex::Answer& known) {
    index->Note(view_, QuestionAt(at, down), known);
  };
  int64_t from_s = at_s;
  if (descending_) {
    BucketFrontier frontier(view_, table_id_, entity_, true);
    CISTERN_ASSIGN_OR_RETURN(const std::optional<int64_t> start_s, frontier.Next(at_s));
    if (!start_s) {
      note(at_s, true, *answer);
      return true;
    }
    from_s = *start_s;
  }
  buckets_.emplace(view_, table_id_, entity_, from_s);
  is_due_ = true;
  CISTERN_ASSIGN_OR_RETURN(*answer, NextParts());
  const bool is_there = !answer->splits.empty() && answer->splits[0].start_s == from_s;
  if (descending_ && !is_there) {
    buckets_.reset();
    return false;
  }
  note(at_s, descending_, *answer);
  BucketIndex::Answer last = *answer;
  for (size_t i = 0; i < ahead && !last.splits.empty(); ++i) {
    const int64_t start_s = last.splits[0].start_s;
    Result<BucketIndex::Answer> next = NextParts();
    if (!next.ok()) {  // of later buckets: who asks for those is told
      buckets_.reset();
      passed_s_ = INT64_MIN;
      return true;
    }
    note(start_s + 1, false, *next);
    note(next->splits.empty() ? INT64_MAX : next->splits[0].start_s - 1, true, last);
    last = *std::move(next);
  }
  passed_s_ = last.splits.empty() ? INT64_MAX : last.splits[0].start_s;
  if (descending_) buckets_.reset();
  return true;
}

// All parts of the next bucket of buckets_; none at the end.
Result<BucketIndex::Answer> BucketWalk::NextParts() {
  BucketIndex::Answer answer;
  if (is_due_) {
    CISTERN_ASSIGN_OR_RETURN(has_parts_, buckets_->Next(&parts_));
    is_due_ = false;
  }
  if (!has_parts_) return answer;
  FoundBucket found;
  found.start_s = parts_.start_s;
  CISTERN_RETURN_IF_ERROR(TakeParts(&found));
  answer.splits = std::move(found.parts);
  return answer;
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
    found->parts.push_back(OutlineOf(parts_));
    is_due_ = true;
    if (!has_splits_) return Status::Ok();
    CISTERN_ASSIGN_OR_RETURN(has_parts_, buckets_->Next(&parts_));
    is_due_ = false;
  } while (has_parts_ && parts_.start_s == found->start_s);
  return Status::Ok();
}

}  // namespace cistern
