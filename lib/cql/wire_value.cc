#include "lib/cql/wire_value.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "cistern/limits.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/duration_text.h"
#include "lib/cql/vint.h"

namespace cistern {
namespace {

constexpr int64_t kDateBias = int64_t{1} << 31;  // the protocol's dates are unsigned around 1970

Status Expected(const ColumnType& type, const std::string& what, std::string_view bytes) {
  return Status::InvalidArgument(Concat({"a ", CqlTypeName(type.kind), " is ", what, ", got ",
      bytes.size(), " bytes"}));
}

bool IsAscii(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](char c) { return static_cast<uint8_t>(c) < 0x80; });
}

Status CheckInteger(const ColumnType& type, std::string_view bytes) {
  if (bytes.empty()) return Expected(type, "at least one byte of two's complement", bytes);
  if (bytes.size() > limits::kVarintBytesMax) {
    return Status::TooLarge(Concat({"a ", CqlTypeName(type.kind), " has at most ",
        limits::kVarintBytesMax, " bytes of digits, got ", bytes.size()}));
  }
  return Status::Ok();
}

Status EndsEarly(const ColumnType& of, uint64_t length, std::string_view rest) {
  return Status::InvalidArgument(Concat({"the ", CqlTypeName(of.kind), " ends inside an element: "
      "its length says ", length, ", left are ", rest.size(), " bytes"}));
}

// A big-endian int32 length and that many bytes, from the front of *rest. Nothing: null.
Status TakeField(const ColumnType& of, std::string_view* rest,
                 std::optional<std::string_view>* field) {
  if (rest->size() < 4) {
    return Status::InvalidArgument(Concat({"the ", CqlTypeName(of.kind),
        " ends inside an element's length"}));
  }
  const auto length = GetBig<int32_t>(rest->data());
  rest->remove_prefix(4);
  field->reset();
  if (length < 0) return Status::Ok();
  if (static_cast<size_t>(length) > rest->size()) {
    return EndsEarly(of, static_cast<uint64_t>(length), *rest);
  }
  *field = rest->substr(0, static_cast<size_t>(length));
  rest->remove_prefix(static_cast<size_t>(length));
  return Status::Ok();
}

Status TakeElement(const ColumnType& collection, std::string_view* rest,
                   std::string_view* element) {
  std::optional<std::string_view> field;
  CISTERN_RETURN_IF_ERROR(TakeField(collection, rest, &field));
  if (!field.has_value()) {
    return Status::InvalidArgument(Concat({"a ", CqlTypeName(collection.kind),
        " may not hold null"}));
  }
  *element = *field;
  return Status::Ok();
}

Status BytesFollow(const ColumnType& of, size_t count) {
  return Status::InvalidArgument(Concat({count, " bytes follow the last element of a ",
      CqlTypeName(of.kind)}));
}

Status InElement(size_t i, const Status& s) {
  return {s.code(), Concat({"element ", i, ": ", s.message()})};
}

// Calls `visit` with each element's type and bytes, of maps with keys and values by turns. Depth
// is that of the type, which the parser bounds by limits::kTypeDepthMax.
template <typename Visit>
Status WalkCollection(const ColumnType& type, std::string_view bytes, const Visit& visit) {
  if (bytes.size() < 4) return Expected(type, "a count of 4 bytes and its elements", bytes);
  const auto count = GetBig<int32_t>(bytes.data());
  if (count < 0) return Status::InvalidArgument("the count of a collection is negative");
  std::string_view rest = bytes.substr(4);
  // Each element takes bytes of `rest`, so a false count ends the loop early.
  for (int32_t i = 0; i < count; ++i) {
    for (const ColumnType& argument : type.arguments) {
      std::string_view element;
      CISTERN_RETURN_IF_ERROR(TakeElement(type, &rest, &element));
      const Status s = visit(argument, element);
      if (!s.ok()) return InElement(static_cast<size_t>(i), s);
    }
  }
  return rest.empty() ? Status::Ok() : BytesFollow(type, rest.size());
}

