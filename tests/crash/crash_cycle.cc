#include "tests/crash/crash_cycle.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>

#include "lib/base/crash_point.h"

namespace cistern::testing {

namespace {

PointLog* g_point_log = nullptr;  // of the child

void NotePoint(const char* name) {
  PointLog& log = *g_point_log;
  const uint64_t known = log.count.load();
  size_t i = 0;
  while (i < known && std::strncmp(log.points[i].name.data(), name, 63) != 0) ++i;
  if (i == known) {
    // Two threads may name a new point at once: the loser's entry is then never hit again.
    i = log.count.fetch_add(1);
    if (i >= PointLog::kPointsMax) std::abort();
    std::strncpy(log.points[i].name.data(), name, 63);
  }
  const uint64_t hits = log.points[i].hits.fetch_add(1) + 1;
  if (log.fatal_point.load() == static_cast<int64_t>(i) && hits == log.fatal_hit.load()) {
    kill(getpid(), SIGKILL);
    pause();
  }
}

void SleepMicros(int64_t us) {
  const timespec time{us / 1'000'000, us % 1'000'000 * 1000};
  nanosleep(&time, nullptr);
}

}  // namespace

ChildEnd RunChild(const std::function<int()>& body, int64_t kill_after_us, int64_t hang_s) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    _exit(body());
  }
  ChildEnd end;
  if (child < 0) {
    end.exit_code = 255;
    return end;
  }
  int status = 0;
  if (kill_after_us >= 0) {
    SleepMicros(kill_after_us);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
  } else {
    int64_t waited_us = 0;
    int64_t pause_us = 200;
    while (waitpid(child, &status, WNOHANG) == 0) {
      SleepMicros(pause_us);
      waited_us += pause_us;
      if (pause_us < 2000) pause_us += 100;
      if (waited_us < hang_s * 1'000'000) continue;
      end.timed_out = true;
      kill(child, SIGABRT);  // leaves a core where the machine keeps them
      waitpid(child, &status, 0);
      break;
    }
  }
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  else if (WTERMSIG(status) == SIGKILL) end.killed = true;
  else end.signal = WTERMSIG(status);
  return end;
}

CrashCycle::CrashCycle(const std::string& name) : root_(name) {
  void* memory = mmap(nullptr, sizeof(PointLog), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || shared_.get() == nullptr) std::abort();
  points_ = new (memory) PointLog;
  NewStore();
}

CrashCycle::~CrashCycle() { munmap(points_, sizeof(PointLog)); }

void CrashCycle::NewStore() {
  std::filesystem::remove_all(store_directory());
  state().Clear();
}

OpenStore CrashCycle::OpenPlainly() const {
  return [directory = store_directory()](const EngineOptions& options) {
    return Engine::Open(directory, options);
  };
}

ChildEnd CrashCycle::Live(const OpenStore& open, const CrashWorkload& workload,
                          int64_t kill_after_us) {
  state().BeginLife();
  for (auto& point : points().points) point.hits = 0;
  return RunChild(
      [&] {
        g_point_log = points_;
        g_crash_hook.store(&NotePoint);
        const std::string problem = RunLife(open, workload, &state());
        if (!problem.empty()) state().SetProblem(problem);
        return problem.empty() ? 0 : 1;
      },
      kill_after_us);
}

ChildEnd CrashCycle::LiveUntilPoint(const CrashWorkload& workload, size_t point, uint64_t hit) {
  points().fatal_hit = hit;
  points().fatal_point = static_cast<int64_t>(point);
  const ChildEnd end = Live(OpenPlainly(), workload);
  points().fatal_point = -1;
  return end;
}

std::string CrashCycle::Check(const SurvivalCheck& check) {
  state().problem[0] = '\0';
  const ChildEnd end = RunChild([&] {
    const std::string problem = CheckSurvivors(OpenPlainly(), check, &state());
    if (!problem.empty()) state().SetProblem(problem);
    return problem.empty() ? 0 : 1;
  });
  return Complaint(end, state());
}

std::string Complaint(const ChildEnd& end, const ExpectedState& state) {
  if (end.timed_out) return "the process hung";
  if (end.signal != 0) return "the process died of signal " + std::to_string(end.signal);
  if (end.killed || end.exit_code == 0) return "";
  const std::string text = state.problem;
  return text.empty() ? "the process ended with code " + std::to_string(end.exit_code) : text;
}

}  // namespace cistern::testing
