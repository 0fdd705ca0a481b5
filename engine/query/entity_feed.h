// EntityFeed: the entities of an aggregate, one after another.
#ifndef CISTERN_ENGINE_QUERY_ENTITY_FEED_H_
#define CISTERN_ENGINE_QUERY_ENTITY_FEED_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cistern/entity.h"
#include "cistern/result.h"
#include "engine/query/query_context.h"

namespace cistern {

// Those that were listed, or all of a table in key order, some at a time. One thread.
class EntityFeed {
 public:
  // `listed` empty: all of the table.
  EntityFeed(const QueryContext* context, uint32_t table_id, std::vector<EntityKey> listed);
  // Nothing: that was the last.
  [[nodiscard]] Result<std::optional<EntityKey>> Next();

 private:
  [[nodiscard]] Status Look();

  const QueryContext* const context_;
  const uint32_t table_id_;
  std::deque<EntityKey> ahead_;
  std::string from_;   // bucket keys of those to look for begin here
  bool all_listed_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_ENTITY_FEED_H_
