#include "lib/base/crash_point.h"

namespace cistern {
std::atomic<CrashHook> g_crash_hook{nullptr};
}  // namespace cistern
