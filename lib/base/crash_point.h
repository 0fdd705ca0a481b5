// Named crash points: places where a test kills the process or cuts the power.
//
// Always compiled in: without a hook a point costs one relaxed load, and the binary
// that is tested is the binary that ships.
#ifndef CISTERN_BASE_CRASH_POINT_H_
#define CISTERN_BASE_CRASH_POINT_H_

#include <atomic>

namespace cistern {

using CrashHook = void (*)(const char* name);
extern std::atomic<CrashHook> g_crash_hook;  // null outside of tests

inline void CrashPoint(const char* name) {
  if (CrashHook hook = g_crash_hook.load(std::memory_order_relaxed)) hook(name);
}

}  // namespace cistern

#endif  // CISTERN_BASE_CRASH_POINT_H_
