// Work of a crash test in a child: to its end, or until a crash point kills it.
#ifndef CISTERN_TESTS_CRASH_KILLED_WORK_H_
#define CISTERN_TESTS_CRASH_KILLED_WORK_H_

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string_view>

#include "cistern/cistern.h"
#include "lib/base/crash_point.h"
#include "tests/crash/crash_cycle.h"
#include "tests/support/cut_process.h"

namespace cistern::testing {

// Of the child: the point that kills it, and at which passage.
inline const char* g_fatal_point = nullptr;
inline int g_hits_left = 0;
inline void KillAt(const char* name) {
  if (std::strcmp(name, g_fatal_point) == 0 && --g_hits_left == 0) kill(getpid(), SIGKILL);
}

inline bool IsOk(const Status& status) {
  if (!status.ok()) std::fprintf(stderr, "  %s\n", status.ToString().c_str());
  return status.ok();
}

// In a child: true if `work` came to its end and was OK.
inline bool InChild(const std::function<Status()>& work) {
  const ChildEnd end = RunChild([&] { return IsOk(work()) ? 0 : 1; });
  return !end.killed && end.signal == 0 && end.exit_code == 0;
}

// In a child that is killed at the `hit`-th passage of the point; false: it never was.
inline bool KilledAt(const char* point, int hit, const std::function<Status()>& work) {
  return RunUntilCut([&] {
    g_fatal_point = point;
    g_hits_left = hit;
    g_crash_hook = KillAt;
    return IsOk(work());
  });
}

// Rows of sensor "a" of the table `pumps`, from <= time < to.
inline Result<int64_t> CountRows(Engine* engine, int64_t from, int64_t to) {
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("pumps"));
  const std::string_view parts[] = {"a"};
  CISTERN_ASSIGN_OR_RETURN(const EntityKey entity, EntityFromText(*schema, parts));
  ScanRequest request{.table = "pumps", .entity = entity};
  request.from = from;
  request.to = to;
  CISTERN_ASSIGN_OR_RETURN(const auto cursor, engine->Scan(request));
  int64_t count = 0;
  for (ResultBatch batch; cursor->Next(&batch);) count += static_cast<int64_t>(batch.row_count);
  CISTERN_RETURN_IF_ERROR(cursor->status());
  return count;
}

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_CRASH_KILLED_WORK_H_
