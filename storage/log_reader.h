// LogReader: reads the files that RocksDB writes in its log format: write-ahead logs and MANIFESTs.
#ifndef CISTERN_STORAGE_LOG_READER_H_
#define CISTERN_STORAGE_LOG_READER_H_

#include <rocksdb/file_system.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cistern/result.h"

namespace cistern {

// Such a file has blocks of 32 KiB. A block holds pieces of records; no piece crosses a block:
//   CRC-32C u32 (masked as RocksDB masks it, over type and bytes) | length u16 | type u8 | bytes
// A type is 1 (a whole record), 2 (the first piece), 3 (one between) or 4 (the last). What follows
// a piece with less than 7 bytes of its block is padding. Integers are little-endian.
//
// RocksDB's own reader is not public, and stops at the first damage. One thread.
class LogReader {
 public:
  [[nodiscard]] static Result<std::unique_ptr<LogReader>> Open(rocksdb::FileSystem* fs,
                                                               const std::string& path);
  // The next whole record. False: there are no more. Damage costs the record that it is in and
  // what follows of its block; reading goes on with the next block.
  [[nodiscard]] Result<bool> Next(std::string* record);

  // Places that could not be read. An end in the middle of a record is none: that is how a crash
  // leaves a file.
  [[nodiscard]] uint64_t damage_count() const { return damage_count_; }

 private:
  enum class Piece : uint8_t { kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4, kNone };
  explicit LogReader(std::unique_ptr<rocksdb::FSSequentialFile> file) : file_(std::move(file)) {}
  [[nodiscard]] Status ReadBlock();
  [[nodiscard]] Piece TakePiece(std::string_view* bytes);
  void NoteDamage();

  const std::unique_ptr<rocksdb::FSSequentialFile> file_;
  std::string block_;
  size_t position_ = 0;
  bool is_last_block_ = false;
  uint64_t damage_count_ = 0;
  bool damage_met_ = false;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_LOG_READER_H_
