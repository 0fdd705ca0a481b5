#include "cistern/status.h"

namespace cistern {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk: return "OK";
    case StatusCode::kInvalidArgument: return "InvalidArgument";
    case StatusCode::kNotFound: return "NotFound";
    case StatusCode::kAlreadyExists: return "AlreadyExists";
    case StatusCode::kBusy: return "Busy";
    case StatusCode::kNoSpace: return "NoSpace";
    case StatusCode::kIoError: return "IoError";
    case StatusCode::kCorruption: return "Corruption";
    case StatusCode::kTooNew: return "TooNew";
    case StatusCode::kLocked: return "Locked";
    case StatusCode::kOutOfRange: return "OutOfRange";
    case StatusCode::kTooLarge: return "TooLarge";
    case StatusCode::kClosed: return "Closed";
    case StatusCode::kReadOnly: return "ReadOnly";
    case StatusCode::kNotSupported: return "NotSupported";
    case StatusCode::kOutOfMemory: return "OutOfMemory";
    case StatusCode::kInternal: return "Internal";
  }
  return "Unknown";
}

Status::Status(StatusCode code, std::string message)
    : failure_(code == StatusCode::kOk ? nullptr : new Failure{code, std::move(message)}) {}

Status::Status(const Status& other)
    : failure_(other.ok() ? nullptr : new Failure(*other.failure_)) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) failure_.reset(other.ok() ? nullptr : new Failure(*other.failure_));
  return *this;
}

const std::string& Status::message() const {
  static const std::string kNone;
  return ok() ? kNone : failure_->message;
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  return std::string(StatusCodeName(code())) + ": " + message();
}

}  // namespace cistern
