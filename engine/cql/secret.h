// Secret: a text that is wiped when it is no longer needed.
#ifndef CISTERN_CQL_SECRET_H_
#define CISTERN_CQL_SECRET_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "cistern/result.h"

namespace cistern::cql {

// Overwrites what `text` holds, also where a compiler could see that nobody reads it again.
inline void Wipe(std::string* text) {
  volatile char* at = text->data();
  for (size_t i = 0; i < text->size(); ++i) at[i] = '\0';
  text->clear();
}

// Moved, never copied; wiped at its end. Thread-compatible.
class Secret {
 public:
  Secret() = default;
  // Copies and wipes: a short text lies in the string itself, and moving would leave it there.
  explicit Secret(std::string&& text) : text_(text) { Wipe(&text); }
  Secret(Secret&& other) noexcept { *this = std::move(other); }
  Secret& operator=(Secret&& other) noexcept {
    if (this == &other) return *this;
    Wipe(&text_);
    text_ = other.text_;  // a short text lies in the object itself: moving would leave it there
    Wipe(&other.text_);
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { Wipe(&text_); }

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }

 private:
  std::string text_;
};

struct Credentials {
  std::string user;
  Secret password;
};

// Asked at each connect that needs them, on the loop's thread, so that a changed password counts
// and none lies in memory for years.
using CredentialSource = std::function<Result<Credentials>()>;

}  // namespace cistern::cql

#endif  // CISTERN_CQL_SECRET_H_
