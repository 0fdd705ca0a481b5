// Entered: how a call of the public interface that has work to do begins.
#ifndef CISTERN_BASE_ENTERED_H_
#define CISTERN_BASE_ENTERED_H_

#include <type_traits>

#include "cistern/status.h"
#include "lib/base/guard.h"
#include "lib/base/memory_reserve.h"

namespace cistern {

// Guarded, of a call that does not begin while the machine's memory is used up: kOutOfMemory, and
// nothing was done.
template <typename Body>
[[nodiscard]] std::invoke_result_t<Body> Entered(Body&& body) noexcept {
  return Guarded([&]() -> std::invoke_result_t<Body> {
    CISTERN_RETURN_IF_ERROR(MemoryReserve::Hold());
    return body();
  });
}

}  // namespace cistern

#endif  // CISTERN_BASE_ENTERED_H_
