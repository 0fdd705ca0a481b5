// Random operations against the model. CISTERN_SEED replays one run's seed,
// CISTERN_MODEL_OPS says how many operations in all, CISTERN_MODEL_PARTS how many processes
// share them.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/model/model_run.h"
#include "tests/support/rng.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t kOperationsDefault = 30'000;
#else
constexpr uint64_t kOperationsDefault = 100'000;
#endif
constexpr size_t kOperationsOfRun = 2'000;
constexpr size_t kShrinkTries = 120;

// An abort inside the engine must name the run too.
void TellProgress(int signal_number) {
  char text[128];
  const int length =
      std::snprintf(text, sizeof text, "\naborted in CISTERN_SEED=%llu operation %llu\n",
                    static_cast<unsigned long long>(g_progress.seed),
                    static_cast<unsigned long long>(g_progress.operation));
  if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) _exit(3);
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

TEST(EngineModel, RandomOperationsAnswerAsTheModel) {
  size_t left = EnvNumber("CISTERN_MODEL_OPS", kOperationsDefault) /
                std::max<uint64_t>(1, EnvNumber("CISTERN_MODEL_PARTS", 1));
  uint64_t seed = SeedFromEnv();
  std::signal(SIGABRT, TellProgress);
  std::printf("CISTERN_SEED=%llu, %zu operations\n", static_cast<unsigned long long>(seed), left);
  std::fflush(stdout);
  const TempDir root("cistern-model");
  uint64_t compared = 0;
  uint64_t expired = 0;
  uint64_t merged = 0;
  for (; left > 0; ++seed) {
    const size_t count = std::min(left, kOperationsOfRun);
    left -= count;
    const std::string directory = root.path() + "/store";
    std::filesystem::remove_all(directory);
    size_t failed = 0;
    std::string problem;
    {
      ModelRun run(seed, directory);
      problem = run.Run(count, {}, &failed);
      compared += run.rows_compared();
      expired += run.versions_expired();
      merged += run.windows_merged();
    }
    if (problem.empty()) continue;
    std::string report = "CISTERN_SEED=" + std::to_string(seed) + " operation " +
                         std::to_string(failed) + " (" +
                         ModelRunConfig::FromSeed(seed).ToString() + ")\n" + problem;
    std::vector<bool> skip;
    const size_t needed = std::min(failed + 1, count);
    Shrink(seed, directory, needed, kShrinkTries, &skip);
    std::filesystem::remove_all(directory);
    ModelRun again(seed, directory);
    const std::string smaller = again.Run(needed, skip, &failed);
    report += "\nshrunk to operations:";
    for (size_t op = 0; op < skip.size(); ++op) {
      if (!skip[op]) report += " " + std::to_string(op);
    }
    FAIL() << report << "\nwhere operation " << failed << " finds: " << smaller;
  }
  EXPECT_GT(compared, 0u);
  std::printf("%llu rows compared, %llu row versions expired with their windows, %llu merges\n",
              static_cast<unsigned long long>(compared), static_cast<unsigned long long>(expired),
              static_cast<unsigned long long>(merged));
}

}  // namespace
}  // namespace cistern::testing