// The same of a vector: elements of one width behind one another, others each behind its length.
template <typename Visit>
Status WalkVector(const ColumnType& type, std::string_view bytes, const Visit& visit) {
  const ColumnType& element_type = type.arguments.front();
  const size_t width = VectorElementWidth(element_type);
  if (width != 0 && bytes.size() != width * type.dimension) {
    return Expected(type, Concat({type.dimension, " elements of ", width, " bytes"}), bytes);
  }
  std::string_view rest = bytes;
  for (uint32_t i = 0; i < type.dimension; ++i) {
    uint64_t length = width;
    if (width == 0 && !TakeUnsignedVint(&rest, &length)) {
      return Status::InvalidArgument(Concat({"the vector ends before element ", i}));
    }
    if (length > rest.size()) return EndsEarly(type, length, rest);
    const Status s = visit(element_type, rest.substr(0, length));
    if (!s.ok()) return InElement(i, s);
    rest.remove_prefix(length);
  }
  return rest.empty() ? Status::Ok() : BytesFollow(type, rest.size());
}

// Calls `visit` with the type and bytes of each field of a tuple or user-defined type, in order,
// with nothing for null. Those at the end may be missing, as of types that have got them later.
template <typename Visit>
Status WalkFields(const ColumnType& type, std::string_view bytes, const Visit& visit) {
  std::string_view rest = bytes;
  for (size_t i = 0; i < type.arguments.size(); ++i) {
    std::optional<std::string_view> field;
    if (!rest.empty()) CISTERN_RETURN_IF_ERROR(TakeField(type, &rest, &field));
    const Status s = visit(type.arguments[i], field);
    if (!s.ok()) return InElement(i, s);
  }
  return rest.empty() ? Status::Ok() : BytesFollow(type, rest.size());
}

Status CheckField(const ColumnType& type, const std::optional<std::string_view>& field) {
  return field.has_value() ? CheckWireBytes(type, *field) : Status::Ok();
}

Status CheckFixedRange(const ColumnType& type, std::string_view bytes) {
  if (type.kind == CqlType::kBoolean && static_cast<uint8_t>(bytes[0]) > 1) {
    return Status::InvalidArgument(Concat({"a boolean is the byte 0 or 1, got ",
        static_cast<uint8_t>(bytes[0])}));
  }
  if (type.kind == CqlType::kTime) {
    const auto nanos = GetBig<int64_t>(bytes.data());
    const FixedRange range = FixedRangeOf(CqlType::kTime);
    if (nanos < range.min || nanos > range.max) {
      return Status::InvalidArgument(Concat({"a time is 0 to 86399999999999 ns of the day, got ",
          nanos}));
    }
  }
  return Status::Ok();
}

}  // namespace

Status SplitCollection(const ColumnType& type, std::string_view bytes,
                       std::vector<std::string_view>* elements) {
  elements->clear();
  const auto add = [&](const ColumnType&, std::string_view element) {
    elements->push_back(element);
    return Status::Ok();
  };
  if (type.kind == CqlType::kVector) return WalkVector(type, bytes, add);
  return WalkCollection(type, bytes, add);
}

Status SplitFields(const ColumnType& type, std::string_view bytes,
                   std::vector<std::optional<std::string_view>>* fields) {
  fields->clear();
  return WalkFields(type, bytes,
                    [&](const ColumnType&, const std::optional<std::string_view>& field) {
                      fields->push_back(field);
                      return Status::Ok();
                    });
}

bool IsUtf8(std::string_view bytes) {
  const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  const uint8_t* const end = p + bytes.size();
  while (p < end) {
    if (end - p >= 8) {  // eight ASCII characters at a time: what sensors send
      uint64_t eight = 0;
      std::memcpy(&eight, p, sizeof(eight));
      if ((eight & 0x8080808080808080u) == 0) {
        p += 8;
        continue;
      }
    }
    const uint8_t lead = *p++;
    if (lead < 0x80) continue;
    int more = 0;
    uint8_t low = 0x80;  // bounds of the second byte, narrower after some leads
    uint8_t high = 0xbf;
    if (lead >= 0xc2 && lead <= 0xdf) {
      more = 1;
    } else if (lead >= 0xe0 && lead <= 0xef) {
      more = 2;
      if (lead == 0xe0) low = 0xa0;
      if (lead == 0xed) high = 0x9f;
    } else if (lead >= 0xf0 && lead <= 0xf4) {
      more = 3;
      if (lead == 0xf0) low = 0x90;
      if (lead == 0xf4) high = 0x8f;
    } else {
      return false;
    }
    for (; more > 0; --more) {
      if (p == end || *p < low || *p > high) return false;
      low = 0x80;
      high = 0xbf;
      ++p;
    }
  }
  return true;
}

