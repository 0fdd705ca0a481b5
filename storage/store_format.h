// The file CISTERN: says that a directory is a store, in which format, and which one.
#ifndef CISTERN_STORAGE_STORE_FORMAT_H_
#define CISTERN_STORAGE_STORE_FORMAT_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "cistern/status.h"

namespace cistern {

inline constexpr uint32_t kStoreFormatVersion = 1;
inline constexpr std::string_view kStoreFormatFileName = "CISTERN";
inline constexpr size_t kStoreIdBytes = 16;

// The file is text, so that a person finding it knows what it is:
//   cistern store
//   format 1
//   state ready              or creating: until the database is whole
//   id 0123456789abcdef0123456789abcdef
//   checksum 0123456789abcdef      XXH3 of all bytes before this line
// The first two lines stay as they are in every later version.
struct StoreFormat {
  uint32_t version = kStoreFormatVersion;
  // False from the first step of creation to the last: nothing was acknowledged yet,
  // and an open that finds it begins the creation anew.
  bool ready = false;
  std::string store_id;  // 32 hexadecimal digits, random at creation
};

[[nodiscard]] std::string EncodeStoreFormat(const StoreFormat& format);
// kTooNew before anything else of a newer file is looked at; kCorruption if damaged.
[[nodiscard]] Result<StoreFormat> DecodeStoreFormat(std::string_view text);

// kNotFound if the directory has no such file.
[[nodiscard]] Result<StoreFormat> ReadStoreFormat(rocksdb::FileSystem* fs,
                                                  const std::string& directory);
[[nodiscard]] Status WriteStoreFormat(rocksdb::FileSystem* fs, const std::string& directory,
                                      const StoreFormat& format);
[[nodiscard]] std::string NewStoreId();

}  // namespace cistern

#endif  // CISTERN_STORAGE_STORE_FORMAT_H_
