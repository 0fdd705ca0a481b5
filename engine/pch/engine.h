// What most files of engine and of engine/replicate read, precompiled: see lib/pch/lib.h.
#ifndef CISTERN_ENGINE_PCH_ENGINE_H_
#define CISTERN_ENGINE_PCH_ENGINE_H_

#include <deque>
#include <list>

#include "storage/pch/storage.h"

#endif  // CISTERN_ENGINE_PCH_ENGINE_H_
