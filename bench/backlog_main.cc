// Reopening after kill -9, with a small and with a large backlog of sealed buckets behind it: time
// and memory of Engine::Open must not grow with what waits to be sent.
//
// The large backlog stands for 10 GB of logical rows: 200 million of them in buckets of 3,600
// are 55,556 buckets. It is made of as many buckets of 360 rows: as many manifests, outbox
// entries and files for a tenth of the pages, which opening does not read.
// CISTERN_BENCH_ROWS sets its rows (20,000,000).
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "bench/bench_util.h"
#include "bench/workload.h"
#include "bench/write_bytes.h"

namespace cistern::bench {
namespace {

constexpr size_t kBudgetBytes = 32 * 1024 * 1024;
constexpr uint32_t kBucketRows = 360;
constexpr uint64_t kUnsealedRows = 50'000;  // in the journal when the process is killed
constexpr size_t kBatchRows = 100;
constexpr int kOpenings = 7;

struct Opening {
  double open_ms = 0;
  double anonymous_mib = 0;
  uint64_t replayed = 0;
};

// Runs `work` in a process of its own, so that no memory of one is found in another.
int RunAlone(const std::function<int()>& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

int Complain(const Status& s) {
  std::fprintf(stderr, "%s\n", s.ToString().c_str());
  return 1;
}

EngineOptions GatewayOptions() {
  EngineOptions options;
  options.memory_budget_bytes = kBudgetBytes;
  return options;
}

int Fill(const std::string& directory, uint64_t rows) {
  const auto made = MeasureWriteBytes(directory, {rows, kBudgetBytes, kBucketRows});
  if (!made.ok()) return Complain(made.status());
  std::printf("%llu rows in %llu sealed buckets",
              static_cast<unsigned long long>(made->rows),
              static_cast<unsigned long long>(made->metrics.buckets_sealed));
  std::fflush(stdout);
  return 0;
}

// Takes rows until nobody lets it go on.
int AppendAndDie(const std::string& directory) {
  EngineOptions options = GatewayOptions();
  options.background_threads = false;  // so that all of it is in the journal
  auto engine = Engine::Open(directory, options);
  if (!engine.ok()) return Complain(engine.status());
  GatewayWorkload workload;
  RowBatch batch(*(*engine)->FindTable("gateway.readings"));
  while (workload.rows_made() < kUnsealedRows) {
    if (const Status s = workload.Fill(kBatchRows, &batch); !s.ok()) return Complain(s);
    const auto answer = (*engine)->Append(batch, {Durability::kLog, BackPressure::kWait});
    if (!answer.ok()) return Complain(answer.status());
  }
  return raise(SIGKILL);
}

double AnonymousMib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("RssAnon:", 0) == 0) return std::stod(line.substr(8)) / 1024;
  }
  return 0;
}

int OpenOnce(const std::string& directory, int answer_fd) {
  auto engine = Engine::Open(directory, GatewayOptions());
  if (!engine.ok()) return Complain(engine.status());
  const Metrics m = (*engine)->GetMetrics();
  const Opening opening{static_cast<double>(m.open_micros) / 1000, AnonymousMib(),
                        m.records_replayed_at_open};
  return write(answer_fd, &opening, sizeof opening) == sizeof opening ? 0 : 1;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Openings of copies of the killed store; false when one failed.
bool MeasureOpenings(const std::string& directory, double* open_ms) {
  std::vector<double> times_ms, anonymous_mib;
  Opening opening;
  for (int i = 0; i < kOpenings; ++i) {
    const std::string copy = directory + "-copy";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(directory, copy, std::filesystem::copy_options::recursive);
    int answer[2];
    if (pipe(answer) != 0) return false;
    const int status = RunAlone([&] { return OpenOnce(copy, answer[1]); });
    const bool answered = read(answer[0], &opening, sizeof opening) == sizeof opening;
    close(answer[0]);
    close(answer[1]);
    std::filesystem::remove_all(copy);
    if (status != 0 || !answered) return false;
    times_ms.push_back(opening.open_ms);
    anonymous_mib.push_back(opening.anonymous_mib);
  }
  *open_ms = Median(times_ms);
  std::printf(": opened in %.1f ms, %.1f MiB anonymous, %llu journal records replayed\n", *open_ms,
              Median(anonymous_mib), static_cast<unsigned long long>(opening.replayed));
  return true;
}

}  // namespace
}  // namespace cistern::bench

int main() {
  using namespace cistern::bench;
  double open_ms[2] = {};
  const uint64_t rows[2] = {20'000, RowsFromEnv(20'000'000)};  // 1 MB and 1 GB of rows
  for (int i = 0; i < 2; ++i) {
    const std::string directory = FreshDirectory("backlog");
    if (RunAlone([&] { return Fill(directory, rows[i]); }) != 0) return 1;
    const int status = RunAlone([&] { return AppendAndDie(directory); });
    if (!WIFSIGNALED(status)) return 1;
    if (!MeasureOpenings(directory, &open_ms[i])) return 1;
    std::filesystem::remove_all(directory);
  }
  std::printf("the large backlog takes %.1f ms more (goal: at most 200)\n",
              open_ms[1] - open_ms[0]);
  return 0;
}
