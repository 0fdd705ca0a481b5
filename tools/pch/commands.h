// What most commands read, precompiled: see lib/pch/lib.h.
#ifndef CISTERN_TOOLS_PCH_COMMANDS_H_
#define CISTERN_TOOLS_PCH_COMMANDS_H_

#include <CLI/CLI.hpp>

#include "tools/pch/tools.h"

#endif  // CISTERN_TOOLS_PCH_COMMANDS_H_
