// Values as CQL's native protocol serialises them, to and from Cistern's two lanes.
//
// Source: native_protocol_v5.spec section 6 and Apache Cassandra's marshal types.
#ifndef CISTERN_CQL_WIRE_VALUE_H_
#define CISTERN_CQL_WIRE_VALUE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/schema.h"
#include "cistern/status.h"

namespace cistern {

// One value apart from its column: `fixed` on the fixed lane, `bytes` on the other.
struct CellValue {
  int64_t fixed = 0;
  std::string bytes;
  friend bool operator==(const CellValue&, const CellValue&) = default;
};

// A value of the fixed lane as a number whose low WireWidth bytes, the highest first, are what
// the protocol has: its dates are unsigned around 1970.
[[nodiscard]] inline uint64_t WireBits(CqlType kind, int64_t fixed) {
  constexpr uint64_t kDateBias = uint64_t{1} << 31;
  return static_cast<uint64_t>(fixed) + (kind == CqlType::kDate ? kDateBias : 0);
}

// Appends the value as the protocol serialises it, without a length. The value must
// be one of the type (checked by the setter that took it in); its low bytes are
// written otherwise.
void AppendWireValue(const ColumnType& type, int64_t fixed, std::string_view bytes,
                     std::string* out);

// Whether `bytes` are a value of `type` on the wire: UTF-8, ASCII, 16 bytes of a uuid,
// version 1 of a timeuuid, 4 or 16 bytes of an address, the scale of a decimal, the
// parts of a duration, composite types element by element. Fixed-lane types too, as elements.
//   kInvalidArgument  they are not; the message says what was expected
//   kTooLarge         beyond limits::kCellBytesMax or limits::kVarintBytesMax
[[nodiscard]] Status CheckWireBytes(const ColumnType& type, std::string_view bytes);

// Checks as above and splits the lanes: fixed-lane types fill out->fixed, the others out->bytes.
[[nodiscard]] Status ParseWireValue(const ColumnType& type, std::string_view bytes, CellValue* out);

// Replaces *elements by those of a collection or vector, in their order, of maps keys and values
// by turns. They point into `bytes`; their lengths are checked, they are not.
// REQUIRES: a collection or a vector.
//   kInvalidArgument  `bytes` are no collection or vector
[[nodiscard]] Status SplitCollection(const ColumnType& type, std::string_view bytes,
                                     std::vector<std::string_view>* elements);

// The same of a tuple or user-defined type: a field for each of the type's, nothing for one that
// is null or missing.
[[nodiscard]] Status SplitFields(const ColumnType& type, std::string_view bytes,
                                 std::vector<std::optional<std::string_view>>* fields);

// Whether all of `bytes` is UTF-8 as RFC 3629 has it: no overlong forms, no surrogates.
[[nodiscard]] bool IsUtf8(std::string_view bytes);

}  // namespace cistern

#endif  // CISTERN_CQL_WIRE_VALUE_H_
