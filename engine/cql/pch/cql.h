// What most files of engine/cql read, precompiled: see lib/pch/lib.h.
#ifndef CISTERN_ENGINE_CQL_PCH_CQL_H_
#define CISTERN_ENGINE_CQL_PCH_CQL_H_

#include <chrono>
#include <deque>
#include <set>
#include <variant>

#include "lib/pch/lib.h"

#endif  // CISTERN_ENGINE_CQL_PCH_CQL_H_
