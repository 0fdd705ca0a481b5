#include "lib/cql/duration_text.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <span>

#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/vint.h"

namespace cistern {
namespace {

constexpr uint64_t kMonthsOfYear = 12;
constexpr uint64_t kDaysOfWeek = 7;

enum class Part : uint8_t { kMonths, kDays, kNanos };

struct Unit {
  std::string_view word;
  Part part;
  uint64_t factor;
};

// In the order in which they stand.
constexpr std::array<Unit, 11> kUnits = {{
    {"y", Part::kMonths, kMonthsOfYear},
    {"mo", Part::kMonths, 1},
    {"w", Part::kDays, kDaysOfWeek},
    {"d", Part::kDays, 1},
    {"h", Part::kNanos, 3'600'000'000'000},
    {"m", Part::kNanos, 60'000'000'000},
    {"s", Part::kNanos, 1'000'000'000},
    {"ms", Part::kNanos, 1'000'000},
    {"us", Part::kNanos, 1'000},
    {"\xc2\xb5s", Part::kNanos, 1'000},
    {"ns", Part::kNanos, 1},
}};
constexpr std::array<Unit, 4> kIsoDateUnits = {{
    {"y", Part::kMonths, kMonthsOfYear},
    {"m", Part::kMonths, 1},
    {"w", Part::kDays, kDaysOfWeek},
    {"d", Part::kDays, 1},
}};
constexpr std::array<Unit, 3> kIsoTimeUnits = {{
    {"h", Part::kNanos, 3'600'000'000'000},
    {"m", Part::kNanos, 60'000'000'000},
    {"s", Part::kNanos, 1'000'000'000},
}};

char ToLower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads numbers with their units, whatever the case of letters.
class DurationReader {
 public:
  explicit DurationReader(std::string_view text) : text_(text), rest_(text) {}

  Status Read(std::string* out) {
    is_negative_ = rest_.starts_with('-');
    if (is_negative_) rest_.remove_prefix(1);
    if (!rest_.empty() && ToLower(rest_.front()) == 'p') {
      rest_.remove_prefix(1);
      CISTERN_RETURN_IF_ERROR(ReadIso());
    } else {
      CISTERN_RETURN_IF_ERROR(ReadUnits(kUnits));
    }
    if (!rest_.empty() || !has_unit_) return Expected();
    out->clear();
    for (const Part part : {Part::kMonths, Part::kDays, Part::kNanos}) {
      const uint64_t amount = amounts_[static_cast<size_t>(part)];
      PutVint(out, static_cast<int64_t>(is_negative_ ? 0 - amount : amount));
    }
    return Status::Ok();
  }

 private:
  Status Expected() const {
    return Status::InvalidArgument(Concat({"expected a duration such as 1mo2d3h4m5s or P1DT3H, "
        "got ", ShowText(text_)}));
  }

  Status ReadIso() {
    CISTERN_RETURN_IF_ERROR(ReadUnits(kIsoDateUnits));
    if (rest_.empty() || ToLower(rest_.front()) != 't') return Status::Ok();
    rest_.remove_prefix(1);
    if (rest_.empty()) return Expected();
    return ReadUnits(kIsoTimeUnits);
  }

  // As many as follow one another in the order of `units`, each at most once.
  Status ReadUnits(std::span<const Unit> units) {
    size_t next = 0;
    while (!rest_.empty() && IsDigit(rest_.front())) {
      uint64_t number = 0;
      const auto [end, error] =
          std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
      if (error != std::errc()) return TooLarge();
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      const size_t unit = FindUnit(units, next);
      if (unit == units.size()) return Expected();
      CISTERN_RETURN_IF_ERROR(Add(number, units[unit]));
      rest_.remove_prefix(units[unit].word.size());
      next = unit + 1;
    }
    return Status::Ok();
  }

  // The longest of the units from `next` on with which the rest begins.
  [[nodiscard]] size_t FindUnit(std::span<const Unit> units, size_t next) const {
    size_t best = units.size();
    for (size_t i = next; i < units.size(); ++i) {
      const bool is_longer = best == units.size() || units[i].word.size() > units[best].word.size();
      if (is_longer && RestBeginsWith(units[i].word)) best = i;
    }
    return best;
  }

  [[nodiscard]] bool RestBeginsWith(std::string_view word) const {
    if (rest_.size() < word.size()) return false;
    for (size_t i = 0; i < word.size(); ++i) {
      if (ToLower(rest_[i]) != word[i]) return false;
    }
    return true;
  }

  Status Add(uint64_t number, const Unit& unit) {
    has_unit_ = true;
    uint64_t& amount = amounts_[static_cast<size_t>(unit.part)];
    const auto largest = static_cast<uint64_t>(unit.part == Part::kNanos
                                                   ? std::numeric_limits<int64_t>::max()
                                                   : std::numeric_limits<int32_t>::max());
    const uint64_t most = largest + (is_negative_ ? 1 : 0);
    if (number > (most - amount) / unit.factor) return TooLarge();
    amount += number * unit.factor;
    return Status::Ok();
  }

  Status TooLarge() const {
    return Status::OutOfRange(Concat({ShowText(text_), " is beyond what a duration can hold: 32 "
        "bits of months and of days, 64 of nanoseconds"}));
  }

  std::string_view text_;
  std::string_view rest_;
  bool is_negative_ = false;
  bool has_unit_ = false;
  std::array<uint64_t, 3> amounts_ = {};  // by Part
};

bool FitsInt32(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() &&
         value <= std::numeric_limits<int32_t>::max();
}

// |value|, that of the least number included.
uint64_t Magnitude(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  return value < 0 ? 0 - bits : bits;
}

// "2h": as many as there are whole ones, which are taken from *rest.
void AppendUnit(uint64_t factor, std::string_view word, uint64_t* rest, std::string* out) {
  if (*rest / factor == 0) return;
  out->append(std::to_string(*rest / factor)).append(word);
  *rest %= factor;
}

}  // namespace

Status CheckDuration(std::string_view bytes) {
  int64_t months = 0;
  int64_t days = 0;
  int64_t nanos = 0;
  const bool is_whole = TakeVint(&bytes, &months) && TakeVint(&bytes, &days) &&
                        TakeVint(&bytes, &nanos) && bytes.empty();
  if (!is_whole) return Status::InvalidArgument("a duration is three numbers, months, days and ns");
  if (!FitsInt32(months) || !FitsInt32(days)) {
    return Status::InvalidArgument("the months and days of a duration have 32 bits");
  }
  const bool is_negative = months < 0 || days < 0 || nanos < 0;
  const bool is_positive = months > 0 || days > 0 || nanos > 0;
  if (is_negative && is_positive) {
    return Status::InvalidArgument("months, days and nanoseconds of a duration have one sign");
  }
  return Status::Ok();
}

Status ParseDurationText(std::string_view text, std::string* out) {
  return DurationReader(text).Read(out);
}

void FormatDurationText(std::string_view bytes, std::string* out) {
  std::array<int64_t, 3> parts = {};  // by Part
  bool is_negative = false;
  for (int64_t& part : parts) {
    if (!TakeVint(&bytes, &part)) return;
    is_negative |= part < 0;
  }
  if (is_negative) out->push_back('-');
  const size_t begin = out->size();
  for (const Part part : {Part::kMonths, Part::kDays, Part::kNanos}) {
    uint64_t rest = Magnitude(parts[static_cast<size_t>(part)]);
    for (const Unit& unit : kUnits) {
      const bool is_shown = unit.part == part && unit.word != "w";
      if (is_shown) AppendUnit(unit.factor, unit.word, &rest, out);
    }
  }
  if (out->size() == begin) out->append("0s");
}

}  // namespace cistern
