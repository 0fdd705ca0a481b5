// What most files of the tool read, precompiled: see lib/pch/lib.h. CLI11 takes longest.
#ifndef CISTERN_TOOLS_PCH_TOOLS_H_
#define CISTERN_TOOLS_PCH_TOOLS_H_

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "lib/pch/lib.h"

#endif  // CISTERN_TOOLS_PCH_TOOLS_H_
