// What all records of meta have in common: a version, fields, a checksum (KEYSPACE.md).
#ifndef CISTERN_STORAGE_RECORD_CODING_H_
#define CISTERN_STORAGE_RECORD_CODING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "cistern/result.h"
#include "lib/base/checksum.h"
#include "lib/base/coding.h"

namespace cistern::record_coding {

// 8: pages and headers are of segment format 1, the first one that lasts.
inline constexpr uint8_t kRecordVersion = 8;
// Of records of windows that have dictionaries. Whoever does not know those does not know the
// format of pages that name them either: it is told that the store is too new.
inline constexpr uint8_t kRecordVersionOfDictionaries = 9;
// Of state records that say what is known of time. Whoever does not know that would believe a wall
// clock that is not to be believed: it is told that the store is too new.
inline constexpr uint8_t kRecordVersionOfClock = 10;

[[nodiscard]] inline std::string Begin(uint8_t version = kRecordVersion) {
  return std::string(1, static_cast<char>(version));
}

// The record with its checksum.
[[nodiscard]] inline std::string Sealed(std::string record) {
  PutLittle<uint64_t>(&record, Checksum(record));
  return record;
}

inline void PutString(std::string* out, std::string_view text) {
  PutVarint(out, text.size());
  out->append(text);
}

[[nodiscard]] inline bool ReadFlag(ByteReader* in, const char* field) {
  const uint8_t flag = in->ReadU8(field);
  if (flag > 1) in->Fail(field, "is neither 0 nor 1");
  return flag == 1;
}

// Checks checksum and version, which is at most `version_max`, has `read` take the fields between
// them, and wants no more bytes than those. `what` names the record in errors.
template <typename Read>
[[nodiscard]] Status DecodeFields(std::string_view bytes, const char* what, const Read& read,
                                  uint8_t version_max = kRecordVersion) {
  if (bytes.size() < 9) return Status::Corruption(std::string(what) + ": too short");
  const std::string_view body = bytes.substr(0, bytes.size() - 8);
  if (GetLittle<uint64_t>(bytes.data() + body.size()) != Checksum(body)) {
    return Status::Corruption(std::string(what) + ": checksum does not match");
  }
  if (static_cast<uint8_t>(body[0]) < kRecordVersion) {
    return Status::NotSupported(std::string(what) + ": record version " +
                                std::to_string(static_cast<uint8_t>(body[0])) +
                                " is older than what this Cistern reads, " +
                                std::to_string(kRecordVersion) +
                                "; salvage the store with the version that wrote it");
  }
  if (static_cast<uint8_t>(body[0]) > version_max) {
    return Status::TooNew(std::string(what) + ": record version " +
                          std::to_string(static_cast<uint8_t>(body[0])) +
                          " is not known, this Cistern reads " + std::to_string(version_max) +
                          "; use the newer one");
  }
  ByteReader in(body.substr(1), what);
  read(&in);
  if (!in.ok()) return in.status();
  if (in.remaining() != 0) return Status::Corruption(std::string(what) + ": bytes after its end");
  return Status::Ok();
}

template <typename Record, typename Read>
[[nodiscard]] Result<Record> Decode(std::string_view bytes, const char* what, const Read& read,
                                    uint8_t version_max = kRecordVersion) {
  Record record;
  CISTERN_RETURN_IF_ERROR(
      DecodeFields(bytes, what, [&](ByteReader* in) { read(in, &record); }, version_max));
  return record;
}

}  // namespace cistern::record_coding

#endif  // CISTERN_STORAGE_RECORD_CODING_H_
