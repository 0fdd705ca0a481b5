// Words as a shell takes them: what a message recommends can be pasted.
#ifndef CISTERN_BASE_SHELL_TEXT_H_
#define CISTERN_BASE_SHELL_TEXT_H_

#include <string>
#include <string_view>

namespace cistern {

// In single quotes, whatever is in it: 'it'\''s'.
[[nodiscard]] inline std::string ShellQuoted(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

// The same where it has to be; as it is where a shell takes it so.
[[nodiscard]] inline std::string ShellWord(std::string_view word) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:=+,@%-";
  const bool is_plain = !word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos;
  return is_plain ? std::string(word) : ShellQuoted(word);
}

}  // namespace cistern

#endif  // CISTERN_BASE_SHELL_TEXT_H_
