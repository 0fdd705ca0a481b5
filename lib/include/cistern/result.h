// Result<T>: a value or the Status that says why there is none. Shaped like
// std::expected, which is C++23.
#ifndef CISTERN_RESULT_H_
#define CISTERN_RESULT_H_

#include <cstdlib>
#include <optional>
#include <utility>

#include "cistern/status.h"

namespace cistern {

// Holds either a T or a Status that is not OK. Must be looked at before use:
// value() on an error ends the process, as it is the program's own mistake.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) {
      status_ = Status::Internal("a Result was made of an OK status without a value");
    }
  }

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Status& status() const& { return status_; }
  [[nodiscard]] Status&& status() && { return std::move(status_); }

  [[nodiscard]] T& value() & { Require(); return *value_; }
  [[nodiscard]] const T& value() const& { Require(); return *value_; }
  [[nodiscard]] T&& value() && { Require(); return std::move(*value_); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void Require() const {
    if (!value_.has_value()) std::abort();
  }
  std::optional<T> value_;
  Status status_;
};

}  // namespace cistern

// CISTERN_ASSIGN_OR_RETURN(auto x, MakeX()): x becomes the value, or the
// enclosing function returns the status.
#define CISTERN_ASSIGN_OR_RETURN(decl, expr) \
  CISTERN_ASSIGN_OR_RETURN_(CISTERN_CONCAT_(cistern_result_, __LINE__), decl, expr)
#define CISTERN_ASSIGN_OR_RETURN_(tmp, decl, expr)            \
  auto tmp = (expr);                                          \
  if (!tmp.ok()) [[unlikely]] return std::move(tmp).status(); \
  decl = std::move(tmp).value()

#endif  // CISTERN_RESULT_H_
