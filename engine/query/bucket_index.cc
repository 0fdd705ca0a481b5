#include "engine/query/bucket_index.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "storage/head_entity_map.h"

namespace cistern {

namespace {

constexpr size_t kBudgetShare = 8;      // of the memory budget, for what is remembered
constexpr size_t kLeftBytes = 2 << 20;  // of the budget, for others: or a quarter of a small one
constexpr size_t kPageBytesMax = 32 << 10;
constexpr size_t kEntityBytes = 160;     // of an entity, beside its key: about
constexpr size_t kPageEntryBytes = 112;  // of a page, beside its bytes: about
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

}  // namespace

size_t BucketIndex::Hash::operator()(const Name& name) const {
  return HeadEntityMap::Hash(name.table_id, name.entity);
}

size_t BucketIndex::BytesOf(const Place& place) {
  return sizeof(Place) + place.splits.size() * sizeof(Split) + 2 * sizeof(void*);
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

// Brings what is asked for back from the old ones.
BucketIndex::Entity* BucketIndex::FindEntity(const Name& name) {
  auto& [young, old, young_bytes, old_bytes] = entities_;
  if (const auto at = young.find(name); at != young.end()) return &at->second;
  const auto at = old.find(name);
  if (at == old.end()) return nullptr;
  size_t bytes = kEntityBytes + name.entity.size();
  for (const Place& place : at->second.places) bytes += BytesOf(place);
  old_bytes -= std::min(old_bytes, bytes);
  young_bytes += bytes;
  return &young.insert(old.extract(at)).position->second;
}

// The same of a page; null, if there is none.
std::shared_ptr<const std::string> BucketIndex::FindPage(uint64_t seal) {
  auto& [young, old, young_bytes, old_bytes] = pages_;
  if (const auto at = young.find(seal); at != young.end()) return at->second;
  const auto at = old.find(seal);
  if (at == old.end()) return nullptr;
  const size_t bytes = kPageEntryBytes + at->second->size();
  old_bytes -= std::min(old_bytes, bytes);
  young_bytes += bytes;
  return young.insert(old.extract(at)).position->second;
}

bool BucketIndex::Find(const std::shared_ptr<const SpillView>& view, const Question& question,
                       Answer* answer) {
  answer->splits.clear();
  const std::lock_guard lock(mutex_);
  if (!Knows(view)) {
    BeginAnew(view);
    return false;
  }
  if (!LeavesRoom(0)) {
    Clear();
    return false;
  }
  const Entity* const found = FindEntity({question.table_id, question.entity});
  if (found == nullptr) return false;
  const std::vector<Place>& places = found->places;
  const int64_t at_s = Between(question.at_s);
  auto at = std::lower_bound(places.begin(), places.end(), at_s,
                             [](const Place& p, int64_t s) { return p.start_s < s; });
  if (question.descending && (at == places.end() || at->start_s > at_s)) {
    if (at == places.begin()) return false;
    --at;
  }
  if (at == places.end()) return false;
  if (question.descending ? at->to_s < at_s : at->from_s > at_s) return false;
  for (const Split& split : at->splits) {
    BucketOutline& outline = answer->splits.emplace_back(split.outline);
    if (split.window_id == 0) continue;
    const auto window = std::lower_bound(
        view->windows.begin(), view->windows.end(), split.window_id,
        [](const auto& w, uint64_t id) { return w->id < id; });
    if (window == view->windows.end() || (*window)->id != split.window_id) {
      answer->splits.clear();
      return false;
    }
    outline.window = *window;
    outline.page = FindPage(outline.seal);
  }
  return true;
}

void BucketIndex::Note(const std::shared_ptr<const SpillView>& view, const Question& question,
                       const Answer& answer) {
  const int64_t start_s = StartOf(answer, question.descending);
  const int64_t at_s = Between(question.at_s);
  Place place{start_s, std::min(at_s, start_s), std::max(at_s, start_s), {}};
  for (const BucketOutline& outline : answer.splits) {
    place.splits.push_back({outline.window == nullptr ? 0 : outline.window->id, outline});
    place.splits.back().outline.window = nullptr;
    place.splits.back().outline.page = nullptr;
  }
  const Name name{question.table_id, question.entity};
  const size_t entity_bytes = kEntityBytes + name.entity.size();
  const std::lock_guard lock(mutex_);
  if (!Knows(view)) return;
  Entity* known = FindEntity(name);
  if (entities_.young_bytes + BytesOf(place) + entity_bytes > GenerationBytes()) {
    entities_.GrowOld();
    known = nullptr;
  }
  if (!TryCharge(BytesOf(place) + (known == nullptr ? entity_bytes : 0))) return;
  if (known == nullptr) {
    known = &entities_.young.try_emplace(OwnName{name.table_id, std::string(name.entity)})
                 .first->second;
    entities_.young_bytes += entity_bytes;
  }
  const auto at = std::lower_bound(known->places.begin(), known->places.end(), start_s,
                                   [](const Place& p, int64_t s) { return p.start_s < s; });
  if (at != known->places.end() && at->start_s == start_s) {
    at->from_s = std::min(at->from_s, place.from_s);
    at->to_s = std::max(at->to_s, place.to_s);
    return;
  }
  entities_.young_bytes += BytesOf(place);
  known->places.insert(at, std::move(place));
}

void BucketIndex::NoteRows(const std::shared_ptr<const SpillView>& view, const BucketKey& bucket,
                           const RowStatistics& rows) {
  const std::lock_guard lock(mutex_);
  Entity* const known = Knows(view) ? FindEntity({bucket.table_id, bucket.entity}) : nullptr;
  if (known == nullptr) return;
  const auto at = std::lower_bound(known->places.begin(), known->places.end(), bucket.start_s,
                                   [](const Place& p, int64_t s) { return p.start_s < s; });
  if (at == known->places.end() || at->start_s != bucket.start_s) return;
  for (Split& split : at->splits) {
    if (split.outline.split == bucket.split && !split.outline.rows) split.outline.rows = rows;
  }
}

void BucketIndex::KeepPage(const std::shared_ptr<const SpillView>& view, uint64_t seal,
                           std::string_view page) {
  if (page.empty() || page.size() > kPageBytesMax) return;
  const size_t bytes = kPageEntryBytes + page.size();
  const std::lock_guard lock(mutex_);
  if (!Knows(view) || FindPage(seal) != nullptr) return;
  if (pages_.young_bytes + bytes > GenerationBytes()) pages_.GrowOld();
  if (!TryCharge(bytes)) return;
  pages_.young.emplace(seal, std::make_shared<const std::string>(page));
  pages_.young_bytes += bytes;
}

// What the young or the old of either kind may have.
size_t BucketIndex::GenerationBytes() const {
  return budget_->limit_bytes() / kBudgetShare / 4;
}

// Charges for what there is and so much more; false: there is no room for more.
bool BucketIndex::TryCharge(size_t bytes) {
  const size_t held = entities_.young_bytes + entities_.old_bytes + pages_.young_bytes +
                      pages_.old_bytes;
  charge_.Set(std::min(charge_.bytes(), held));  // what has been freed counts as room
  return LeavesRoom(bytes) && charge_.TrySet(held + bytes);
}

// Whether others have enough of the budget with so many bytes more here.
bool BucketIndex::LeavesRoom(size_t bytes) const {
  const size_t for_others = std::min(kLeftBytes, budget_->limit_bytes() / 4);
  return budget_->left_bytes() >= bytes + for_others;
}

// Of another view's buckets. What can run out of memory comes first: nothing is ever remembered
// under the name of other buckets.
void BucketIndex::BeginAnew(const std::shared_ptr<const SpillView>& view) {
  Buckets next{view->round_last, {view->families.begin(), view->families.end()}, {}, {}};
  for (const auto& window : view->windows) next.windows.push_back(window->id);
  for (const EndedWindow& window : view->ended) next.ended.push_back(window.id);
  Clear();
  buckets_ = std::move(next);
  seen_ = view;
}

void BucketIndex::Clear() {
  entities_ = {};
  pages_ = {};
  charge_.Set(0);
}

void BucketIndex::Forget() {
  const std::lock_guard lock(mutex_);
  Clear();
}

size_t BucketIndex::NoteMiss(const Question& question) {
  const std::lock_guard lock(mutex_);
  Entity* const found = FindEntity({question.table_id, question.entity});
  if (found == nullptr) return 0;
  return std::min<size_t>(kAheadForEachMiss * ++found->misses, kAheadMax);
}

}  // namespace cistern
