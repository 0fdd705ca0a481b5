// What most files of lib read, precompiled: headers that seldom change. Each file still includes
// what it uses itself; -Db_pch=false shows it.
#ifndef CISTERN_PCH_LIB_H_
#define CISTERN_PCH_LIB_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cistern/cistern.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"

#endif  // CISTERN_PCH_LIB_H_
