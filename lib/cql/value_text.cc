#include "lib/cql/value_text.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "cistern/limits.h"
#include "lib/base/concat.h"
#include "lib/cql/big_number_text.h"
#include "lib/cql/composite_text.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/duration_text.h"
#include "lib/cql/inet_text.h"
#include "lib/cql/time_text.h"

namespace cistern {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr size_t kUuidBytes = 16;

Status Expected(const ColumnType& type, const std::string& what, std::string_view text) {
  return Status::InvalidArgument(Concat({"expected ", type.ToCql(), " such as ", what, ", got ",
      ShowText(text)}));
}

bool EqualsIgnoringCase(std::string_view text, std::string_view lower_case) {
  if (text.size() != lower_case.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i] >= 'A' && text[i] <= 'Z' ? static_cast<char>(text[i] | 0x20) : text[i];
    if (c != lower_case[i]) return false;
  }
  return true;
}

Status ParseInteger(const ColumnType& type, std::string_view text, int64_t* out) {
  std::string_view digits = text;
  if (digits.starts_with('+') && digits.size() > 1 && digits[1] != '-') digits.remove_prefix(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *out);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument) {
    return Expected(type, "42", text);
  }
  const FixedRange range = FixedRangeOf(type.kind);
  if (error == std::errc::result_out_of_range || *out < range.min || *out > range.max) {
    return Status::OutOfRange(Concat({ShowText(text), " is outside ", CqlTypeName(type.kind), " (",
        range.min, " to ", range.max, ")"}));
  }
  return Status::Ok();
}

// NaN and the infinities by name; nullopt for anything else.
std::optional<double> SpecialNumber(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (EqualsIgnoringCase(text, "nan")) return std::numeric_limits<double>::quiet_NaN();
  if (!EqualsIgnoringCase(text, "infinity") && !EqualsIgnoringCase(text, "inf"))
    return std::nullopt;
  const double infinity = std::numeric_limits<double>::infinity();
  return negative ? -infinity : infinity;
}

template <typename Real>
Status ParseReal(const ColumnType& type, std::string_view text, Real* out) {
  if (const auto special = SpecialNumber(text)) {
    *out = static_cast<Real>(*special);
    return Status::Ok();
  }
  std::string_view digits = text;
  if (digits.starts_with('+')) digits.remove_prefix(1);
  // from_chars knows names of its own, and a second sign may not follow the first.
  const bool plain = !digits.empty() &&
                     digits.find_first_not_of("0123456789+-.eE") == std::string_view::npos &&
                     (digits.data() == text.data() || digits[0] != '-');
  if (!plain) return Expected(type, "3.25", text);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *out);
  if (end != digits.data() + digits.size() || error == std::errc::invalid_argument) {
    return Expected(type, "3.25", text);
  }
  if (error == std::errc::result_out_of_range) {
    return Status::OutOfRange(Concat({ShowText(text), " is beyond what a ", CqlTypeName(type.kind),
        " can hold"}));
  }
  return Status::Ok();
}

template <typename Real>
void FormatReal(Real value, std::string* out) {
  if (std::isnan(value)) {
    out->append("NaN");
  } else if (std::isinf(value)) {
    out->append(value < 0 ? "-Infinity" : "Infinity");
  } else {
    char text[64];
    const auto [end, error] = std::to_chars(text, text + sizeof(text), value);
    out->append(text, end);
  }
}

