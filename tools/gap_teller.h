// GapTeller: says on standard error what a scan or an aggregate could not read.
#ifndef CISTERN_TOOLS_GAP_TELLER_H_
#define CISTERN_TOOLS_GAP_TELLER_H_

#include <set>
#include <string>
#include <utility>

#include "cistern/cursor.h"
#include "cistern/schema.h"

namespace cistern::tool {

// One for all cursors of a command: what is lost for every entity is told once.
class GapTeller {
 public:
  // `left_out`: what became of the rows between the two times, as in "nothing was printed".
  explicit GapTeller(std::string left_out) : left_out_(std::move(left_out)) {}
  void Tell(const ScanGap& gap, TimeUnit unit);

 private:
  const std::string left_out_;
  std::set<std::string> lost_files_told_;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_GAP_TELLER_H_
