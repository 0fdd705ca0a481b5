#include "engine/cql/wire_reader.h"

namespace cistern::cql {

std::string_view WireReader::Take(size_t count, const char* field) {
  if (!ok()) return {};
  if (count > remaining()) {
    Fail(field, "runs past the end");
    return {};
  }
  const std::string_view taken = bytes_.substr(position_, count);
  position_ += count;
  return taken;
}

std::string_view WireReader::LongString(const char* field) {
  const int32_t length = Int(field);
  if (length < 0) {
    Fail(field, "has a negative length");
    return {};
  }
  return Take(static_cast<size_t>(length), field);
}

std::optional<std::string_view> WireReader::Bytes(const char* field) {
  const int32_t length = Int(field);
  if (!ok() || length < 0) return std::nullopt;
  const std::string_view bytes = Take(static_cast<size_t>(length), field);
  if (!ok()) return std::nullopt;
  return bytes;
}

std::string_view WireReader::InetAddress(const char* field) {
  const uint8_t length = Byte(field);
  if (length != 4 && length != 16) {
    Fail(field, "is no address of 4 or 16 bytes");
    return {};
  }
  return Take(length, field);
}

size_t WireReader::Count(const char* field, size_t item_bytes_min) {
  const int32_t count = Int(field);
  if (count < 0) {
    Fail(field, "is negative");
    return 0;
  }
  if (static_cast<size_t>(count) > remaining() / item_bytes_min) {
    Fail(field, "counts more than the message has bytes for");
    return 0;
  }
  return ok() ? static_cast<size_t>(count) : 0;
}

void WireReader::SkipStringList(const char* field) {
  const uint16_t count = Short(field);
  for (uint16_t i = 0; i < count && ok(); ++i) static_cast<void>(String(field));
}

void WireReader::Fail(const char* field, std::string_view why) {
  if (!ok()) return;
  std::string message(what_);
  message.append(": ").append(field).append(" at byte ").append(std::to_string(position_));
  message.append(" of ").append(std::to_string(bytes_.size())).append(" ").append(why);
  status_ = Status::Corruption(std::move(message));
}

void WireReader::FailTooLarge(const char* field, size_t limit) {
  if (!ok()) return;
  std::string message(what_);
  message.append(": ").append(field).append(" at byte ").append(std::to_string(position_));
  message.append(" is beyond the limit of ").append(std::to_string(limit));
  status_ = Status::TooLarge(std::move(message));
}

}  // namespace cistern::cql
