#include "tools/pattern_match.h"

#include <algorithm>
#include <array>
#include <string>

#include "tools/utc_offset.h"

namespace cistern::tool {
namespace {

constexpr size_t kStepsMax = 10'000;  // a text from outside never keeps the reader for long

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool IsLetter(char c) { return Lower(c) >= 'a' && Lower(c) <= 'z'; }

bool BeginsWith(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(),
                    [](char a, char b) { return Lower(a) == Lower(b); });
}

// Bytes of the blank that `text` begins with, 0 if it begins with none. Blanks are Python's: a
// browser has U+202F before AM and PM.
size_t BlankBytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return lead == ' ' || (lead >= 9 && lead <= 13) || (lead >= 28 && lead <= 31);
  constexpr std::array<std::string_view, 8> kOthers = {
      "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\xA8", "\xE2\x80\xA9",
      "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80"};
  for (const std::string_view other : kOthers) {
    if (text.starts_with(other)) return other.size();
  }
  // U+2000 to U+200A.
  const bool of_2000 = text.size() >= 3 && text.starts_with("\xE2\x80");
  return of_2000 && static_cast<uint8_t>(text[2]) >= 0x80 && static_cast<uint8_t>(text[2]) <= 0x8A
             ? 3
             : 0;
}

}  // namespace

bool PatternMatch::From(size_t item, size_t at) {
  if (++steps_ > kStepsMax) return false;
  if (at > furthest_at_ || (at == furthest_at_ && item > furthest_item_)) {
    furthest_at_ = at;
    furthest_item_ = item;
  }
  if (item == items_.size()) return at == text_.size();
  const PatternItem& what = items_[item];
  switch (what.kind) {
    case PatternItem::Kind::kLiteral:
      return BeginsWith(text_.substr(at), what.text) && From(item + 1, at + what.text.size());
    case PatternItem::Kind::kBlanks:
    case PatternItem::Kind::kMaybeBlanks: {
      const size_t begin = at;
      while (const size_t blank = BlankBytes(text_.substr(at))) at += blank;
      if (at == begin && what.kind == PatternItem::Kind::kBlanks) return false;
      return From(item + 1, at);
    }
    case PatternItem::Kind::kNumber: return NumberFrom(item, at);
    case PatternItem::Kind::kName: return NameFrom(item, at);
    case PatternItem::Kind::kFraction: return FractionFrom(item, at);
    case PatternItem::Kind::kOffset: return OffsetFrom(item, at);
    case PatternItem::Kind::kZone: return ZoneFrom(item, at);
  }
  return false;
}

bool PatternMatch::NumberFrom(size_t item, size_t at) {
  const PatternItem& what = items_[item];
  int digits_max = what.digits_max;
  if (at < text_.size() && text_[at] == ' ' && what.padding != PatternItem::Padding::kNone) {
    ++at;
    if (what.padding == PatternItem::Padding::kOneBlank) {
      digits_max = 1;
    } else {
      while (at < text_.size() && text_[at] == ' ') ++at;
    }
  }
  int digits = 0;
  while (digits < digits_max && at + digits < text_.size() && IsDigit(text_[at + digits])) {
    ++digits;
  }
  for (; digits >= what.digits_min; --digits) {
    int64_t value = 0;
    for (int i = 0; i < digits; ++i) value = value * 10 + (text_[at + i] - '0');
    if (value < what.value_min || value > what.value_max) continue;
    fields_.Set(what.part, what.part == TimePart::kWeekdayFrom1 ? value % 7 : value);
    const size_t end = at + digits;
    const bool decimals = what.takes_decimals && end + 1 < text_.size() &&
                          (text_[end] == '.' || text_[end] == ',') && IsDigit(text_[end + 1]);
    if (decimals && From(item + 1, end + 1 + ReadFraction(end + 1))) return true;
    if (decimals) {
      fields_.Set(TimePart::kFraction, 0);
      finer_than_nanos_ = false;
    }
    if (From(item + 1, end)) return true;
  }
  return false;
}

bool PatternMatch::NameFrom(size_t item, size_t at) {
  const PatternItem& what = items_[item];
  const std::string_view rest = text_.substr(at);
  for (const bool is_short : {what.short_first, !what.short_first}) {
    if (is_short && what.short_length == 0) continue;
    for (size_t i = 0; i < what.name_count; ++i) {
      const std::string_view name =
          is_short ? what.names[i].substr(0, what.short_length) : what.names[i];
      if (!BeginsWith(rest, name)) continue;
      fields_.Set(what.part, what.value_min + static_cast<int64_t>(i));
      if (From(item + 1, at + name.size())) return true;
    }
  }
  return false;
}

size_t PatternMatch::ReadFraction(size_t at) {
  int64_t nanos = 0;
  size_t count = 0;
  finer_than_nanos_ = false;
  for (; at + count < text_.size() && IsDigit(text_[at + count]); ++count) {
    if (count < 9) nanos = nanos * 10 + (text_[at + count] - '0');
    if (count >= 9 && text_[at + count] != '0') finer_than_nanos_ = true;
  }
  for (size_t i = count; i < 9; ++i) nanos *= 10;
  fields_.Set(TimePart::kFraction, nanos);
  return count;
}

bool PatternMatch::FractionFrom(size_t item, size_t at) {
  const size_t count = ReadFraction(at);
  return count > 0 && From(item + 1, at + count);
}

bool PatternMatch::OffsetFrom(size_t item, size_t at) {
  int32_t offset_s = 0;
  size_t end = at;
  if (!ReadUtcOffset(text_, &end, 2, &offset_s)) return false;
  fields_.Set(TimePart::kOffset, offset_s);
  return From(item + 1, end);
}

// A word of letters, or with what else names of zones have in them.
bool PatternMatch::ZoneFrom(size_t item, size_t at) {
  size_t letters = 0;
  while (at + letters < text_.size() && IsLetter(text_[at + letters])) ++letters;
  size_t all = letters;
  const auto in_name = [](char c) {
    return IsLetter(c) || IsDigit(c) || c == '/' || c == '_' || c == '+' || c == '-';
  };
  while (at + all < text_.size() && in_name(text_[at + all])) ++all;
  for (const size_t count : {all, letters}) {
    if (letters == 0) break;
    fields_.zone = text_.substr(at, count);
    fields_.told.set(static_cast<size_t>(TimePart::kZone));
    if (From(item + 1, at + count)) return true;
  }
  return false;
}

}  // namespace cistern::tool
