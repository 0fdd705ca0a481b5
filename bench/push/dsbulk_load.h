// DataStax Bulk Loader as a process beside this one, with its defaults.
#ifndef CISTERN_BENCH_PUSH_DSBULK_LOAD_H_
#define CISTERN_BENCH_PUSH_DSBULK_LOAD_H_

#include <cstdint>
#include <string>

#include "bench/push/measure.h"
#include "cistern/result.h"

namespace cistern::bench {

struct DsbulkLoad {
  PushCost cost;            // of the whole process, the start of Java included
  double reported_per_s = 0;  // rows a second by its own last word
};

// Loads the file into kPlainTable. `jars` is the directory that bench/push/dsbulk/assemble prints;
// what DSBulk writes beside it goes into `scratch`.
[[nodiscard]] Result<DsbulkLoad> LoadByDsbulk(const std::string& jars, const std::string& csv,
                                              const std::string& scratch,
                                              const PushServer& server);

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PUSH_DSBULK_LOAD_H_
