#include "storage/text_record.h"

#include <algorithm>

#include "lib/base/checksum.h"

namespace cistern {

std::string HexOf(uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text.push_back(kDigits[(value >> shift) & 15]);
  return text;
}

bool IsHex(std::string_view text, size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool ParseHex(std::string_view text, uint64_t* value) {
  if (!IsHex(text, 16)) return false;
  return std::from_chars(text.data(), text.data() + text.size(), *value, 16).ec == std::errc();
}

bool TakeLine(std::string_view* text, std::string_view* line) {
  const size_t end = text->find('\n');
  if (end == std::string_view::npos) return false;
  *line = text->substr(0, end);
  text->remove_prefix(end + 1);
  return true;
}

bool TakeField(std::string_view* text, std::string_view name, std::string_view* value) {
  std::string_view line;
  if (!TakeLine(text, &line) || !line.starts_with(name)) return false;
  line.remove_prefix(name.size());
  if (line.empty() || line[0] != ' ') return false;
  *value = line.substr(1);
  return true;
}

std::string_view TakeWord(std::string_view* line) {
  const std::string_view word = line->substr(0, line->find(' '));
  line->remove_prefix(std::min(word.size() + 1, line->size()));
  return word;
}

void AppendChecksumLine(std::string* text) {
  const std::string checksum = HexOf(Checksum(*text));
  text->append("checksum ").append(checksum).append("\n");
}

bool IsChecksumLine(std::string_view rest, std::string_view whole) {
  const std::string_view covered = whole.substr(0, whole.size() - rest.size());
  std::string_view checksum;
  return TakeField(&rest, "checksum", &checksum) && rest.empty() &&
         checksum == HexOf(Checksum(covered));
}

}  // namespace cistern
