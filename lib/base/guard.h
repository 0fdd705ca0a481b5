// Guarded: the one place where an exception becomes a Status.
#ifndef CISTERN_BASE_GUARD_H_
#define CISTERN_BASE_GUARD_H_

#include <type_traits>
#include <utility>

#include "cistern/status.h"

namespace cistern {

// What the exception that is being handled means: kOutOfMemory of an allocation, kIoError of the
// system (a thread that cannot start), kInternal of any other. In a catch clause alone.
[[nodiscard]] Status StatusOfException() noexcept;

// Runs `body`, which returns a Status or a Result; an exception that leaves it is returned as a
// Status. Stands where code of ours is entered: at each call of the public interface, at each turn
// of a thread. Between those nothing catches, except where something that is half done must be
// undone or given up.
template <typename Body>
[[nodiscard]] std::invoke_result_t<Body> Guarded(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return StatusOfException();
  }
}

// As Guarded, of a call that has no way to return a Status: `otherwise` is its answer then.
template <typename Answer, typename Body>
[[nodiscard]] Answer GuardedOr(Answer otherwise, Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (...) {
    return otherwise;
  }
}

}  // namespace cistern

#endif  // CISTERN_BASE_GUARD_H_
