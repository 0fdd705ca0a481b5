// CISTERN_CHECK: assertions for our own mistakes. On in every build. Never for
// input: files, lines, wires, clocks and disks get a Status instead.
#ifndef CISTERN_BASE_CHECK_H_
#define CISTERN_BASE_CHECK_H_

namespace cistern {
// Ends the process with the broken condition in a place where a core dump shows it.
[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);
}  // namespace cistern

#define CISTERN_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::cistern::CheckFailed(#condition, __FILE__, __LINE__))

#endif  // CISTERN_BASE_CHECK_H_
