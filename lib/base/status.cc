#include "cistern/status.h"

#include "lib/base/concat.h"
#include "lib/base/guard.h"

namespace cistern {

namespace {
constexpr size_t kCodeCount = static_cast<size_t>(StatusCode::kTooManyOpenFiles) + 1;
}  // namespace

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
    case StatusCode::kTooManyOpenFiles: return "TooManyOpenFiles";
  }
  return "Unknown";
}

// One of each code, for when there is no memory for another one. Made as the program is loaded, and
// never destroyed, as a Status may live as long as the program.
Status::Failure* Status::AllWithoutMessage() {
  static Failure* const kAll = [] {
    auto* const all = new Failure[kCodeCount];
    for (size_t i = 0; i < kCodeCount; ++i) {
      all[i].code = static_cast<StatusCode>(i);
      all[i].is_counted = false;
      all[i].message = "the memory did not suffice for what else there is to say";
    }
    all[static_cast<size_t>(StatusCode::kOutOfMemory)].message =
        "the machine gives no more memory: try again once some is free";
    return all;
  }();
  return kAll;
}

Status Status::WithoutMessage(StatusCode code) noexcept {
  Status status;
  status.failure_ = &AllWithoutMessage()[static_cast<size_t>(code)];
  return status;
}

// By loading, while there is memory.
[[maybe_unused]] const Status kMadeWhenLoaded = Status::OutOfMemory();

Status::Status(StatusCode code, std::string_view message) noexcept {
  if (code == StatusCode::kOk) return;
  failure_ = GuardedOr<Failure*>(
      nullptr, [&] { return new Failure{code, true, 1, std::string(message)}; });
  if (failure_ == nullptr) *this = WithoutMessage(code);
}

Status Status::InvalidArgument(std::string_view message) noexcept {
  return {StatusCode::kInvalidArgument, message};
}
Status Status::NotFound(std::string_view message) noexcept {
  return {StatusCode::kNotFound, message};
}
Status Status::AlreadyExists(std::string_view message) noexcept {
  return {StatusCode::kAlreadyExists, message};
}
Status Status::Busy(std::string_view message) noexcept {
  return {StatusCode::kBusy, message};
}
Status Status::NoSpace(std::string_view message) noexcept {
  return {StatusCode::kNoSpace, message};
}
Status Status::IoError(std::string_view message) noexcept {
  return {StatusCode::kIoError, message};
}
Status Status::Corruption(std::string_view message) noexcept {
  return {StatusCode::kCorruption, message};
}
Status Status::TooNew(std::string_view message) noexcept {
  return {StatusCode::kTooNew, message};
}
Status Status::Locked(std::string_view message) noexcept {
  return {StatusCode::kLocked, message};
}
Status Status::OutOfRange(std::string_view message) noexcept {
  return {StatusCode::kOutOfRange, message};
}
Status Status::TooLarge(std::string_view message) noexcept {
  return {StatusCode::kTooLarge, message};
}
Status Status::Closed(std::string_view message) noexcept {
  return {StatusCode::kClosed, message};
}
Status Status::ReadOnly(std::string_view message) noexcept {
  return {StatusCode::kReadOnly, message};
}
Status Status::NotSupported(std::string_view message) noexcept {
  return {StatusCode::kNotSupported, message};
}
Status Status::OutOfMemory(std::string_view message) noexcept {
  return {StatusCode::kOutOfMemory, message};
}
Status Status::Internal(std::string_view message) noexcept {
  return {StatusCode::kInternal, message};
}
Status Status::TooManyOpenFiles(std::string_view message) noexcept {
  return {StatusCode::kTooManyOpenFiles, message};
}
Status Status::OutOfMemory() noexcept { return WithoutMessage(StatusCode::kOutOfMemory); }

void Status::Share() const noexcept {
  if (failure_->is_counted) failure_->references.fetch_add(1, std::memory_order_relaxed);
}

void Status::GiveUp() noexcept {
  if (!failure_->is_counted) return;
  if (failure_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete failure_;
}

const std::string& Status::message() const {
  static const std::string kNone;
  return ok() ? kNone : failure_->message;
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  return Concat({StatusCodeName(code()), ": ", message()});
}

}  // namespace cistern
