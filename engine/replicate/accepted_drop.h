// AcceptedDrop as text: the drop of a column upstream that a person has agreed to.
#ifndef CISTERN_ENGINE_REPLICATE_ACCEPTED_DROP_H_
#define CISTERN_ENGINE_REPLICATE_ACCEPTED_DROP_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/replication_options.h"
#include "cistern/result.h"

namespace cistern::replicate {

// "plant.pumps.flow@2027-01-15T08:00:00.123Z": what messages tell a person to paste.
[[nodiscard]] std::string AcceptedDropText(const AcceptedDrop& drop);

// The same back. The time may have any form of lib/cql/time_text.h that is exact to a millisecond.
// kInvalidArgument tells what is missing.
[[nodiscard]] Result<AcceptedDrop> ParseAcceptedDrop(std::string_view text);

// The last microsecond since 1970 whose writes the cluster hides. A cluster tells of a drop in
// whole milliseconds, and the node that made it hides the rest of that millisecond too.
[[nodiscard]] int64_t HidesUpToUs(const AcceptedDrop& drop);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_ACCEPTED_DROP_H_
