#include "tools/exit_code.h"

namespace cistern::tool {

ExitCode ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return kExitOk;
    case StatusCode::kInvalidArgument:
    case StatusCode::kAlreadyExists:
    case StatusCode::kOutOfRange:
    case StatusCode::kTooLarge:
    case StatusCode::kNotSupported:
      return kExitUsage;
    case StatusCode::kNotFound:
    case StatusCode::kCorruption:
    case StatusCode::kTooNew:
    case StatusCode::kLocked:
    case StatusCode::kReadOnly:
      return kExitStore;
    case StatusCode::kBusy:
    case StatusCode::kNoSpace:
    case StatusCode::kIoError:
    case StatusCode::kOutOfMemory:
    case StatusCode::kTooManyOpenFiles:
      return kExitStorage;
    case StatusCode::kClosed:
    case StatusCode::kInternal:
      return kExitInternal;
  }
  return kExitInternal;
}

}  // namespace cistern::tool
