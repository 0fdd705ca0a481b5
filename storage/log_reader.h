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
#include "storage/log_pieces.h"

namespace cistern {

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
  explicit LogReader(std::unique_ptr<rocksdb::FSSequentialFile> file) : file_(std::move(file)) {}
  [[nodiscard]] Status ReadBlock();
  [[nodiscard]] LogPieceType TakePiece(std::string_view* bytes);
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
