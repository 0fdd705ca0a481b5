// EventLoop over io_context. Timers are a map of our own, because they follow an injected clock.
#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>

#include "engine/cql/transport_core.h"

#include "lib/base/concat.h"

namespace cistern::cql {
namespace {

// Run wakes up at least this often, so that a clock that jumps is noticed.
constexpr int64_t kSleepUsMax = 60'000'000;

// Runs the timers that are due, earliest first. One set by a timer's task waits for the next
// turn, so that a task that sets itself anew does not keep the loop.
size_t RunTimers(EventLoop::Core& core, size_t count_max) {
  const int64_t now_us = core.clock->MonotonicMicros();
  const TimerId newest = core.timer_last;
  size_t count = 0;
  auto at = core.timers.begin();
  while (count < count_max && at != core.timers.end() && at->first.first <= now_us) {
    if (at->first.second > newest) {
      ++at;
      continue;
    }
    const std::function<void()> task = std::move(at->second);
    core.due_of_timer.erase(at->first.second);
    core.timers.erase(at);
    task();
    ++count;
    at = core.timers.begin();  // the task may have changed the map
  }
  return count;
}

int64_t UntilNextTimerUs(EventLoop::Core& core) {
  if (core.timers.empty()) return kSleepUsMax;
  const int64_t due_us = core.timers.begin()->first.first;
  return std::clamp<int64_t>(due_us - core.clock->MonotonicMicros(), 0, kSleepUsMax);
}

}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::Create(std::shared_ptr<Clock> clock) {
  try {
    auto core = std::make_unique<Core>();
    core->clock = std::move(clock);
    // The first socket makes what waits for all of them: here, where a lack of descriptors is told.
    boost::asio::ip::tcp::socket first(*core->io);
    return std::unique_ptr<EventLoop>(new EventLoop(std::move(core)));
  } catch (const boost::system::system_error& error) {
    const std::string what = Concat({"no event loop for the network: ", error.what()});
    namespace errc = boost::system::errc;
    const bool lacks_files = error.code() == errc::too_many_files_open ||
                             error.code() == errc::too_many_files_open_in_system;
    return lacks_files
               ? Status::TooManyOpenFiles(what + "; raise the limit of open files (ulimit -n)")
               : Status::IoError(what);
  }
}

EventLoop::EventLoop(std::unique_ptr<Core> core) : core_(std::move(core)) {}

EventLoop::~EventLoop() {
  core_->io.reset();
  // What the tasks own may cancel timers while it is destroyed: not while the map is.
  std::map<Core::TimerKey, std::function<void()>> timers;
  timers.swap(core_->timers);
  core_->due_of_timer.clear();
}

void EventLoop::Post(std::function<void()> task) {
  boost::asio::post(*core_->io, std::move(task));
}

TimerId EventLoop::After(int64_t delay_us, std::function<void()> task) {
  const TimerId timer = ++core_->timer_last;
  const int64_t due_us = NowUs() + std::max<int64_t>(delay_us, 0);
  core_->timers.emplace(Core::TimerKey{due_us, timer}, std::move(task));
  core_->due_of_timer.emplace(timer, due_us);
  return timer;
}

void EventLoop::Cancel(TimerId timer) {
  const auto found = core_->due_of_timer.find(timer);
  if (found == core_->due_of_timer.end()) return;
  const auto at = core_->timers.find({found->second, timer});
  core_->due_of_timer.erase(found);
  // Taken out before it is destroyed: what it holds may cancel other timers.
  const auto task = core_->timers.extract(at);
}

int64_t EventLoop::NowUs() const { return core_->clock->MonotonicMicros(); }

size_t EventLoop::Poll(size_t handler_count_max) {
  core_->io->restart();
  size_t count = RunTimers(*core_, handler_count_max);
  while (count < handler_count_max && core_->io->poll_one() != 0) ++count;
  return count;
}

size_t EventLoop::Wait(int64_t wait_us, size_t handler_count_max) {
  const size_t ready = Poll(handler_count_max);
  if (ready != 0 || wait_us <= 0) return ready;
  const int64_t sleep_us = std::min(wait_us, UntilNextTimerUs(*core_));
  // Without work io_context would not wait at all: the guard keeps it waiting for posts.
  const auto guard = boost::asio::make_work_guard(*core_->io);
  core_->io->restart();
  const size_t first = core_->io->run_one_for(std::chrono::microseconds(sleep_us));
  return first + Poll(handler_count_max - std::min(first, handler_count_max));
}

void EventLoop::Run() {
  constexpr size_t kHandlersPerTurn = 64;
  while (!core_->is_stopped.load()) Wait(kSleepUsMax, kHandlersPerTurn);
}

void EventLoop::Stop() {
  core_->is_stopped.store(true);
  Post([] {});
}

}  // namespace cistern::cql
