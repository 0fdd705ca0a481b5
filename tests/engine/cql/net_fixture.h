// What the tests of transport, connection and session share: a loop that is turned until
// something has happened.
#ifndef CISTERN_TESTS_ENGINE_CQL_NET_FIXTURE_H_
#define CISTERN_TESTS_ENGINE_CQL_NET_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "cistern/clock.h"
#include "engine/cql/event_loop.h"

namespace cistern::cql {

inline std::unique_ptr<EventLoop> MakeLoop(std::shared_ptr<Clock> clock = SystemClock()) {
  auto loop = EventLoop::Create(std::move(clock));
  EXPECT_TRUE(loop.ok()) << loop.status().ToString();
  return std::move(loop).value();
}

// Turns the loop until `is_done`. False after a minute: nothing that a test waits for takes
// long, however busy the machine is.
inline bool RunUntil(EventLoop& loop, const std::function<bool()>& is_done) {
  const auto begin = std::chrono::steady_clock::now();
  while (!is_done()) {
    if (std::chrono::steady_clock::now() - begin > std::chrono::minutes(1)) return false;
    loop.Wait(5'000, 64);
  }
  return true;
}

}  // namespace cistern::cql

#endif  // CISTERN_TESTS_ENGINE_CQL_NET_FIXTURE_H_
