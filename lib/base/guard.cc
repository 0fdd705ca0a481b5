#include "lib/base/guard.h"

#include <exception>
#include <new>
#include <string>
#include <system_error>

namespace cistern {

namespace {

// The message of an exception, or what there is without memory for it.
Status WithMessage(StatusCode code, const char* what, const char* message) noexcept {
  try {
    return {code, std::string(what) + message};
  } catch (...) {
    return Status::OutOfMemory();
  }
}

}  // namespace

Status StatusOfException() noexcept {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory();
  } catch (const std::system_error& failure) {
    return WithMessage(StatusCode::kIoError, "the system refused: ", failure.what());
  } catch (const std::exception& failure) {
    return WithMessage(StatusCode::kInternal, "an exception ended the call: ", failure.what());
  } catch (...) {
    return WithMessage(StatusCode::kInternal, "an exception ended the call", "");
  }
}

}  // namespace cistern
