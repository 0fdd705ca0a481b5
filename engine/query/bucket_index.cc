#include "engine/query/bucket_index.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "lib/base/guard.h"
#include "storage/head_entity_map.h"

namespace cistern {

namespace {

// Of the memory budget, as long as nobody needs it: for what manifests say, and for pages.
constexpr size_t kEntityShare = 8;
constexpr size_t kPageShare = 2;
constexpr size_t kSpareBytes = 2 << 20;  // that stays free: or a quarter of a small budget
constexpr size_t kPageBytesMax = 32 << 10;
constexpr size_t kEntityBytes = 160;  // of an entity, beside its key and parts: about
constexpr size_t kPagesAtOnce = 64;   // that give way
constexpr size_t kAheadForEachMiss = 4;
constexpr size_t kAheadMax = 64;

// The ends of int64 are where the ends of all stand: what is asked for is between them.
int64_t Between(int64_t at_s) {
  using Limits = std::numeric_limits<int64_t>;
  return std::clamp(at_s, Limits::min() + 1, Limits::max() - 1);
}

// Where the place of an answer stands: of none, behind all.
int64_t StartOf(const BucketIndex::Answer& answer, bool descending) {
  if (!answer.splits.empty()) return answer.splits[0].start_s;
  return descending ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

template <typename A, typename B>
bool IsSame(const std::weak_ptr<A>& a, const std::shared_ptr<B>& b) {
  return !a.owner_before(b) && !b.owner_before(a);
}

// The first of parts from that start on.
template <typename Parts>
auto FirstAt(Parts& parts, int64_t start_s) {
  return std::lower_bound(parts.begin(), parts.end(), start_s,
                          [](const auto& p, int64_t s) { return p.start_s < s; });
}


}  // namespace

BucketIndex::BucketIndex(MemoryBudget* budget)
    : budget_(budget), kept_(budget, [this](size_t bytes) { GiveWay(bytes); }) {}

size_t BucketIndex::Hash::operator()(const Name& name) const {
  return HeadEntityMap::Hash(name.table_id, name.entity);
}

bool BucketIndex::HasBucketsOf(const SpillView& view) const {
  return view.round_last == buckets_.round_last &&
         std::equal(view.families.begin(), view.families.end(), buckets_.families.begin(),
                    buckets_.families.end(),
                    [](const auto& shared, const auto& weak) { return IsSame(weak, shared); }) &&
         std::equal(view.windows.begin(), view.windows.end(), buckets_.windows.begin(),
                    buckets_.windows.end(),
                    [](const auto& window, uint64_t id) { return window->id == id; }) &&
         std::equal(view.ended.begin(), view.ended.end(), buckets_.ended.begin(),
                    buckets_.ended.end(),
                    [](const EndedWindow& window, uint64_t id) { return window.id == id; });
}

// Whether what is remembered is of the view's buckets.
bool BucketIndex::Knows(const std::shared_ptr<const SpillView>& view) {
  if (IsSame(seen_, view)) return true;
  if (!HasBucketsOf(*view)) return false;
  seen_ = view;
  return true;
}

// --- asking

bool BucketIndex::Find(const std::shared_ptr<const SpillView>& view, const Question& question,
                       Answer* answer) {
  Gone gone;
  answer->splits.clear();
  const bool is_known = GuardedOr(false, [&] {
    const std::lock_guard lock(mutex_);
    if (!Knows(view)) {
      BeginAnew(view, &gone);
      return false;
    }
    const Entity* const found = FindEntity({question.table_id, question.entity}, &gone);
    return found != nullptr && Tell(*view, *found, question, answer);
  });
  if (!is_known) answer->splits.clear();
  return is_known;
}

// Brings what is asked for back from the old ones.
BucketIndex::Entity* BucketIndex::FindEntity(const Name& name, Gone* gone) {
  if (const auto at = young_.find(name); at != young_.end()) return &at->second;
  const auto at = old_.find(name);
  if (at == old_.end()) return nullptr;
  auto node = old_.extract(at);
  const size_t bytes = BytesOf(name, node.mapped().parts.capacity());
  old_bytes_ -= bytes;
  if (young_bytes_ + bytes > GenerationBytes()) GrowOld(gone);
  Entity& found = young_.insert(std::move(node)).position->second;
  young_bytes_ += bytes;
  return &found;
}

// Whether what is known of the entity is an answer.
bool BucketIndex::Tell(const SpillView& view, const Entity& entity, const Question& question,
                       Answer* answer) {
  const std::vector<Part>& parts = entity.parts;
  const int64_t at_s = Between(question.at_s);
  auto at = FirstAt(parts, at_s);
  if (question.descending && (at == parts.end() || at->start_s > at_s)) {
    if (at == parts.begin()) return false;
    at = FirstAt(parts, std::prev(at)->start_s);
  }
  if (at == parts.end()) return false;
  if (question.descending ? at->to_s < at_s : at->from_s > at_s) return false;
  if (at->is_end) return true;
  for (const int64_t start_s = at->start_s; at != parts.end() && at->start_s == start_s; ++at) {
    BucketOutline& outline = answer->splits.emplace_back(OutlineOf(*at));
    if (at->window_id == 0) continue;
    const auto window =
        std::lower_bound(view.windows.begin(), view.windows.end(), at->window_id,
                         [](const auto& w, uint64_t id) { return w->id < id; });
    if (window == view.windows.end() || (*window)->id != at->window_id) return false;
    outline.window = *window;
    outline.page = pages_.Find(at->page_slot, at->seal);
  }
  return true;
}

BucketOutline BucketIndex::OutlineOf(const Part& part) {
  BucketOutline outline;
  outline.start_s = part.start_s;
  outline.split = part.split;
  outline.seal = part.seal;
  outline.row_count = part.row_count;
  outline.has_deletes = part.has_deletes;
  outline.first_time = part.first_time;
  outline.last_time = part.last_time;
  outline.schema_version = part.schema_version;
  if (part.has_rows) outline.rows = part.rows;
  outline.first_is_sound = part.first_is_sound;
  outline.last_is_sound = part.last_is_sound;
  return outline;
}

// --- remembering

void BucketIndex::Note(const std::shared_ptr<const SpillView>& view, const Question& question,
                       const Answer& answer) {
  const int64_t at_s = Between(question.at_s);
  Part place;
  place.start_s = StartOf(answer, question.descending);
  place.from_s = std::min(at_s, place.start_s);
  place.to_s = std::max(at_s, place.start_s);
  place.is_end = answer.splits.empty();
  Gone gone;
  (void)GuardedOr(false, [&] {
    const std::lock_guard lock(mutex_);
    if (Knows(view)) Add({question.table_id, question.entity}, place, answer, &gone);
    return true;
  });
}

void BucketIndex::Add(const Name& name, const Part& place, const Answer& answer, Gone* gone) {
  Entity* known = FindEntity(name, gone);
  if (known != nullptr) {
    auto at = FirstAt(known->parts, place.start_s);
    if (at != known->parts.end() && at->start_s == place.start_s) {
      for (; at != known->parts.end() && at->start_s == place.start_s; ++at) {
        at->from_s = std::min(at->from_s, place.from_s);
        at->to_s = std::max(at->to_s, place.to_s);
      }
      return;
    }
  }
  const size_t count = std::max<size_t>(answer.splits.size(), 1);
  const size_t size = known == nullptr ? 0 : known->parts.size();
  size_t capacity = known == nullptr ? 0 : known->parts.capacity();
  size_t bytes = known == nullptr ? 0 : BytesOf(name, capacity);
  if (size + count > capacity) capacity = size + count + size / 2;
  const size_t more = BytesOf(name, capacity) - bytes;
  if (BytesOf(name, capacity) > GenerationBytes() / 2) return;  // one alone does not push out all
  if (young_bytes_ + more > GenerationBytes()) {
    GrowOld(gone);
    known = FindEntity(name, gone);
  }
  if (!TryKeep(more)) return;
  if (known == nullptr) {
    known = &young_.try_emplace(OwnName{name.table_id, std::string(name.entity)}).first->second;
    bytes = BytesOf(name, 0);
    young_bytes_ += bytes;
  }
  known->parts.reserve(capacity);
  young_bytes_ += BytesOf(name, known->parts.capacity()) - bytes;
  auto at = FirstAt(known->parts, place.start_s);
  at = known->parts.insert(at, count, place);
  for (const BucketOutline& outline : answer.splits) *at++ = PartOf(place, outline);
}

BucketIndex::Part BucketIndex::PartOf(const Part& place, const BucketOutline& outline) {
  Part part = place;
  part.window_id = outline.window == nullptr ? 0 : outline.window->id;
  part.seal = outline.seal;
  part.row_count = outline.row_count;
  part.first_time = outline.first_time;
  part.last_time = outline.last_time;
  part.split = outline.split;
  part.schema_version = outline.schema_version;
  part.has_rows = outline.rows.has_value();
  if (outline.rows) part.rows = *outline.rows;
  part.has_deletes = outline.has_deletes;
  return part;
}

size_t BucketIndex::NoteMiss(const Question& question) {
  Gone gone;
  return GuardedOr(size_t{0}, [&] {
    const std::lock_guard lock(mutex_);
    Entity* const found = FindEntity({question.table_id, question.entity}, &gone);
    if (found == nullptr) return size_t{0};
    return std::min<size_t>(kAheadForEachMiss * ++found->misses, kAheadMax);
  });
}

// What is known of a bucket of the view that is in the seal alone; null: nothing.
BucketIndex::Part* BucketIndex::FindPart(const std::shared_ptr<const SpillView>& view,
                                         const BucketKey& bucket, uint64_t seal, Gone* gone) {
  if (!Knows(view)) return nullptr;
  Entity* const known = FindEntity({bucket.table_id, bucket.entity}, gone);
  if (known == nullptr) return nullptr;
  for (auto at = FirstAt(known->parts, bucket.start_s);
       at != known->parts.end() && at->start_s == bucket.start_s; ++at) {
    if (at->split == bucket.split && at->window_id != 0 && at->seal == seal) return &*at;
  }
  return nullptr;
}

void BucketIndex::NoteRows(const std::shared_ptr<const SpillView>& view, const BucketKey& bucket,
                           uint64_t seal, const RowStatistics& rows) {
  Gone gone;
  (void)GuardedOr(false, [&] {
    const std::lock_guard lock(mutex_);
    Part* const part = FindPart(view, bucket, seal, &gone);
    if (part == nullptr || part->has_rows) return false;
    part->rows = rows;
    part->has_rows = true;
    return true;
  });
}

void BucketIndex::NoteSound(const std::shared_ptr<const SpillView>& view, const BucketKey& bucket,
                            uint64_t seal, bool first, bool last) {
  Gone gone;
  (void)GuardedOr(false, [&] {
    const std::lock_guard lock(mutex_);
    Part* const part = FindPart(view, bucket, seal, &gone);
    if (part == nullptr) return false;
    part->first_is_sound |= first;
    part->last_is_sound |= last;
    return true;
  });
}

void BucketIndex::KeepPage(const std::shared_ptr<const SpillView>& view, const BucketKey& bucket,
                           uint64_t seal, std::string_view page) {
  if (page.empty() || page.size() > kPageBytesMax) return;
  const size_t bytes = KeptPages::BytesOf(page.size());
  const size_t bytes_max = budget_->limit_bytes() / kPageShare;
  Gone gone;
  (void)GuardedOr(false, [&] {
    const std::lock_guard lock(mutex_);
    Part* const part = FindPart(view, bucket, seal, &gone);
    if (part == nullptr || pages_.Find(part->page_slot, seal) != nullptr) return false;
    while (pages_.bytes() + bytes > bytes_max && pages_.TakeOut() != nullptr) continue;
    if (!TryKeep(bytes)) return false;
    part->page_slot = pages_.Put(seal, page);
    return true;
  });
}

// --- forgetting

// The name's bytes and those of so many parts.
size_t BucketIndex::BytesOf(const Name& name, size_t part_count) {
  return kEntityBytes + name.entity.size() + part_count * sizeof(Part);
}

// What the young or the old may have.
size_t BucketIndex::GenerationBytes() const { return budget_->limit_bytes() / kEntityShare / 2; }

size_t BucketIndex::HeldBytes() const { return young_bytes_ + old_bytes_ + pages_.bytes(); }

void BucketIndex::GrowOld(Gone* gone) {
  gone->old = std::exchange(old_, std::exchange(young_, {}));
  old_bytes_ = std::exchange(young_bytes_, 0);
}

// Keeps so many bytes more, which are to be there when this returns; false: there is no room. Pages
// give way to what is new.
bool BucketIndex::TryKeep(size_t bytes) {
  const size_t spare = std::min(kSpareBytes, budget_->limit_bytes() / 4);
  TellHeld();
  while (!kept_.TryGrow(bytes, spare)) {
    if (pages_.TakeOut() == nullptr) return false;
    TellHeld();
  }
  return true;
}

// What has been freed, or was not kept in the end, is room.
void BucketIndex::TellHeld() {
  if (kept_.bytes() > HeldBytes()) kept_.Shrink(kept_.bytes() - HeldBytes());
}

// Of another view's buckets. What can run out of memory comes first: nothing is ever remembered
// under the name of other buckets.
void BucketIndex::BeginAnew(const std::shared_ptr<const SpillView>& view, Gone* gone) {
  Buckets next{view->round_last, {view->families.begin(), view->families.end()}, {}, {}};
  for (const auto& window : view->windows) next.windows.push_back(window->id);
  for (const EndedWindow& window : view->ended) next.ended.push_back(window.id);
  std::swap(gone->young, young_);
  std::swap(gone->old, old_);
  std::swap(gone->pages, pages_);
  young_bytes_ = old_bytes_ = 0;
  TellHeld();
  buckets_ = std::move(next);
  seen_ = view;
}

// Pages first, then what was not asked for lately, then all.
void BucketIndex::GiveWay(size_t bytes) {
  for (size_t freed = 0; freed < bytes;) {
    std::array<KeptPages::Page, kPagesAtOnce> pages;
    Gone gone;
    const std::lock_guard lock(mutex_);
    const size_t before = HeldBytes();
    for (KeptPages::Page& page : pages) {
      page = pages_.TakeOut();
      if (page == nullptr) break;
    }
    if (pages[0] == nullptr) GrowOld(&gone);
    TellHeld();
    if (before == 0) return;
    freed += before - HeldBytes();
  }
}

}  // namespace cistern
