// UnwindGuard: notices that an exception has left what it guards half done.
#ifndef CISTERN_BASE_UNWIND_GUARD_H_
#define CISTERN_BASE_UNWIND_GUARD_H_

#include <exception>
#include <utility>

namespace cistern {

// Calls `give_up`, which must not throw, if its scope is left by an exception. For what cannot be
// undone: the exception goes on to Guarded (lib/base/guard.h), which tells the caller.
template <typename GiveUp>
class UnwindGuard {
 public:
  explicit UnwindGuard(GiveUp give_up) : give_up_(std::move(give_up)) {}
  ~UnwindGuard() {
    if (std::uncaught_exceptions() > exceptions_before_) give_up_();
  }
  UnwindGuard(const UnwindGuard&) = delete;
  UnwindGuard& operator=(const UnwindGuard&) = delete;

 private:
  const GiveUp give_up_;
  const int exceptions_before_ = std::uncaught_exceptions();
};

}  // namespace cistern

#endif  // CISTERN_BASE_UNWIND_GUARD_H_
