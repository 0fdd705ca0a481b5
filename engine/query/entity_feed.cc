#include "engine/query/entity_feed.h"

#include <utility>

#include "engine/query/inventory.h"
#include "storage/keyspace.h"

namespace cistern {

namespace {

constexpr size_t kEntitiesAhead = 256;
// Buckets of one entity that are walked over; behind more of them the walk begins anew.
constexpr size_t kBucketsPassed = 64;

// Behind every bucket key of the entity.
std::string Behind(uint32_t table_id, const std::string& entity) {
  return EntityPrefix(table_id, entity) + std::string(11, '\xff');
}

}  // namespace

EntityFeed::EntityFeed(const QueryContext* context, uint32_t table_id,
                       std::vector<EntityKey> listed)
    : context_(context),
      table_id_(table_id),
      ahead_(listed.begin(), listed.end()),
      from_(TablePrefix(table_id)),
      all_listed_(!listed.empty()) {}

Result<std::optional<EntityKey>> EntityFeed::Next() {
  while (ahead_.empty() && !all_listed_) CISTERN_RETURN_IF_ERROR(Look());
  if (ahead_.empty()) return std::optional<EntityKey>();
  std::optional<EntityKey> next = std::move(ahead_.front());
  ahead_.pop_front();
  return next;
}

// Walks until enough are known, or until one has so many buckets that looking behind it is cheaper.
Status EntityFeed::Look() {
  size_t passed = 0;
  bool at_end = true;
  const BucketScope scope{table_id_, std::nullopt, from_};
  CISTERN_RETURN_IF_ERROR(VisitBuckets(*context_, scope, [&](const BucketSummary& bucket) {
    const bool is_new = ahead_.empty() || ahead_.back().bytes != bucket.key.entity;
    if (is_new) {
      ahead_.push_back({bucket.key.entity});
      passed = 0;
    }
    at_end = ahead_.size() < kEntitiesAhead && ++passed < kBucketsPassed;
    return at_end;
  }));
  all_listed_ = at_end;
  if (!ahead_.empty()) from_ = Behind(table_id_, ahead_.back().bytes);
  return Status::Ok();
}

}  // namespace cistern
