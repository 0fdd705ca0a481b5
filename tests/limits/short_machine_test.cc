// A machine that gives no more memory, or no more threads, in the middle of the work: every call
// ends with a Status, never by a signal or an exception, and the same call works once there is
// enough. Nothing that was acknowledged is missing then.
//
// Each trial is a process of its own. CISTERN_SHORT_MACHINES: how many limits of memory are tried.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cistern/cistern.h"
#include "tests/support/cut_process.h"
#include "tests/support/failing_threads.h"
#include "tests/support/rng.h"
#include "tests/support/temp_dir.h"

namespace cistern::testing {
namespace {

constexpr char kTable[] = R"(
CREATE TABLE readings (sensor text, day date, ts timestamp, value double, note text,
  PRIMARY KEY ((sensor, day), ts)) WITH comment = 'cistern: bucket day = 1 day';
)";
constexpr int64_t kFirstMs = 1'704'067'200'000;
constexpr int64_t kBatches = 40;
constexpr int64_t kBatchRows = 500;
constexpr int64_t kSpanMs = 86'400'000;  // of all rows
constexpr size_t kMiB = 1 << 20;
constexpr unsigned kPatienceSeconds = 120;
constexpr auto kRepeatPause = std::chrono::milliseconds(50);
constexpr int kRepeatsMax = 600;

// What becomes short, and is enough again.
struct Shortage {
  std::function<void()> begin;
  std::function<void()> end;
};

size_t AddressSpaceBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t pages = 0;
  statm >> pages;
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

void SetSoftLimit(decltype(RLIMIT_AS) which, rlim_t value) {
  rlimit limit{};
  ::getrlimit(which, &limit);
  limit.rlim_cur = std::min(value, limit.rlim_max);
  ::setrlimit(which, &limit);
}

Shortage MemoryOf(size_t bytes_more) {
  return {[=] { SetSoftLimit(RLIMIT_AS, AddressSpaceBytes() + bytes_more); },
          [] { SetSoftLimit(RLIMIT_AS, RLIM_INFINITY); }};
}

// An engine's day, call by call.
class Day {
 public:
  explicit Day(std::string directory) : directory_(std::move(directory)) {
    options_.memory_budget_bytes = 16 * kMiB;
  }

  [[nodiscard]] std::vector<std::function<Status()>> Calls() {
    return {[this] { return Open(); },   [this] { return engine_->CreateTable(kTable); },
            [this] { return Append(); }, [this] { return Seal(); },
            [this] { return Scan(); },   [this] { return Replicate(); },
            [this] { return Append(); }, [this] { return engine_->Rotate(); },
            [this] { return Scan(); },   [this] { return engine_->Close(); }};
  }
  Status Open() {
    engine_.reset();
    CISTERN_ASSIGN_OR_RETURN(engine_, Engine::Open(directory_, options_));
    return Status::Ok();
  }
  // All that was acknowledged, and no more.
  Status Check() {
    CISTERN_RETURN_IF_ERROR(Open());
    CISTERN_RETURN_IF_ERROR(engine_->Health());
    if (engine_->Recovery().recovered_with_loss) return Status::Corruption("rows are missing");
    CISTERN_RETURN_IF_ERROR(Scan());
    CISTERN_ASSIGN_OR_RETURN(const VerifyReport report, engine_->Verify());
    if (!report.problems.empty()) return Status::Corruption(report.problems.front());
    return engine_->Close();
  }

