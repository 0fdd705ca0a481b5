// Exit codes of the tool: few, documented in docs/tool.md and in `cistern --help`.
#ifndef CISTERN_TOOLS_EXIT_CODE_H_
#define CISTERN_TOOLS_EXIT_CODE_H_

#include "cistern/status.h"

namespace cistern::tool {

enum ExitCode : int {
  kExitOk = 0,
  kExitPartial = 1,   // done, but lines were rejected or verify found problems
  kExitUsage = 2,     // the command line, a schema, a mapping, a table or column name
  kExitStore = 3,     // the store cannot be used: missing, locked, too new, damaged, read-only
  kExitStorage = 4,   // a write failed, or memory or descriptors do not suffice
  kExitInternal = 5,  // our own mistake
  kExitMissing = 6,   // done, but rows are known to be missing: damaged ones, lost ones, or ones
                      // that a proof did not find upstream
  kExitBlocked = 7,   // rows wait for a person: a table of the cluster differs, or refused them, or
                      // the clock is not trusted
  kExitAway = 8,      // the cluster does not answer, or lets nobody in
  kExitInterrupted = 130,
  kExitTerminated = 143,
};

// The exit code that tells a script what kind of failure `status` is.
[[nodiscard]] ExitCode ExitCodeOf(const Status& status);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_EXIT_CODE_H_
