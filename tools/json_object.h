// JsonObject: the members of one JSON object, as cells.
#ifndef CISTERN_TOOLS_JSON_OBJECT_H_
#define CISTERN_TOOLS_JSON_OBJECT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/status.h"
#include "tools/record_reader.h"

namespace cistern::tool {

// One thread at a time. Memory is bounded by the longest text.
class JsonObject {
 public:
  // Nested values that one of `names` leads into are opened: "a.b.c" opens "a" and "a.b".
  explicit JsonObject(const std::vector<std::string>& names);
  ~JsonObject();

  // Appends the members of the object that `text` holds to `cells`; numbers keep their digits. The
  // views point into this object, until its next call. kInvalidArgument says what is wrong, where.
  [[nodiscard]] Status Take(std::string_view text, std::vector<Cell>* cells);

 private:
  class Collector;

  // `text` with its bare NaN, Infinity and -Infinity as strings, which JSON knows.
  std::string_view WithQuotedWords(std::string_view text);

  std::unique_ptr<Collector> collector_;
  std::string quoted_;
  std::vector<size_t> words_;  // which strings of quoted_, names included, were bare words
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_JSON_OBJECT_H_