 private:
  // Goes on behind what was acknowledged.
  Status Append() {
    if (acknowledged_ == appends_ * kBatches) ++appends_;
    CISTERN_ASSIGN_OR_RETURN(const auto schema, engine_->FindTable("readings"));
    for (; acknowledged_ < appends_ * kBatches; ++acknowledged_) {
      RowBatch batch(schema);
      for (int64_t row = 0; row < kBatchRows; ++row) {
        batch.BeginRow();
        CISTERN_RETURN_IF_ERROR(batch.SetBytes(0, "pump-7"));
        CISTERN_RETURN_IF_ERROR(
            batch.SetInt(2, kFirstMs + (acknowledged_ * kBatchRows + row) * 1000));
        CISTERN_RETURN_IF_ERROR(batch.SetDouble(3, static_cast<double>(row)));
        const std::string note(60, static_cast<char>('a' + row % 26));
        CISTERN_RETURN_IF_ERROR(batch.SetBytes(4, note));
        CISTERN_RETURN_IF_ERROR(batch.EndRow());
      }
      CISTERN_RETURN_IF_ERROR(engine_->Append(batch).status());
    }
    return Status::Ok();
  }
  Status Seal() { return engine_->Seal({.due_only = false}).status(); }
  Status Scan() {
    CISTERN_ASSIGN_OR_RETURN(const auto schema, engine_->FindTable("readings"));
    const std::string_view parts[] = {"pump-7"};
    ScanRequest request;
    request.table = "readings";
    CISTERN_ASSIGN_OR_RETURN(request.entity, EntityFromText(*schema, parts));
    request.from = kFirstMs;
    request.to = kFirstMs + kSpanMs;
    CISTERN_ASSIGN_OR_RETURN(const auto cursor, engine_->Scan(request));
    int64_t rows = 0;
    ResultBatch batch;
    while (cursor->Next(&batch)) rows += static_cast<int64_t>(batch.row_count);
    CISTERN_RETURN_IF_ERROR(cursor->status());
    if (rows == acknowledged_ * kBatchRows) return Status::Ok();
    return Status::Corruption("a scan gives " + std::to_string(rows) + " rows");
  }
  // There is no cluster: what is tried is the thread and the sockets.
  Status Replicate() {
    ClusterAccess access;
    access.contacts = {"127.0.0.1:1"};
    CISTERN_ASSIGN_OR_RETURN(const auto replication, Replication::Start(engine_.get(), access));
    replication->Stop();
    return Status::Ok();
  }

  const std::string directory_;
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  int64_t acknowledged_ = 0;  // batches
  int64_t appends_ = 0;
};

// What a machine that is short of something says.
bool IsExpected(const Status& status) {
  return status.code() == StatusCode::kOutOfMemory || status.code() == StatusCode::kIoError;
}

// The test's own objects need memory as well.
Status WithoutException(const std::function<Status()>& call) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory();
  }
}

int Fail(size_t call, const char* when, const Status& status) {
  std::fprintf(stderr, "call %zu, %s: %s\n", call, when, status.ToString().c_str());
  return 1;
}

// Calls up to `calls_before` have enough; then each call meets the shortage, and is repeated
// without it where it failed, which `met` counts. 0: as promised.
int RunDay(const std::string& directory, const Shortage& shortage, size_t calls_before,
           std::atomic<uint64_t>* met) {
  Day day(directory);
  const auto calls = day.Calls();
  for (size_t i = 0; i < calls.size(); ++i) {
    if (i >= calls_before) shortage.begin();
    Status status = WithoutException(calls[i]);
    shortage.end();
    if (status.code() == StatusCode::kNotSupported) continue;  // built without replication
    if (!status.ok() && !IsExpected(status)) return Fail(i, "short", status);
    if (!status.ok()) ++*met;
    for (int repeats = 0; !status.ok(); ++repeats) {
      if (repeats == kRepeatsMax) return Fail(i, "repeated", status);
      std::this_thread::sleep_for(kRepeatPause);
      status = calls[i]();
    }
  }
  const Status sound = day.Check();
  return sound.ok() ? 0 : Fail(calls.size(), "afterwards", sound);
}

// Grows the stack now: where there is no address space for it later the kernel ends the process.
void TouchStack() {
  volatile char stack[kMiB];
  for (size_t i = 0; i < sizeof(stack); i += 4096) stack[i] = 1;
}

