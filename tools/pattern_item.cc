#include "tools/pattern_item.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace cistern::tool {
namespace {

using Kind = PatternItem::Kind;
using Padding = PatternItem::Padding;
using enum TimePart;

constexpr size_t kPatternBytesMax = 256;
constexpr std::string_view kMonths[] = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::string_view kWeekdays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                          "Thursday", "Friday", "Saturday"};
constexpr std::string_view kHalves[] = {"AM", "PM"};

struct NumberConversion {
  char letter;
  TimePart part;
  int digits_min, digits_max;
  int64_t value_min, value_max;
  Padding padding = Padding::kNone;
};
// %S up to 61 as strptime has it: 60 is refused as a time, not taken for 6 and a 0 that follows.
constexpr NumberConversion kNumbers[] = {
    {'Y', kYear, 4, 4, 1, 9999},
    {'y', kYearOfCentury, 2, 2, 0, 99},
    {'C', kCentury, 2, 2, 0, 99},
    {'m', kMonth, 1, 2, 1, 12},
    {'d', kDay, 1, 2, 1, 31, Padding::kOneBlank},
    {'e', kDay, 1, 2, 1, 31, Padding::kBlanks},
    {'j', kDayOfYear, 1, 3, 1, 366},
    {'U', kWeekOfSundays, 1, 2, 0, 53},
    {'W', kWeekOfMondays, 1, 2, 0, 53},
    {'G', kIsoYear, 4, 4, 1, 9999},
    {'V', kIsoWeek, 1, 2, 1, 53},
    {'w', kWeekdayFrom0, 1, 1, 0, 6},
    {'u', kWeekdayFrom1, 1, 1, 1, 7},
    {'H', kHour, 1, 2, 0, 23},
    {'k', kHour, 1, 2, 0, 23, Padding::kBlanks},
    {'I', kHour12, 1, 2, 1, 12},
    {'l', kHour12, 1, 2, 1, 12, Padding::kBlanks},
    {'M', kMinute, 1, 2, 0, 59},
    {'S', kSecond, 1, 2, 0, 61},
    {'s', kEpoch, 1, 12, 0, 999'999'999'999},
};

// What stands for several parts.
constexpr std::pair<char, std::string_view> kComposites[] = {
    {'D', "%m/%d/%y"}, {'x', "%m/%d/%y"}, {'F', "%Y-%m-%d"},    {'T', "%H:%M:%S"},
    {'X', "%H:%M:%S"}, {'R', "%H:%M"},    {'r', "%I:%M:%S %p"}, {'c', "%a %b %d %H:%M:%S %Y"}};

bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

template <size_t kCount>
PatternItem NameItem(TimePart part, const std::string_view (&names)[kCount], int64_t first,
                     size_t short_length, bool short_first) {
  PatternItem item;
  item.kind = Kind::kName;
  item.part = part;
  item.names = names;
  item.name_count = kCount;
  item.value_min = first;
  item.short_length = short_length;
  item.short_first = short_first;
  return item;
}

PatternItem PlainItem(Kind kind, TimePart part) {
  PatternItem item;
  item.kind = kind;
  item.part = part;
  return item;
}

// Reads a pattern, and those that stand for several parts within it.
class PatternParser {
 public:
  Status Parse(std::string_view text) {
    size_t i = 0;
    while (i < text.size()) {
      if (IsBlank(text[i])) {
        while (i < text.size() && IsBlank(text[i])) ++i;
        AddBlanks(Kind::kBlanks);
      } else if (text[i] != '%') {
        AddLiteral(text[i++]);
      } else {
        CISTERN_RETURN_IF_ERROR(ParseConversion(text, &i));
      }
    }
    return Status::Ok();
  }

  Result<std::vector<PatternItem>> Finish() {
    const std::string lacking = WhatIsLacking(parts_);
    if (!lacking.empty()) return Status::InvalidArgument(lacking);
    for (size_t i = 0; i + 1 < items_.size(); ++i) CISTERN_RETURN_IF_ERROR(CheckNext(i));
    if (PatternItem& last = items_.back(); last.part == kSecond) {
      last.takes_decimals = !parts_.test(static_cast<size_t>(kFraction));
    }
    return std::move(items_);
  }

 private:
  // `*i` is at the '%', and then behind the conversion.
  Status ParseConversion(std::string_view text, size_t* i) {
    const size_t begin = (*i)++;
    constexpr std::string_view kFlags = "-_0^#";  // of strftime: "_" writes blanks before digits
    while (*i < text.size() && kFlags.find(text[*i]) != std::string_view::npos) ++*i;
    std::string_view allowed;
    if (*i < text.size() && (text[*i] == 'E' || text[*i] == 'O')) {
      allowed = text[(*i)++] == 'E' ? "cCxXyY" : "bBdehHImMSUVwWy";
    }
    const size_t letter_at = *i;
    if (letter_at < text.size()) ++*i;
    const std::string_view written = text.substr(begin, *i - begin);
    const bool is_other = letter_at == text.size() ||
                          (!allowed.empty() && allowed.find(text[letter_at]) == allowed.npos);
    if (is_other || !AddConversion(text[letter_at], written)) {
      return Status::InvalidArgument(fmt::format(
          "'{}' at character {} is none of its parts{}", written, begin + 1,
          written.ends_with('N') || written.ends_with('L') ? " (%f reads a fraction)" : ""));
    }
    return status_;
  }

  // False for a letter that is no conversion.
  bool AddConversion(char letter, std::string_view written) {
    for (const auto& [composite, meaning] : kComposites) {
      if (composite == letter) {
        status_ = Parse(meaning);
        return true;
      }
    }
    for (const NumberConversion& number : kNumbers) {
      if (number.letter == letter) {
        AddNumber(number, written);
        return true;
      }
    }
    switch (letter) {
      case 'a': AddPart(NameItem(kWeekdayName, kWeekdays, 0, 3, true), written); return true;
      case 'A': AddPart(NameItem(kWeekdayName, kWeekdays, 0, 3, false), written); return true;
      case 'b':
      case 'h': AddPart(NameItem(kMonthName, kMonths, 1, 3, true), written); return true;
      case 'B': AddPart(NameItem(kMonthName, kMonths, 1, 3, false), written); return true;
      case 'p':
      case 'P': AddPart(NameItem(kHalf, kHalves, 0, 0, false), written); return true;
      case 'f': AddPart(PlainItem(Kind::kFraction, kFraction), written); return true;
      case 'z': AddPart(PlainItem(Kind::kOffset, kOffset), written); return true;
      case 'Z': AddPart(PlainItem(Kind::kZone, kZone), written); return true;
      case 'n':
      case 't': AddBlanks(Kind::kMaybeBlanks); return true;
      case '%': AddLiteral('%'); return true;
      default: return false;
    }
  }

  void AddNumber(const NumberConversion& number, std::string_view written) {
    PatternItem item = PlainItem(Kind::kNumber, number.part);
    item.digits_min = number.digits_min;
    item.digits_max = number.digits_max;
    item.value_min = number.value_min;
    item.value_max = number.value_max;
    item.padding = written.find('_') == written.npos ? number.padding : Padding::kBlanks;
    AddPart(std::move(item), written);
  }

  void AddPart(PatternItem item, std::string_view written) {
    const auto index = static_cast<size_t>(item.part);
    if (parts_.test(index)) {
      status_ = Status::InvalidArgument(
          fmt::format("'{}' reads what a part before it has read already", written));
    }
    parts_.set(index);
    item.text = written;
    items_.push_back(std::move(item));
  }

  void AddLiteral(char c) {
    if (items_.empty() || items_.back().kind != Kind::kLiteral) items_.emplace_back();
    items_.back().text.push_back(c);
  }

  void AddBlanks(Kind kind) {
    const bool more = !items_.empty() && (items_.back().kind == Kind::kBlanks ||
                                          items_.back().kind == Kind::kMaybeBlanks);
    if (!more) {
      items_.push_back(PlainItem(kind, kYear));
    } else if (kind == Kind::kBlanks) {
      items_.back().kind = kind;
    }
  }

  // What follows item `i`, which has no end of its own: digits that follow would be its too.
  Status CheckNext(size_t i) {
    PatternItem& item = items_[i];
    const PatternItem& next = items_[i + 1];
    const char first = next.kind == Kind::kLiteral ? next.text.front() : '\0';
    const bool digits_follow = next.ReadsDigits() || (first >= '0' && first <= '9');
    if (item.kind == Kind::kNumber && item.part == kSecond) {
      item.takes_decimals = !digits_follow && first != '.' && first != ',' &&
                            !parts_.test(static_cast<size_t>(kFraction));
    }
    const bool endless = item.kind == Kind::kFraction ||
                         (item.kind == Kind::kNumber && item.part == kEpoch);
    if (!endless || !digits_follow) return Status::Ok();
    return Status::InvalidArgument(fmt::format(
        "no sign parts '{}' from the digits of '{}' behind it", item.text, next.text));
  }

  std::vector<PatternItem> items_;
  TimeParts parts_;
  Status status_ = Status::Ok();
};

}  // namespace

Result<std::vector<PatternItem>> ParsePattern(std::string_view text) {
  if (text.size() > kPatternBytesMax) {
    return Status::InvalidArgument(fmt::format("it is longer than {} bytes", kPatternBytesMax));
  }
  PatternParser parser;
  CISTERN_RETURN_IF_ERROR(parser.Parse(text));
  if (!text.empty() && (IsBlank(text.front()) || IsBlank(text.back()))) {
    return Status::InvalidArgument(
        "it begins or ends with a blank, and blanks around a cell are not read; leave it out");
  }
  return parser.Finish();
}

}  // namespace cistern::tool
