#include "tools/time_pattern.h"

#include <fmt/format.h>

#include <utility>

#include "tools/pattern_match.h"
#include "tools/utc_offset.h"

namespace cistern::tool {
namespace {

std::string Quoted(std::string_view text) { return fmt::format("'{}'", text.substr(0, 80)); }

// What an item wants of a text, for messages.
std::string Wanted(const PatternItem& item) {
  switch (item.kind) {
    case PatternItem::Kind::kLiteral: return Quoted(item.text);
    case PatternItem::Kind::kBlanks:
    case PatternItem::Kind::kMaybeBlanks: return "a blank";
    case PatternItem::Kind::kNumber:
      return item.digits_min == item.digits_max
                 ? fmt::format("{} ({} digits)", item.text, item.digits_max)
                 : fmt::format("{} ({} to {})", item.text, item.value_min, item.value_max);
    case PatternItem::Kind::kName:
      return fmt::format("{} ({} or the like)", item.text, item.names[0]);
    case PatternItem::Kind::kFraction: return fmt::format("{} (digits)", item.text);
    case PatternItem::Kind::kOffset: return fmt::format("{} (+0200, +02:00 or Z)", item.text);
    case PatternItem::Kind::kZone: return fmt::format("{} (a zone such as UTC)", item.text);
  }
  return item.text;
}

Status NoMatch(const PatternMatch& match, const std::vector<PatternItem>& items,
               std::string_view text, const std::string& pattern) {
  const std::string_view rest = text.substr(match.furthest_at());
  if (match.furthest_item() == items.size()) {
    return Status::InvalidArgument(fmt::format(
        "{} goes on after the time format '{}' ends, with {}", Quoted(text), pattern,
        Quoted(rest)));
  }
  const std::string found =
      rest.empty() ? "it ends" : fmt::format("{} stands", Quoted(rest.substr(0, 20)));
  return Status::InvalidArgument(
      fmt::format("{} does not match the time format '{}': {} where {} is expected", Quoted(text),
                  pattern, found, Wanted(items[match.furthest_item()])));
}

// UTC by the parts that tell of an offset or a zone, or else by the clock.
Result<int64_t> UtcSecondsOf(const TimeFields& fields, int64_t local_s, const LocalClock& clock,
                             std::string_view text) {
  const bool has_offset = fields.Has(TimePart::kOffset);
  const int64_t by_offset_s = local_s - fields.Get(TimePart::kOffset);
  if (!fields.Has(TimePart::kZone)) {
    if (has_offset) return by_offset_s;
    return clock.UtcOf(local_s, text);
  }
  LocalClock either = clock;
  if (has_offset) either.set_ambiguous(AmbiguousTimes::kEarlier);
  CISTERN_ASSIGN_OR_RETURN(const int64_t earlier_s, either.UtcOfNamed(local_s, fields.zone, text));
  if (!has_offset || earlier_s == by_offset_s) return earlier_s;
  either.set_ambiguous(AmbiguousTimes::kLater);
  CISTERN_ASSIGN_OR_RETURN(const int64_t later_s, either.UtcOfNamed(local_s, fields.zone, text));
  if (later_s == by_offset_s) return later_s;
  return Status::OutOfRange(fmt::format(
      "{} contradicts itself: its offset is {}, and clocks of '{}' are at {} then; if the word is "
      "no zone, write it into the pattern in place of %Z", Quoted(text),
      FormatUtcOffset(static_cast<int32_t>(fields.Get(TimePart::kOffset))), fields.zone,
      FormatUtcOffset(static_cast<int32_t>(local_s - later_s))));
}

}  // namespace

Result<TimePattern> TimePattern::Compile(std::string_view text) {
  Result<std::vector<PatternItem>> items = ParsePattern(text);
  if (!items.ok()) {
    return Status::InvalidArgument(
        fmt::format("'{}': {}; expected a pattern such as '%d.%m.%Y %H:%M:%S', %z for an offset "
                    "from UTC", text, items.status().message()));
  }
  TimePattern pattern;
  pattern.program_ =
      std::make_shared<const Program>(Program{std::string(text), std::move(*items)});
  return pattern;
}

Result<Instant> TimePattern::Parse(std::string_view text, const LocalClock& clock) const {
  PatternMatch match(program_->items, text);
  if (!match.Run()) return NoMatch(match, program_->items, text, program_->text);
  if (match.finer_than_nanos()) {
    return Status::OutOfRange(fmt::format("time {} is finer than a nanosecond", Quoted(text)));
  }
  const TimeFields& fields = match.fields();
  if (fields.Has(TimePart::kEpoch)) return Instant{fields.Get(TimePart::kEpoch), 0};
  CISTERN_ASSIGN_OR_RETURN(const int64_t local_s, LocalSecondsOf(fields, text));
  Instant t;
  CISTERN_ASSIGN_OR_RETURN(t.seconds, UtcSecondsOf(fields, local_s, clock, text));
  t.nanos = static_cast<int32_t>(fields.Get(TimePart::kFraction));
  return t;
}

}  // namespace cistern::tool
