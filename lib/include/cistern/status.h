// Status: the outcome of a call that can fail. Never thrown, never ignored.
#ifndef CISTERN_STATUS_H_
#define CISTERN_STATUS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cistern/export.h"

namespace cistern {

// What kind of failure it was. The values are part of the interface, and of the C interface
// that is planned: append, never renumber.
enum class StatusCode : int {
  kOk = 0,
  kInvalidArgument = 1,  // the caller's data or request is wrong; the same again fails again
  kNotFound = 2,         // no such table, bucket, store
  kAlreadyExists = 3,    // it exists and differs from what was asked
  kBusy = 4,             // a queue or a budget is full; try again after a pause
  kNoSpace = 5,          // the disk or the disk budget is full; nothing acknowledged is touched
  kIoError = 6,          // the device failed; the outcome of the write is unknown, repeat it
  kCorruption = 7,       // stored bytes are damaged; the message names them
  kTooNew = 8,           // the store was written by a newer version; nothing was changed
  kLocked = 9,           // another process holds the store
  kOutOfRange = 10,      // a time or number outside what the column or the clock allows
  kTooLarge = 11,        // a limit of limits.h was exceeded, before anything was allocated
  kClosed = 12,          // the engine was closed
  kReadOnly = 13,        // the directory or the file system does not let us write
  kNotSupported = 14,    // a CQL feature that Cistern does not have, named
  kOutOfMemory = 15,     // the memory budget, or the machine's memory, does not suffice for this
  kInternal = 16,        // our own mistake, reported instead of hidden
  kTooManyOpenFiles = 17,  // no file descriptor is left; a write's outcome is as after kIoError
};

// The code's name as the tool and the logs print it, for example "InvalidArgument".
[[nodiscard]] CISTERN_EXPORT std::string_view StatusCodeName(StatusCode code);

// A code and, unless OK, a sentence that says what, where and what to do. OK is a null
// pointer: what nearly every call returns costs nothing to make, move or ask. To make, copy, move
// or destroy a Status never throws: copies share the failure, and where no memory is left for one
// the code is kept and the sentence says so. Thread-compatible.
class [[nodiscard]] CISTERN_EXPORT Status {
 public:
  Status() = default;
  // An OK code keeps no message. The message is copied.
  [[gnu::cold]] Status(StatusCode code, std::string_view message) noexcept;
  Status(const Status& other) noexcept : failure_(other.failure_) {
    if (failure_ != nullptr) Share();
  }
  Status(Status&& other) noexcept : failure_(std::exchange(other.failure_, nullptr)) {}
  Status& operator=(Status other) noexcept {
    std::swap(failure_, other.failure_);
    return *this;
  }
  ~Status() {
    if (failure_ != nullptr) GiveUp();
  }

  static Status Ok() { return {}; }
  // A failure is made out of line, and what leads to it is compiled for size: hundreds of places
  // build a message, and none of them runs for a row that is well.
  [[gnu::cold]] static Status InvalidArgument(std::string_view message) noexcept;
  [[gnu::cold]] static Status NotFound(std::string_view message) noexcept;
  [[gnu::cold]] static Status AlreadyExists(std::string_view message) noexcept;
  [[gnu::cold]] static Status Busy(std::string_view message) noexcept;
  [[gnu::cold]] static Status NoSpace(std::string_view message) noexcept;
  [[gnu::cold]] static Status IoError(std::string_view message) noexcept;
  [[gnu::cold]] static Status Corruption(std::string_view message) noexcept;
  [[gnu::cold]] static Status TooNew(std::string_view message) noexcept;
  [[gnu::cold]] static Status Locked(std::string_view message) noexcept;
  [[gnu::cold]] static Status OutOfRange(std::string_view message) noexcept;
  [[gnu::cold]] static Status TooLarge(std::string_view message) noexcept;
  [[gnu::cold]] static Status Closed(std::string_view message) noexcept;
  [[gnu::cold]] static Status ReadOnly(std::string_view message) noexcept;
  [[gnu::cold]] static Status NotSupported(std::string_view message) noexcept;
  [[gnu::cold]] static Status OutOfMemory(std::string_view message) noexcept;
  // Of an allocation that failed. Takes no memory itself.
  [[gnu::cold]] static Status OutOfMemory() noexcept;
  [[gnu::cold]] static Status Internal(std::string_view message) noexcept;
  [[gnu::cold]] static Status TooManyOpenFiles(std::string_view message) noexcept;

  [[nodiscard]] bool ok() const { return failure_ == nullptr; }
  [[nodiscard]] StatusCode code() const { return ok() ? StatusCode::kOk : failure_->code; }
  [[nodiscard]] const std::string& message() const;  // empty when OK
  // "OK", or "<CodeName>: <message>".
  [[nodiscard]] std::string ToString() const;

  // For a status whose failure changes nothing for the caller. Say why beside it.
  void IgnoreError() const {}

 private:
  // Never changed. Those of a message are counted; those without one are there for good.
  struct Failure {
    StatusCode code;
    bool is_counted;
    std::atomic<uint32_t> references;
    std::string message;
  };
  static Failure* AllWithoutMessage();
  static Status WithoutMessage(StatusCode code) noexcept;
  [[gnu::cold]] void Share() const noexcept;
  [[gnu::cold]] void GiveUp() noexcept;
  Failure* failure_ = nullptr;  // null: OK
};

}  // namespace cistern

#define CISTERN_CONCAT_INNER_(a, b) a##b
#define CISTERN_CONCAT_(a, b) CISTERN_CONCAT_INNER_(a, b)
// Returns from the enclosing function when `expr` is not OK.
#define CISTERN_RETURN_IF_ERROR(expr) \
  CISTERN_RETURN_IF_ERROR_(CISTERN_CONCAT_(cistern_status_, __LINE__), expr)
#define CISTERN_RETURN_IF_ERROR_(tmp, expr) \
  do {                                      \
    ::cistern::Status tmp = (expr);         \
    if (!tmp.ok()) [[unlikely]] return tmp; \
  } while (false)

#endif  // CISTERN_STATUS_H_
