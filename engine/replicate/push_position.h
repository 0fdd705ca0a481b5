// PushPosition: how far a seal has been pushed.
#ifndef CISTERN_ENGINE_REPLICATE_PUSH_POSITION_H_
#define CISTERN_ENGINE_REPLICATE_PUSH_POSITION_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "engine/replicate/row_emission.h"

namespace cistern::replicate {

// Everything before it needs not be sent again. First come the range deletes of the seal, then its
// pages, each in one pass or two (row_emission.h).
//
// A page of two passes is judged once: what was not over when its deletions were sent is sent as
// a row, whenever that comes. Otherwise a version that expires between the passes would be in
// neither, and what it shadows would show again.
struct PushPosition {
  uint32_t range_delete = 0;  // of the seal's, in their order
  uint32_t page = 0;
  PushPass pass = PushPass::kWhole;
  uint32_t judged_s = 0;  // the trusted second by which versions are over; 0: it was not known
  uint32_t row = 0;       // the next one in this pass
  friend bool operator==(const PushPosition&, const PushPosition&) = default;
};

// Whether everything before `end` is before `position` too. Pages may be sent anew in other passes,
// which tell nothing of one another: then it is so once the page is over.
[[nodiscard]] bool HasPassed(const PushPosition& position, const PushPosition& end);

// A position as the store keeps it: of the table that had this id upstream. Another one of the same
// name has none of what was sent to it.
struct NotedPosition {
  PushPosition position;
  std::string upstream_id;
};

// As it is stored: varint range delete, varint page, u8 pass, varint judged second, varint row,
// varint length and bytes of the id.
[[nodiscard]] std::string EncodePushPosition(const NotedPosition& noted);
// kCorruption names the field.
[[nodiscard]] Result<NotedPosition> DecodePushPosition(std::string_view bytes);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_PUSH_POSITION_H_
