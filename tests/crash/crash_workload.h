// The workload that is killed, and the check of what it left behind.
//
// Every writer appends rows numbered 0, 1, 2, ...; all that a row holds follows from
// (writer, number), so the checker knows each row without having stored it.
#ifndef CISTERN_TESTS_CRASH_CRASH_WORKLOAD_H_
#define CISTERN_TESTS_CRASH_CRASH_WORKLOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cistern/cistern.h"
#include "tests/support/expected_state.h"

namespace cistern::testing {

// Opens the store of a life: plainly, or over a faulty file system.
using OpenStore = std::function<Result<std::unique_ptr<Engine>>(const EngineOptions& options)>;

// Of the least budget, which meets most, and synced often.
[[nodiscard]] EngineOptions SmallOptions();

struct CrashWorkload {
  uint64_t seed = 1;
  size_t writer_count = 1;
  uint64_t batches_max = 200;  // of each writer, then the life ends by itself
  Durability durability = Durability::kSynced;
  bool background_threads = false;
  bool close_at_end = true;        // else the engine is destroyed without Close
  uint64_t rotate_one_in = 40;     // batches between rotations, on average; 0: never
  uint64_t seal_one_in = 0;        // batches between seals of everything; 0: never
  uint64_t expire_one_in = 0;      // batches between windows that end, see Writer::EndWindow
  uint64_t alter_one_in = 0;       // batches between alterations, see Writer::Alter; 0: never
  uint64_t spread_one_in = 0;      // batches between rows of many windows, see Writer::Spread
  uint64_t confirm_one_in = 0;     // batches between answers, see Writer::HearUpstream
  uint64_t sync_one_in = 10;       // batches between syncs in kLog; 0: never
  // Errors of the device are expected: a refused batch is tried again a few times, and a
  // writer that gets no further ends. The statuses must be ones that fit.
  bool tolerate_errors = false;
  bool must_heal = false;  // faults end: at its end the engine comes back to health and to rest
  bool acknowledge_early = false;  // the planted bug: promise before the write
  EngineOptions options = SmallOptions();  // clock and threads are the life's own
};

// Rows of the batch of `writer` that begins at row `first` end before this row.
[[nodiscard]] uint64_t BatchEnd(size_t writer, uint64_t first);

// One life: opens, continues each writer where `state` says, notes what it does there.
// Returns an error text if a call failed that must not fail.
[[nodiscard]] std::string RunLife(const OpenStore& open, const CrashWorkload& workload,
                                  ExpectedState* state);

// Turns the engine until it is in health and has no more to do. Empty, or what keeps it after many
// turns; the clock moves where a turn fails.
[[nodiscard]] std::string ComeToRest(Engine* engine, ExpectedState* state);

struct SurvivalCheck {
  size_t writer_count = 1;
  Promise promise = Promise::kAcknowledged;
  bool verify = false;    // also Engine::Verify
  bool no_alarm = false;  // the opening must have met nothing unusual
  // Then everything is sealed, and the engine comes to rest within a bound of steps.
  bool drains = false;
  EngineOptions options = SmallOptions();
};

// Opens the store, compares it with `state` and closes it. Empty, or what is wrong. When
// nothing is wrong, `state` continues from what was found.
[[nodiscard]] std::string CheckSurvivors(const OpenStore& open, const SurvivalCheck& check,
                                         ExpectedState* state);

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_CRASH_CRASH_WORKLOAD_H_
