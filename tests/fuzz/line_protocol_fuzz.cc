// libFuzzer target; see README.md here. Its seeds are tests/tools/line_protocol/*.lp.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/check.h"
#include "tests/tools/reader_test_util.h"
#include "tools/line_protocol_reader.h"

namespace cistern::tool {
namespace {

std::vector<ReadRecord> ReadLines(std::string_view text) {
  const auto input = Input::FromText(std::string(text));
  return ReadAll(NewLineProtocolReader(input.get()).get());
}

// Records are pieces of the input in its order, and their lines are counted right. A line that is
// in none of them is blank or a comment.
void CheckPlaces(std::string_view text, const std::vector<ReadRecord>& records) {
  size_t at = 0;
  uint64_t line = 1;
  for (const ReadRecord& record : records) {
    while (line < record.line) {
      const size_t end = text.find('\n', at);
      CISTERN_CHECK(end != std::string_view::npos);
      const size_t first = text.find_first_not_of(" \r\n", at);
      CISTERN_CHECK(first == std::string_view::npos || first > end || text[first] == '#');
      at = end + 1;
      ++line;
    }
    CISTERN_CHECK(line == record.line);
    CISTERN_CHECK(text.substr(at).starts_with(record.raw));
    at += record.raw.size();
    line += static_cast<uint64_t>(std::ranges::count(record.raw, '\n'));
  }
}

// What is kept in a reject file, or taken out of a file by hand, means the same when it is read by
// itself.
void CheckAlone(const ReadRecord& record) {
  const std::vector<ReadRecord> again = ReadLines(record.raw);
  CISTERN_CHECK(again.size() == 1);
  CISTERN_CHECK(again[0].bad == record.bad);
  CISTERN_CHECK(again[0].names == record.names);
  CISTERN_CHECK(again[0].texts == record.texts);
  CISTERN_CHECK(record.bad == !record.reason.empty());
}

void Fuzz(std::string_view text) {
  if (text.size() >= kLineBytesMax || text.starts_with("\xEF\xBB\xBF")) return;
  const std::vector<ReadRecord> records = ReadLines(text);
  CheckPlaces(text, records);
  for (const ReadRecord& record : records) {
    if (!std::string_view(record.raw).starts_with("\xEF\xBB\xBF")) CheckAlone(record);
  }
}

}  // namespace
}  // namespace cistern::tool

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cistern::tool::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
