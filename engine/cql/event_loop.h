// EventLoop: the one thread on which everything of the network happens.
#ifndef CISTERN_CQL_EVENT_LOOP_H_
#define CISTERN_CQL_EVENT_LOOP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "cistern/clock.h"
#include "cistern/result.h"

namespace cistern::cql {

// Names a timer of a loop. 0 names none.
using TimerId = uint64_t;

// Runs the handlers of transports, timers and posted tasks, one after another.
//
// The host may drive it (Poll, Wait) or give it a thread (Run). One thread at a time is the
// loop's thread: the one that is inside Poll, Wait or Run, or would be the next to call them.
// Everything of engine/cql that takes a loop is called on that thread alone; other threads
// Post. A handler must not call Poll, Wait or Run.
//
// Timers follow the injected clock, sockets follow the machine. With a clock that a test moves,
// Poll after the move; Run and Wait do not see it.
class EventLoop {
 public:
  // kTooManyOpenFiles; kIoError: the machine refuses for another reason.
  static Result<std::unique_ptr<EventLoop>> Create(std::shared_ptr<Clock> clock);

  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  // Handlers that have not run are destroyed and never run. Waits for a resolution of a name
  // that is under way: a resolver of the system cannot be interrupted.
  ~EventLoop();

  // Runs `task` later, on the loop's thread. Any thread.
  void Post(std::function<void()> task);

  // Runs `task` once, `delay_us` from now or later; 0 or less: in the next turn.
  TimerId After(int64_t delay_us, std::function<void()> task);
  // Forgets a timer. One that has run, or was forgotten, is no mistake.
  void Cancel(TimerId timer);

  // Microseconds of the clock's monotonic time.
  [[nodiscard]] int64_t NowUs() const;

  // Runs at most `handler_count_max` handlers that are ready and returns how many; never waits.
  size_t Poll(size_t handler_count_max);
  // As Poll, but waits for the first one for at most `wait_us` of the machine's time.
  size_t Wait(int64_t wait_us, size_t handler_count_max);
  // Runs handlers until Stop.
  void Run();
  // Lets Run return, also one that begins later. Any thread.
  void Stop();

  struct Core;
  // For engine/cql/transport*.cc alone.
  [[nodiscard]] Core& core() { return *core_; }

 private:
  explicit EventLoop(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_EVENT_LOOP_H_