// How a child ended that did `body`: its code, or the signal, negative.
int InChild(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kPatienceSeconds);
    TouchStack();
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class ShortMachine : public ::testing::Test {
 protected:
  // Lives a day in a child; how that ended.
  int LiveDay(const std::string& directory, const Shortage& shortage, size_t calls_before) {
    return InChild([&] { return RunDay(directory, shortage, calls_before, &met_->ops); });
  }
  [[nodiscard]] uint64_t met() const { return met_->ops; }
  std::string NewDirectory() { return temp_.path() + "/" + std::to_string(++stores_); }
  const uint64_t count_ = std::max<uint64_t>(1, EnvNumber("CISTERN_SHORT_MACHINES", 12));
  SharedCounters met_;
  TempDir temp_{"cistern-short-machine"};
  int stores_ = 0;
};

TEST_F(ShortMachine, AnOpeningWithLittleMemory) {
  for (uint64_t i = 0; i < count_; ++i) {
    const size_t bytes = 4 * kMiB + 56 * kMiB * i / count_;
    const std::string directory = NewDirectory();
    EXPECT_EQ(LiveDay(directory, MemoryOf(bytes), 0), 0) << bytes << " bytes of address space";
  }
  std::printf("%llu calls met it\n", static_cast<unsigned long long>(met()));
  EXPECT_GE(met(), count_ / 4);
}

TEST_F(ShortMachine, MemoryThatIsUsedUpBehindTheOpening) {
  for (uint64_t i = 0; i < count_; ++i) {
    const size_t bytes = 12 * kMiB * i / count_;
    const std::string directory = NewDirectory();
    EXPECT_EQ(LiveDay(directory, MemoryOf(bytes), 1), 0) << bytes << " bytes of address space";
  }
  std::printf("%llu calls met it\n", static_cast<unsigned long long>(met()));
  EXPECT_GE(met(), count_ / 4);
}

TEST_F(ShortMachine, EveryThreadThatDoesNotStart) {
  constexpr uint64_t kThreadsMax = 12;
  uint64_t refused = 0;
  for (uint64_t at_once = 0; at_once < kThreadsMax; ++at_once) {
    const std::string directory = NewDirectory();
    const Shortage shortage{[=] { FailingThreads::Arm(at_once); },
                            [] { FailingThreads::Disarm(); }};
    EXPECT_EQ(LiveDay(directory, shortage, 0), 0) << at_once << " threads";
    // An opening alone, which tells how many there are.
    const std::string other = NewDirectory();
    const int ended = InChild([&] {
      FailingThreads::Arm(at_once);
      const auto opened = Engine::Open(other);
      FailingThreads::Disarm();
      if (!opened.ok() && opened.status().code() != StatusCode::kIoError) {
        return Fail(0, "without a thread", opened.status());
      }
      return opened.ok() ? 0 : 2;
    });
    EXPECT_TRUE(ended == 0 || ended == 2) << at_once << " threads: " << ended;
    if (ended == 2) ++refused;
  }
  EXPECT_GE(refused, 4u);           // RocksDB's, reading ahead, maintenance
  EXPECT_LT(refused, kThreadsMax);  // all were tried
  // A replication's thread, which an engine that is open asks for.
  const Shortage none{[] { FailingThreads::Arm(0); }, [] { FailingThreads::Disarm(); }};
  EXPECT_EQ(LiveDay(NewDirectory(), none, 1), 0);
}

TEST_F(ShortMachine, NoProcessesLeft) {
  const std::string directory = NewDirectory();
  const Shortage shortage{[] { SetSoftLimit(RLIMIT_NPROC, 1); },
                          [] { SetSoftLimit(RLIMIT_NPROC, RLIM_INFINITY); }};
  EXPECT_EQ(::chmod(temp_.path().c_str(), 0755), 0);
  EXPECT_EQ(::mkdir(directory.c_str(), 0777), 0);
  EXPECT_EQ(::chmod(directory.c_str(), 0777), 0);
  EXPECT_EQ(InChild([&] {
              constexpr uid_t kNobody = 65534;
              // The limit is none for root.
              if (::geteuid() == 0 && ::setuid(kNobody) != 0) return 3;
              return RunDay(directory, shortage, 0, &met_->ops);
            }),
            0);
  EXPECT_GE(met(), 1u);
}

}  // namespace
}  // namespace cistern::testing
