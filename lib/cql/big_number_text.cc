#include "lib/cql/big_number_text.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <vector>

#include "cistern/limits.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"

namespace cistern {
namespace {

// Magnitude of a number: 32-bit limbs, lowest first, none of them a leading zero.
using Limbs = std::vector<uint32_t>;

constexpr uint32_t kChunk = 1'000'000'000;  // nine decimal digits
constexpr size_t kChunkDigits = 9;
constexpr size_t kDigitsMax = limits::kVarintBytesMax * 5 / 2;  // 8 bits are 2.41 digits

bool AllDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

void MultiplyAdd(uint32_t factor, uint32_t addend, Limbs* limbs) {
  uint64_t carry = addend;
  for (uint32_t& limb : *limbs) {
    carry += uint64_t{limb} * factor;
    limb = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  if (carry != 0) limbs->push_back(static_cast<uint32_t>(carry));
}

uint32_t DivideBy(uint32_t divisor, Limbs* limbs) {
  uint64_t rest = 0;
  for (size_t i = limbs->size(); i-- > 0;) {
    rest = rest << 32 | (*limbs)[i];
    (*limbs)[i] = static_cast<uint32_t>(rest / divisor);
    rest %= divisor;
  }
  while (!limbs->empty() && limbs->back() == 0) limbs->pop_back();
  return static_cast<uint32_t>(rest);
}

Limbs LimbsFromDigits(std::string_view digits) {
  Limbs limbs;
  while (!digits.empty()) {
    const size_t take =
        digits.size() % kChunkDigits == 0 ? kChunkDigits : digits.size() % kChunkDigits;
    uint32_t chunk = 0;
    uint32_t factor = 1;
    for (size_t i = 0; i < take; ++i) {
      chunk = chunk * 10 + static_cast<uint32_t>(digits[i] - '0');
      factor *= 10;
    }
    MultiplyAdd(factor, chunk, &limbs);
    digits.remove_prefix(take);
  }
  return limbs;
}

// Shortest two's complement, highest byte first.
std::string BytesFromLimbs(const Limbs& limbs, bool negative) {
  std::string bytes;  // lowest first until the end
  for (const uint32_t limb : limbs) PutLittle<uint32_t>(&bytes, limb);
  bytes.push_back('\0');
  if (negative) {
    uint32_t carry = 1;
    for (char& byte : bytes) {
      carry += static_cast<uint8_t>(~static_cast<uint8_t>(byte));
      byte = static_cast<char>(carry);
      carry >>= 8;
    }
  }
  const auto sign_repeats = [&bytes] {
    const auto top = static_cast<uint8_t>(bytes.back());
    const bool below_negative = (static_cast<uint8_t>(bytes[bytes.size() - 2]) & 0x80) != 0;
    return (top == 0 && !below_negative) || (top == 0xff && below_negative);
  };
  while (bytes.size() > 1 && sign_repeats()) bytes.pop_back();
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

Limbs LimbsFromBytes(std::string_view bytes, bool* negative) {
  *negative = (static_cast<uint8_t>(bytes[0]) & 0x80) != 0;
  Limbs limbs((bytes.size() + 3) / 4, 0);
  uint32_t carry = *negative ? 1 : 0;
  for (size_t i = 0; i < bytes.size(); ++i) {  // lowest byte first
    const auto byte = static_cast<uint8_t>(bytes[bytes.size() - 1 - i]);
    carry += *negative ? static_cast<uint8_t>(~byte) : byte;
    limbs[i / 4] |= (carry & 0xff) << (8 * (i % 4));
    carry >>= 8;
  }
  // The lowest number of its length has a magnitude one bit longer, which still fits the
  // unsigned limbs unless they are exactly filled.
  if (carry != 0) limbs.push_back(1);
  while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
  return limbs;
}

std::string DigitsFromLimbs(Limbs limbs) {
  std::string reversed;
  while (!limbs.empty()) {
    uint32_t chunk = DivideBy(kChunk, &limbs);
    for (size_t i = 0; i < kChunkDigits; ++i) {
      reversed.push_back(static_cast<char>('0' + chunk % 10));
      chunk /= 10;
    }
  }
  while (reversed.size() > 1 && reversed.back() == '0') reversed.pop_back();
  if (reversed.empty()) reversed.push_back('0');
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

Status TooManyDigits() {
  return Status::TooLarge(Concat({"the number has more digits than ", limits::kVarintBytesMax,
      " bytes hold"}));
}

Status NumberFromDigits(std::string_view digits, bool negative, std::string* out) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.size() > kDigitsMax) return TooManyDigits();
  *out = BytesFromLimbs(LimbsFromDigits(digits), negative);
  return out->size() > limits::kVarintBytesMax ? TooManyDigits() : Status::Ok();
}

bool TakeSign(std::string_view* text) {
  const bool negative = text->starts_with('-');
  if (negative || text->starts_with('+')) text->remove_prefix(1);
  return negative;
}

}  // namespace

Status ParseVarintText(std::string_view text, std::string* out) {
  std::string_view digits = text;
  const bool negative = TakeSign(&digits);
  if (!AllDigits(digits))
    return Status::InvalidArgument(Concat({"expected a whole number, got ", ShowText(text)}));
  return NumberFromDigits(digits, negative, out);
}

void FormatVarintText(std::string_view bytes, std::string* out) {
  bool negative = false;
  Limbs limbs = LimbsFromBytes(bytes, &negative);
  if (negative) out->push_back('-');
  out->append(DigitsFromLimbs(std::move(limbs)));
}

Status ParseDecimalText(std::string_view text, std::string* out) {
  std::string_view rest = text;
  const bool negative = TakeSign(&rest);
  const size_t e = rest.find_first_of("eE");
  const std::string_view mantissa = rest.substr(0, e);
  const size_t point = mantissa.find('.');
  const std::string_view whole = mantissa.substr(0, point);
  const std::string_view fraction =
      point == std::string_view::npos ? std::string_view() : mantissa.substr(point + 1);
  std::string digits = std::string(whole) + std::string(fraction);
  int64_t exponent = 0;
  bool good = AllDigits(digits);
  if (good && e != std::string_view::npos) {
    std::string_view exponent_text = rest.substr(e + 1);
    const bool down = TakeSign(&exponent_text);
    constexpr size_t kExponentDigitsMax = 10;
    good = AllDigits(exponent_text) && exponent_text.size() <= kExponentDigitsMax;
    if (good)
      std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
    if (down) exponent = -exponent;
  }
  if (!good)
    return Status::InvalidArgument(Concat({"expected a decimal such as -1.25, got ",
        ShowText(text)}));
  const int64_t scale = static_cast<int64_t>(fraction.size()) - exponent;
  if (scale < std::numeric_limits<int32_t>::min() || scale > std::numeric_limits<int32_t>::max()) {
    return Status::OutOfRange(Concat({"the exponent of ", ShowText(text),
        " is beyond the decimals of CQL"}));
  }
  std::string unscaled;
  CISTERN_RETURN_IF_ERROR(NumberFromDigits(digits, negative, &unscaled));
  out->clear();
  PutBig<uint32_t>(out, static_cast<uint32_t>(scale));
  out->append(unscaled);
  return Status::Ok();
}

void FormatDecimalText(std::string_view bytes, std::string* out) {
  const int64_t scale = GetBig<int32_t>(bytes.data());
  bool negative = false;
  const std::string digits = DigitsFromLimbs(LimbsFromBytes(bytes.substr(4), &negative));
  if (negative) out->push_back('-');
  const auto count = static_cast<int64_t>(digits.size());
  const int64_t exponent = count - 1 - scale;  // of the first digit
  if (scale >= 0 && exponent >= -6) {
    if (scale == 0) {
      out->append(digits);
    } else if (scale < count) {
      out->append(digits, 0, static_cast<size_t>(count - scale));
      out->push_back('.');
      out->append(digits, static_cast<size_t>(count - scale));
    } else {
      out->append("0.");
      out->append(static_cast<size_t>(scale - count), '0');
      out->append(digits);
    }
    return;
  }
  out->append(digits, 0, 1);
  if (count > 1) {
    out->push_back('.');
    out->append(digits, 1);
  }
  out->append(exponent < 0 ? "E-" : "E+");
  out->append(std::to_string(exponent < 0 ? -exponent : exponent));
}

}  // namespace cistern
