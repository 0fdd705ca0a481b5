// Lines of a made log, and a dictionary trained on them.
#ifndef CISTERN_TESTS_SUPPORT_TRAINED_LINES_H_
#define CISTERN_TESTS_SUPPORT_TRAINED_LINES_H_

#include <string>
#include <vector>

#include "lib/codec/zstd_dictionary.h"
#include "tests/support/rng.h"

namespace cistern::testing {

inline std::string LogLine(Rng* rng) {
  static constexpr const char* kTexts[] = {"modbus: read of register ", "uplink: lost, attempt ",
                                           "watchdog: no heartbeat of task "};
  return kTexts[rng->Below(3)] + std::to_string(rng->Below(100'000));
}

// The bytes of one, which ZstdDictionary::Make takes.
inline std::string TrainOnLogLines() {
  Rng rng(1);
  std::string samples;
  std::vector<size_t> sizes;
  for (int page = 0; page < 60; ++page) {
    const size_t before = samples.size();
    for (int i = 0; i < 40; ++i) samples += LogLine(&rng);
    sizes.push_back(samples.size() - before);
  }
  return TrainDictionary(samples, sizes);
}

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_TRAINED_LINES_H_
