// JsonLine: an object of JSON on one line, put together member by member.
#ifndef CISTERN_TOOLS_JSON_LINE_H_
#define CISTERN_TOOLS_JSON_LINE_H_

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cistern::tool {

// One thread at a time. Names are taken as they are and need no escape.
class JsonLine {
 public:
  JsonLine& Text(std::string_view name, std::string_view value);
  // null without a value.
  JsonLine& TextOrNull(std::string_view name, const std::optional<std::string>& value);
  JsonLine& Texts(std::string_view name, const std::vector<std::string>& values);
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  JsonLine& Number(std::string_view name, T value) {
    return Raw(name, std::to_string(value));
  }
  JsonLine& Truth(std::string_view name, bool value);
  // A value that is JSON already.
  JsonLine& Raw(std::string_view name, std::string_view json);
  // Objects, each as object() gives it.
  JsonLine& Objects(std::string_view name, const std::vector<std::string>& objects);

  // "{...}", without an end of line.
  [[nodiscard]] std::string object() const { return members_.empty() ? "{}" : members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_JSON_LINE_H_
