#include "lib/base/check.h"

#include <cstdlib>

namespace cistern {

namespace {
// The library never prints; a debugger or a core dump finds the reason here.
struct FailedCheck {
  const char* condition;
  const char* file;
  int line;
};
volatile FailedCheck g_failed_check;
}  // namespace

void CheckFailed(const char* condition, const char* file, int line) {
  g_failed_check.condition = condition;
  g_failed_check.file = file;
  g_failed_check.line = line;
  std::abort();
}

}  // namespace cistern
