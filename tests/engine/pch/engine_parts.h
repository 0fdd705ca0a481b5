// What every file of engine_parts_test reads, precompiled: more than half of what compiling one
// takes. Each file still includes what it uses itself; -Db_pch=false shows it.
#ifndef CISTERN_TESTS_ENGINE_PCH_ENGINE_PARTS_H_
#define CISTERN_TESTS_ENGINE_PCH_ENGINE_PARTS_H_

#include <gmock/gmock.h>

#include "tests/engine/engine_fixture.h"

#endif  // CISTERN_TESTS_ENGINE_PCH_ENGINE_PARTS_H_
