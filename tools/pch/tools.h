// What most files of the tool read, precompiled: see lib/pch/lib.h. Not CLI11, which has each file
// that reads it, precompiled or not, make its checks of options anew: two seconds of g++.
#ifndef CISTERN_TOOLS_PCH_TOOLS_H_
#define CISTERN_TOOLS_PCH_TOOLS_H_

#include <fmt/format.h>

#include "lib/pch/lib.h"

#endif  // CISTERN_TOOLS_PCH_TOOLS_H_
