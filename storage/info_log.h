// InfoLog: where RocksDB's messages go. Never RocksDB's own logger, which ends the
// process when the disk is full.
#ifndef CISTERN_STORAGE_INFO_LOG_H_
#define CISTERN_STORAGE_INFO_LOG_H_

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <cstdarg>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "cistern/clock.h"
#include "cistern/options.h"

namespace cistern {

// Writes to LOG and, when that is half of limits::kInfoLogBytesMax, goes on with a
// new one, keeping the former as LOG.1. Every line is one line: control characters
// are escaped. What cannot be written is lost in silence; nothing waits for it, and
// no error of it reaches anyone. At most kLinesPerMinuteMax lines a minute reach file
// and sink, the rest is counted. Thread-safe.
class InfoLog : public rocksdb::Logger {
 public:
  // `fs` null: nothing is written to files (read-only stores), `sink` may be empty.
  InfoLog(std::shared_ptr<rocksdb::FileSystem> fs, std::string directory, LogSink sink,
          std::shared_ptr<Clock> clock);
  ~InfoLog() override;

  static constexpr uint32_t kLinesPerMinuteMax = 120;
  static constexpr size_t kLineBytesMax = 2048;

  using rocksdb::Logger::Logv;
  void Logv(const char* format, va_list arguments) override;
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override;
  void LogHeader(const char* format, va_list arguments) override;

  // For messages of storage's own. kDebug and kInfo go to the file as well.
  void Write(LogLevel level, std::string_view message);

 private:
  void WriteLine(LogLevel level, std::string_view message);  // REQUIRES: mutex_ held
  void Append(const std::string& line);                      // REQUIRES: mutex_ held
  bool OpenFile();                                           // REQUIRES: mutex_ held
  bool MayWriteNow();                                        // REQUIRES: mutex_ held

  const std::shared_ptr<rocksdb::FileSystem> fs_;
  const std::string path_;
  const LogSink sink_;
  const std::shared_ptr<Clock> clock_;
  std::mutex mutex_;
  std::unique_ptr<rocksdb::FSWritableFile> file_;
  uint64_t size_bytes_ = 0;
  int64_t minute_begin_us_ = INT64_MIN;
  uint32_t lines_this_minute_ = 0;
  uint64_t lines_left_out_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_INFO_LOG_H_