std::optional<uint8_t> HexValue(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

bool AppendHexByte(char high, char low, std::string* out) {
  const auto h = HexValue(high);
  const auto l = HexValue(low);
  if (!h.has_value() || !l.has_value()) return false;
  out->push_back(static_cast<char>(*h << 4 | *l));
  return true;
}

Status ParseBlob(const ColumnType& type, std::string_view text, std::string* out) {
  const bool prefixed = text.starts_with("0x") || text.starts_with("0X");
  if (!prefixed || text.size() % 2 != 0) return Expected(type, "0x00ff (two digits a byte)", text);
  if (text.size() / 2 - 1 > limits::kCellBytesMax) {
    return Status::TooLarge(Concat({"a value has at most ", limits::kCellBytesMax, " bytes"}));
  }
  for (size_t i = 2; i < text.size(); i += 2) {
    if (!AppendHexByte(text[i], text[i + 1], out)) return Expected(type, "0x00ff", text);
  }
  return Status::Ok();
}

// Dashes stand before bytes 4, 6, 8 and 10.
bool DashBefore(size_t byte) {
  return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

Status ParseUuid(const ColumnType& type, std::string_view text, std::string* out) {
  constexpr size_t kTextBytes = 2 * kUuidBytes + 4;
  size_t i = 0;
  bool good = text.size() == kTextBytes;
  for (size_t byte = 0; good && byte < kUuidBytes; ++byte) {
    if (DashBefore(byte)) good = text[i++] == '-';
    good = good && AppendHexByte(text[i], text[i + 1], out);
    i += 2;
  }
  if (!good) return Expected(type, "50554d6e-29bb-11e5-b345-feff819cdc9f", text);
  return CheckWireBytes(type, *out);
}

void FormatUuid(std::string_view bytes, std::string* out) {
  for (size_t byte = 0; byte < kUuidBytes; ++byte) {
    if (DashBefore(byte)) out->push_back('-');
    out->push_back(kHexDigits[static_cast<uint8_t>(bytes[byte]) >> 4]);
    out->push_back(kHexDigits[static_cast<uint8_t>(bytes[byte]) & 15]);
  }
}

Status ParseBoolean(const ColumnType& type, std::string_view text, int64_t* out) {
  const bool yes = EqualsIgnoringCase(text, "true") || text == "1";
  if (!yes && !EqualsIgnoringCase(text, "false") && text != "0")
    return Expected(type, "true", text);
  *out = yes ? 1 : 0;
  return Status::Ok();
}

Status ParseBytesLane(const ColumnType& type, std::string_view text, std::string* out) {
  switch (type.kind) {
    case CqlType::kBlob: return ParseBlob(type, text, out);
    case CqlType::kUuid:
    case CqlType::kTimeuuid: return ParseUuid(type, text, out);
    case CqlType::kInet:
      return ParseInetText(text, out) ? Status::Ok()
                                      : Expected(type, "192.168.0.1 or 2001:db8::1", text);
    case CqlType::kDecimal: return ParseDecimalText(text, out);
    case CqlType::kVarint: return ParseVarintText(text, out);
    case CqlType::kDuration: return ParseDurationText(text, out);
    case CqlType::kList:
    case CqlType::kSet:
    case CqlType::kMap:
    case CqlType::kTuple:
    case CqlType::kVector:
    case CqlType::kUserType: return ParseCompositeText(type, text, out);
    default: break;
  }
  CISTERN_RETURN_IF_ERROR(CheckWireBytes(type, text));  // text and ascii stand for themselves
  out->assign(text);
  return Status::Ok();
}

}  // namespace

void AppendHex(std::string_view bytes, std::string* out) {
  out->append("0x");
  for (const char c : bytes) {
    out->push_back(kHexDigits[static_cast<uint8_t>(c) >> 4]);
    out->push_back(kHexDigits[static_cast<uint8_t>(c) & 15]);
  }
}

Status ParseValueText(const ColumnType& type, std::string_view text, CellValue* out) {
  out->fixed = 0;
  out->bytes.clear();
  switch (type.kind) {
    case CqlType::kBoolean: return ParseBoolean(type, text, &out->fixed);
    case CqlType::kTinyint:
    case CqlType::kSmallint:
    case CqlType::kInt:
    case CqlType::kBigint: return ParseInteger(type, text, &out->fixed);
    case CqlType::kFloat: {
      float value = 0;
      CISTERN_RETURN_IF_ERROR(ParseReal(type, text, &value));
      out->fixed = std::bit_cast<uint32_t>(value);
      return Status::Ok();
    }
    case CqlType::kDouble: {
      double value = 0;
      CISTERN_RETURN_IF_ERROR(ParseReal(type, text, &value));
      out->fixed = std::bit_cast<int64_t>(value);
      return Status::Ok();
    }
    case CqlType::kTimestamp: return ParseTimeText(text, TimeUnit::kMillis, &out->fixed);
    case CqlType::kDate: return ParseDateText(text, &out->fixed);
    case CqlType::kTime: return ParseTimeOfDayText(text, &out->fixed);
    default: return ParseBytesLane(type, text, &out->bytes);
  }
}

void FormatValueText(const ColumnType& type, int64_t fixed, std::string_view bytes,
                     std::string* out) {
  if (type.lane() == Lane::kBytes && !CheckWireBytes(type, bytes).ok()) {
    AppendHex(bytes, out);
    return;
  }
  switch (type.kind) {
    case CqlType::kBoolean: out->append(fixed != 0 ? "true" : "false"); break;
    case CqlType::kTinyint:
    case CqlType::kSmallint:
    case CqlType::kInt:
    case CqlType::kBigint: out->append(std::to_string(fixed)); break;
    case CqlType::kFloat:
      FormatReal(std::bit_cast<float>(static_cast<uint32_t>(fixed)), out);
      break;
    case CqlType::kDouble: FormatReal(std::bit_cast<double>(fixed), out); break;
    case CqlType::kTimestamp: FormatTimeText(fixed, TimeUnit::kMillis, out); break;
    case CqlType::kDate: FormatDateText(fixed, out); break;
    case CqlType::kTime: FormatTimeOfDayText(fixed, out); break;
    case CqlType::kText:
    case CqlType::kAscii: out->append(bytes); break;
    case CqlType::kBlob: AppendHex(bytes, out); break;
    case CqlType::kUuid:
    case CqlType::kTimeuuid: FormatUuid(bytes, out); break;
    case CqlType::kInet: FormatInetText(bytes, out); break;
    case CqlType::kDecimal: FormatDecimalText(bytes, out); break;
    case CqlType::kVarint: FormatVarintText(bytes, out); break;
    case CqlType::kDuration: FormatDurationText(bytes, out); break;
    case CqlType::kList:
    case CqlType::kSet:
    case CqlType::kMap:
    case CqlType::kTuple:
    case CqlType::kVector:
    case CqlType::kUserType: FormatCompositeText(type, bytes, out); break;
  }
}

}  // namespace cistern
