// The notations of the native protocol, appended to a string. All big-endian.
//
// Lengths must fit their notation: whoever writes what others gave checks it first.
//
// Source: native_protocol_v5.spec section 3.
#ifndef CISTERN_CQL_WIRE_WRITER_H_
#define CISTERN_CQL_WIRE_WRITER_H_

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "engine/cql/protocol.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"

namespace cistern::cql {

inline constexpr size_t kShortBytesMax = std::numeric_limits<uint16_t>::max();

class WireWriter {
 public:
  // Appends to *out, which must outlive the writer.
  explicit WireWriter(std::string* out) : out_(out) {}

  void Byte(uint8_t value) { out_->push_back(static_cast<char>(value)); }
  void Short(uint16_t value) { PutBig(out_, value); }
  void Int(int32_t value) { PutBig(out_, value); }
  void Long(int64_t value) { PutBig(out_, value); }
  void ConsistencyLevel(Consistency value) { Short(static_cast<uint16_t>(value)); }
  // [string]: [short] bytes, then the text.
  void String(std::string_view text) {
    CISTERN_CHECK(text.size() <= kShortBytesMax);
    Short(static_cast<uint16_t>(text.size()));
    out_->append(text);
  }
  // [short bytes] look the same.
  void ShortBytes(std::string_view bytes) { String(bytes); }
  // [long string]: [int] bytes, then the text.
  void LongString(std::string_view text) {
    CISTERN_CHECK(text.size() <= std::numeric_limits<int32_t>::max());
    Int(static_cast<int32_t>(text.size()));
    out_->append(text);
  }
  // [bytes] look the same; null ones have the length -1.
  void Bytes(std::string_view bytes) { LongString(bytes); }
  void NullBytes() { Int(-1); }
  // [inetaddr]: [byte] 4 or 16, then the address.
  void InetAddress(std::string_view address) {
    CISTERN_CHECK(address.size() == 4 || address.size() == 16);
    Byte(static_cast<uint8_t>(address.size()));
    out_->append(address);
  }
  // [inet]: an address and [int] port.
  void Inet(std::string_view address, int32_t port) {
    InetAddress(address);
    Int(port);
  }

 private:
  std::string* out_;
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_WIRE_WRITER_H_
