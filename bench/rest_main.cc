// rest_bench [SECONDS]: how often the threads of a process wake while its engine has nothing to do.
//
// Counted by the kernel: voluntary context switches of every thread in /proc/self/task. The main
// thread only sleeps, and is left out.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "cistern/cistern.h"

namespace {

using cistern::Engine;
using cistern::Status;

constexpr const char* kTable =
    "CREATE TABLE c.rows (sensor int, day date, ts timestamp, v bigint,"
    " PRIMARY KEY ((sensor, day), ts))";
constexpr int kSettleSeconds = 3;  // syncs, ACK and what else follows the last row

struct Thread {
  std::string name;
  int64_t switches = 0;
};

std::map<int, Thread> Threads() {
  std::map<int, Thread> threads;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    const int id = std::atoi(entry.path().filename().c_str());
    if (id == ::getpid()) continue;
    std::ifstream status(entry.path() / "status");
    std::string line;
    while (std::getline(status, line)) {
      if (line.starts_with("Name:")) threads[id].name = line.substr(6);
      if (line.starts_with("voluntary_ctxt_switches:")) {
        threads[id].switches = std::atoll(line.c_str() + 24);
      }
    }
  }
  return threads;
}

void Report(const char* what, int seconds) {
  std::this_thread::sleep_for(std::chrono::seconds(kSettleSeconds));
  const auto before = Threads();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  int64_t sum = 0;
  std::string by_thread;
  for (const auto& [id, thread] : Threads()) {
    const auto was = before.find(id);
    const int64_t woken = thread.switches - (was == before.end() ? 0 : was->second.switches);
    if (woken > 0) by_thread += ", " + thread.name + " " + std::to_string(woken);
    sum += woken;
  }
  std::printf("%-28s %6.2f wakeups a second (%lld in %d s%s)\n", what,
              static_cast<double>(sum) / seconds, static_cast<long long>(sum), seconds,
              by_thread.c_str());
  std::fflush(stdout);
}

Status Write(Engine* engine, int64_t rows) {
  CISTERN_ASSIGN_OR_RETURN(const auto schema, engine->FindTable("c.rows"));
  cistern::RowBatch batch(schema);
  const int64_t first_ms = cistern::SystemClock()->WallMicros() / 1000 - rows * 1000;
  for (int64_t n = 0; n < rows; ++n) {
    batch.BeginRow();
    CISTERN_RETURN_IF_ERROR(batch.SetInt(0, n % 10));
    CISTERN_RETURN_IF_ERROR(batch.SetInt(2, first_ms + n * 1000));
    CISTERN_RETURN_IF_ERROR(batch.SetInt(3, n));
    CISTERN_RETURN_IF_ERROR(batch.EndRow());
  }
  return engine->Append(batch, {cistern::Durability::kLog}).status();
}

Status Run(const std::string& directory, int seconds) {
  CISTERN_ASSIGN_OR_RETURN(const auto engine, Engine::Open(directory));
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(kTable));
  Report("a store without rows", seconds);
  CISTERN_RETURN_IF_ERROR(Write(engine.get(), 10'000));
  Report("10,000 rows in its head", seconds);
  CISTERN_RETURN_IF_ERROR(engine->Seal({.due_only = false}).status());
  Report("all of them sealed", seconds);
  return engine->Close();
}

}  // namespace

int main(int argc, char** argv) {
  const int seconds = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 20;
  const std::string directory =
      std::filesystem::temp_directory_path() / ("cistern-rest-" + std::to_string(::getpid()));
  const Status s = Run(directory, seconds);
  std::filesystem::remove_all(directory);
  if (!s.ok()) std::fprintf(stderr, "rest_bench: %s\n", s.ToString().c_str());
  return s.ok() ? 0 : 1;
}
