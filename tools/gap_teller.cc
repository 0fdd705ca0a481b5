#include "tools/gap_teller.h"

#include <fmt/format.h>

#include "tools/command.h"
#include "tools/counted.h"
#include "tools/time_text.h"

namespace cistern::tool {

void GapTeller::Tell(const ScanGap& gap, TimeUnit unit) {
  const std::string versions = gap.versions == 0 ? "rows" : Counted(gap.versions, "row version");
  if (gap.located) {
    Complain(fmt::format("{} are damaged and {} from {} to {}: {}", versions, left_out_,
                         FormatTicks(gap.first_time, unit), FormatTicks(gap.last_time, unit),
                         gap.what));
  } else if (lost_files_told_.insert(gap.what).second) {
    Complain(fmt::format("{} of this store are lost, and rows asked for may be among them: {}",
                         versions, gap.what));
  }
}

}  // namespace cistern::tool
