// ExpectedState: what a workload attempted and was promised, kept in shared anonymous
// memory so that it survives the death of the process that wrote it.
//
// A worker process is forked with this mapping. It notes each batch before and after
// it is appended; when it has been killed, the parent (or a second process that it
// forks) compares with what the store holds. Nothing here touches a disk.
#ifndef CISTERN_TESTS_SUPPORT_EXPECTED_STATE_H_
#define CISTERN_TESTS_SUPPORT_EXPECTED_STATE_H_

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

namespace cistern::testing {

inline constexpr size_t kExpectedWritersMax = 8;
inline constexpr size_t kExpectedBatchesMax = 1 << 15;  // of one writer in one life
inline constexpr size_t kSpreadRowsMax = 1 << 13;       // of one store

// A batch that was acknowledged: rows up to `end` of its writer, and its commit group.
struct AcknowledgedBatch {
  uint64_t end = 0;
  uint64_t sequence = 0;
};

// One writer's rows are numbered 0, 1, 2, ... over the whole life of the store.
struct ExpectedWriter {
  std::atomic<uint64_t> attempted{0};     // rows handed to append, answered or not
  std::atomic<uint64_t> acknowledged{0};  // rows that were promised
  std::atomic<uint64_t> durable{0};       // rows that were promised to survive a power cut
  std::atomic<uint64_t> batch_count{0};
  std::array<AcknowledgedBatch, kExpectedBatchesMax> batches;
};

// Lives in the shared mapping: nothing in it may own memory or be locked.
struct ExpectedState {
  std::array<ExpectedWriter, kExpectedWritersMax> writers;
  // Rows far apart in time, one for each window: their times, by number.
  std::array<std::atomic<int64_t>, kSpreadRowsMax> spread_times_ms{};
  std::atomic<uint64_t> spread_attempted{0};
  std::atomic<uint64_t> spread_acknowledged{0};  // synced
  std::atomic<uint64_t> settled_versions{0};  // that were said to be sealed, or over since
  std::atomic<uint64_t> repeated_rows{0};  // rows appended again after an unknown outcome
  std::atomic<int64_t> clock_ahead_us{0};  // how far the store's clock was put forward
  std::atomic<uint64_t> io_operations{0};  // of the worker's last life
  std::atomic<uint64_t> crash_points_hit{0};
  std::atomic<bool> opened{false};   // the worker's engine was open
  std::atomic<bool> finished{false};  // the worker did all it was told
  char problem[8192] = "";            // written by a checking process, empty: none

  void SetProblem(const std::string& text) {
    std::snprintf(problem, sizeof problem, "%s", text.c_str());
  }
  // Forgets everything, for a new and empty store.
  void Clear() {
    for (ExpectedWriter& w : writers) w.attempted = w.acknowledged = w.durable = w.batch_count = 0;
    spread_attempted = spread_acknowledged = 0;
    settled_versions = 0;
    repeated_rows = 0;
    clock_ahead_us = 0;
    BeginLife();
  }
  // Before a worker is forked.
  void BeginLife() {
    for (ExpectedWriter& w : writers) w.batch_count = 0;
    io_operations = 0;
    crash_points_hit = 0;
    opened = false;
    finished = false;
    problem[0] = '\0';
  }
};

// What a check found in the store: rows present[w] = numbers seen of writer w, sorted.
using SurvivingRows = std::vector<std::vector<uint64_t>>;

// What must have survived.
enum class Promise {
  kAcknowledged,  // every acknowledged row: a killed process, or synced writes and a power cut
  kDurable,       // rows before the last sync; later ones without a gap
};

// Compares. Empty, or what is wrong. `batch_end(writer, n)` tells where the batch
// that begins at row n ends.
template <typename BatchEnd>
[[nodiscard]] std::string CompareSurvivors(const ExpectedState& state, const SurvivingRows& present,
                                           Promise promise, BatchEnd batch_end) {
  uint64_t survived_sequence_max = 0;
  uint64_t lost_sequence_min = UINT64_MAX;
  for (size_t w = 0; w < present.size(); ++w) {
    const ExpectedWriter& writer = state.writers[w];
    const std::string who = "writer " + std::to_string(w) + ": ";
    const uint64_t count = present[w].size();
    for (uint64_t n = 0; n < count; ++n) {
      if (present[w][n] == n) continue;
      return who + "survivors are no prefix: row " + std::to_string(n) + " of " +
             std::to_string(count) + " is row number " + std::to_string(present[w][n]);
    }
    const uint64_t promised = promise == Promise::kAcknowledged ? writer.acknowledged.load()
                                                                : writer.durable.load();
    if (count < promised) {
      return who + "lost acknowledged rows: promised " + std::to_string(promised) + ", found " +
             std::to_string(count);
    }
    if (count > writer.attempted.load()) {
      return who + "invented rows: attempted " + std::to_string(writer.attempted.load()) +
             ", found " + std::to_string(count);
    }
    uint64_t boundary = 0;
    while (boundary < count) boundary = batch_end(w, boundary);
    if (boundary != count) {
      return who + "torn batch: " + std::to_string(count) + " rows are no whole batches";
    }
    for (uint64_t i = 0; i < writer.batch_count.load() && i < kExpectedBatchesMax; ++i) {
      const AcknowledgedBatch& batch = writer.batches[i];
      if (batch.end <= count) {
        survived_sequence_max = std::max(survived_sequence_max, batch.sequence);
      } else {
        lost_sequence_min = std::min(lost_sequence_min, batch.sequence);
      }
    }
  }
  if (lost_sequence_min <= survived_sequence_max) {
    return "a gap: commit group " + std::to_string(lost_sequence_min) +
           " was lost, the later group " + std::to_string(survived_sequence_max) + " survived";
  }
  return "";
}

// The shared mapping itself. The process that makes it must outlive its children.
class SharedExpectedState {
 public:
  SharedExpectedState() {
    void* memory = mmap(nullptr, sizeof(ExpectedState), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    state_ = memory == MAP_FAILED ? nullptr : new (memory) ExpectedState;
  }
  ~SharedExpectedState() {
    if (state_ != nullptr) munmap(state_, sizeof(ExpectedState));
  }
  SharedExpectedState(const SharedExpectedState&) = delete;
  SharedExpectedState& operator=(const SharedExpectedState&) = delete;
  [[nodiscard]] ExpectedState* get() const { return state_; }  // null: no memory

 private:
  ExpectedState* state_ = nullptr;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_EXPECTED_STATE_H_
