// What the files of the transport share of Boost.Asio. Included by transport*.cc alone.
#ifndef CISTERN_CQL_TRANSPORT_CORE_H_
#define CISTERN_CQL_TRANSPORT_CORE_H_

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "engine/cql/event_loop.h"

namespace cistern::cql {

struct EventLoop::Core {
  using TimerKey = std::pair<int64_t, TimerId>;  // when it is due in monotonic us, its name

  std::shared_ptr<Clock> clock;
  std::map<TimerKey, std::function<void()>> timers;
  std::unordered_map<TimerId, int64_t> due_of_timer;
  TimerId timer_last = 0;
  std::atomic<bool> is_stopped = false;
  // Destroyed by ~EventLoop while all else stands: its handlers own what may cancel timers.
  std::unique_ptr<boost::asio::io_context> io = std::make_unique<boost::asio::io_context>();
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_TRANSPORT_CORE_H_
