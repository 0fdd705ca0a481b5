// The notations of the native protocol, read from bytes that nobody has checked. All big-endian.
//
// Source: native_protocol_v5.spec section 3.
#ifndef CISTERN_CQL_WIRE_READER_H_
#define CISTERN_CQL_WIRE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cistern/status.h"
#include "engine/cql/protocol.h"
#include "lib/base/coding.h"

namespace cistern::cql {

// After the first failure every read gives 0, an empty view or null, and status() names the field
// that failed and where. Views are into the bytes given. Nothing is allocated but that message.
class WireReader {
 public:
  // `what` names the message in errors ("RESULT"); must outlive the reader.
  WireReader(std::string_view bytes, std::string_view what) : bytes_(bytes), what_(what) {}

  uint8_t Byte(const char* field) { return Big<uint8_t>(field); }
  uint16_t Short(const char* field) { return Big<uint16_t>(field); }
  int32_t Int(const char* field) { return Big<int32_t>(field); }
  int64_t Long(const char* field) { return Big<int64_t>(field); }
  Consistency ConsistencyLevel(const char* field) { return Consistency{Short(field)}; }
  // [string]; also [short bytes].
  std::string_view String(const char* field) { return Take(Short(field), field); }
  // [long string]. A negative length fails.
  std::string_view LongString(const char* field);
  // [bytes]: nullopt when the length is negative.
  std::optional<std::string_view> Bytes(const char* field);
  // [inetaddr]: 4 or 16 bytes; anything else fails.
  std::string_view InetAddress(const char* field);
  // An [int] from 0 that counts what follows, each of at least item_bytes_min (from 1): what
  // cannot be there fails before anybody reserves memory for it.
  size_t Count(const char* field, size_t item_bytes_min);
  // [string list]
  void SkipStringList(const char* field);
  // So many bytes.
  std::string_view Take(size_t count, const char* field);
  // All bytes that are left.
  std::string_view Rest() { return Take(remaining(), "rest"); }

  // Fails with kCorruption, or with kTooLarge, unless it has failed before.
  void Fail(const char* field, std::string_view why);
  void FailTooLarge(const char* field, size_t limit);

  [[nodiscard]] bool ok() const { return status_.ok(); }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] size_t remaining() const { return bytes_.size() - position_; }
  [[nodiscard]] size_t position() const { return position_; }

 private:
  template <typename T>
  T Big(const char* field) {
    const std::string_view bytes = Take(sizeof(T), field);
    return bytes.size() == sizeof(T) ? GetBig<T>(bytes.data()) : T{0};
  }

  std::string_view bytes_;
  std::string_view what_;
  size_t position_ = 0;
  Status status_;
};

}  // namespace cistern::cql

#endif  // CISTERN_CQL_WIRE_READER_H_