void AppendWireValue(const ColumnType& type, int64_t fixed, std::string_view bytes,
                     std::string* out) {
  if (type.lane() == Lane::kBytes) {
    out->append(bytes);
    return;
  }
  // Every row's entity key passes here: appended in one piece.
  const uint64_t value = WireBits(type.kind, fixed);
  std::array<char, sizeof(value)> big;
  for (size_t i = 0; i < big.size(); ++i) {
    big[i] = static_cast<char>(value >> (8 * (big.size() - 1 - i)));
  }
  const size_t width = WireWidth(type.kind);
  out->append(big.data() + big.size() - width, width);
}

Status CheckWireBytes(const ColumnType& type, std::string_view bytes) {
  if (bytes.size() > limits::kCellBytesMax) {
    return Status::TooLarge(Concat({"a value has at most ", limits::kCellBytesMax, " bytes, got ",
        bytes.size()}));
  }
  const size_t width = WireWidth(type.kind);
  if (width != 0 && bytes.size() != width) {
    return Expected(type, std::to_string(width) + (width == 1 ? " byte" : " bytes"), bytes);
  }
  switch (type.kind) {
    case CqlType::kText:
      if (!IsUtf8(bytes)) return Status::InvalidArgument("the text is not UTF-8");
      return Status::Ok();
    case CqlType::kAscii:
      if (!IsAscii(bytes)) return Status::InvalidArgument("the ascii text has a byte above 127");
      return Status::Ok();
    case CqlType::kTimeuuid:
      if (static_cast<uint8_t>(bytes[6]) >> 4 != 1) {
        return Status::InvalidArgument(Concat({"a timeuuid is a uuid of version 1, got version ",
            static_cast<uint8_t>(bytes[6]) >> 4}));
      }
      return Status::Ok();
    case CqlType::kInet:
      if (bytes.size() != 4 && bytes.size() != 16) {
        return Expected(type, "4 bytes (IPv4) or 16 bytes (IPv6)", bytes);
      }
      return Status::Ok();
    case CqlType::kVarint: return CheckInteger(type, bytes);
    case CqlType::kDecimal:
      if (bytes.size() < 5)
        return Expected(type, "a scale of 4 bytes and at least one digit byte", bytes);
      return CheckInteger(type, bytes.substr(4));
    case CqlType::kList:
    case CqlType::kSet:
    case CqlType::kMap: return WalkCollection(type, bytes, CheckWireBytes);
    case CqlType::kVector: return WalkVector(type, bytes, CheckWireBytes);
    case CqlType::kTuple:
    case CqlType::kUserType: return WalkFields(type, bytes, CheckField);
    case CqlType::kDuration: return CheckDuration(bytes);
    default: break;
  }
  return type.lane() == Lane::kFixed ? CheckFixedRange(type, bytes) : Status::Ok();
}

Status ParseWireValue(const ColumnType& type, std::string_view bytes, CellValue* out) {
  CISTERN_RETURN_IF_ERROR(CheckWireBytes(type, bytes));
  out->fixed = 0;
  out->bytes.clear();
  if (type.lane() == Lane::kBytes) {
    out->bytes.assign(bytes);
    return Status::Ok();
  }
  switch (type.kind) {
    case CqlType::kBoolean:
    case CqlType::kTinyint: out->fixed = static_cast<int8_t>(bytes[0]); break;
    case CqlType::kSmallint: out->fixed = GetBig<int16_t>(bytes.data()); break;
    case CqlType::kInt: out->fixed = GetBig<int32_t>(bytes.data()); break;
    case CqlType::kFloat: out->fixed = GetBig<uint32_t>(bytes.data()); break;
    case CqlType::kDate: out->fixed = int64_t{GetBig<uint32_t>(bytes.data())} - kDateBias; break;
    default: out->fixed = GetBig<int64_t>(bytes.data()); break;
  }
  return Status::Ok();
}

}  // namespace cistern
