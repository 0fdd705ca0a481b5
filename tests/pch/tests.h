// What most tests read, precompiled: see lib/pch/lib.h.
#ifndef CISTERN_TESTS_PCH_TESTS_H_
#define CISTERN_TESTS_PCH_TESTS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/pch/lib.h"

#endif  // CISTERN_TESTS_PCH_TESTS_H_
