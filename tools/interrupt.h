// SIGINT and SIGTERM as a flag and a file descriptor that polls readable.
#ifndef CISTERN_TOOLS_INTERRUPT_H_
#define CISTERN_TOOLS_INTERRUPT_H_

#include <cstdint>

namespace cistern::tool {

// Catches SIGINT and SIGTERM from here on. A second signal within a second of the first one is
// taken for the same; a later one ends the process at once, as by default. Call once, before
// threads start.
void CatchInterrupts();

// The signal that came, or 0.
[[nodiscard]] int InterruptSignal();

// Readable once a signal came; -1 before CatchInterrupts().
[[nodiscard]] int InterruptFd();

// Waits so long, or until a signal comes. After CatchInterrupts().
void PauseUnlessInterrupted(int64_t wait_us);
// The same, or until nobody reads the pipe or socket `output` any more, or it is closed: false
// then.
[[nodiscard]] bool PauseWhileRead(int64_t wait_us, int output);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_INTERRUPT_H_
