#include "storage/info_log.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "cistern/limits.h"
#include "lib/base/concat.h"
#include "lib/base/guard.h"

namespace cistern {
namespace {

using rocksdb::InfoLogLevel;
using rocksdb::IOOptions;

constexpr int64_t kMinuteUs = 60'000'000;

LogLevel LevelOf(InfoLogLevel level) {
  switch (level) {
    case InfoLogLevel::DEBUG_LEVEL: return LogLevel::kDebug;
    case InfoLogLevel::INFO_LEVEL:
    case InfoLogLevel::HEADER_LEVEL: return LogLevel::kInfo;
    case InfoLogLevel::WARN_LEVEL: return LogLevel::kWarning;
    default: return LogLevel::kError;
  }
}

const char* NameOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kError: return "error";
  }
  return "error";
}

// One line that no terminal and no log reader can be tricked by.
std::string Escaped(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      line.push_back(c);
    } else {
      line.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    }
  }
  return line;
}

// Every family created or dropped says so; refusing OPTIONS files is our intent.
bool IsAboutOptionsFile(std::string_view message) {
  return message.find("persist options") != std::string_view::npos;
}

}  // namespace

InfoLog::InfoLog(std::shared_ptr<rocksdb::FileSystem> fs, std::string directory, LogSink sink,
                 std::shared_ptr<Clock> clock)
    : rocksdb::Logger(InfoLogLevel::WARN_LEVEL),
      fs_(std::move(fs)),
      path_(std::move(directory) + "/LOG"),
      sink_(std::move(sink)),
      clock_(clock != nullptr ? std::move(clock) : SystemClock()) {}

InfoLog::~InfoLog() {
  if (file_ != nullptr) file_->Close(IOOptions(), nullptr).PermitUncheckedError();
}

void InfoLog::Logv(const char* format, va_list arguments) {
  Logv(InfoLogLevel::INFO_LEVEL, format, arguments);
}

void InfoLog::LogHeader(const char* /*format*/, va_list /*arguments*/) {
  // A dump of every option at every open: known from the code.
}

void InfoLog::Logv(InfoLogLevel level, const char* format, va_list arguments) {
  if (level < GetInfoLogLevel() || level == InfoLogLevel::HEADER_LEVEL) return;
  std::array<char, kLineBytesMax> buffer;
  const int length = std::vsnprintf(buffer.data(), buffer.size(), format, arguments);
  if (length <= 0) return;
  const std::string_view message(buffer.data(),
                                 std::min(static_cast<size_t>(length), buffer.size() - 1));
  if (IsAboutOptionsFile(message)) return;
  Write(LevelOf(level), message);
}

// RocksDB writes on threads of its own, where an exception, the sink's too, would end the process.
void InfoLog::Write(LogLevel level, std::string_view message) {
  static_cast<void>(GuardedOr(false, [&] {
    const std::string line = Escaped(message.substr(0, kLineBytesMax));
    {
      const std::lock_guard lock(mutex_);
      if (!MayWriteNow()) return true;
      if (fs_ != nullptr) WriteLine(level, line);
    }
    // Not under the lock: it may take its time.
    if (sink_ && level >= LogLevel::kWarning) sink_(level, line);
    return true;
  }));
}

void InfoLog::WriteLine(LogLevel level, std::string_view message) {
  if (lines_left_out_ > 0) {
    Append(Concat({std::exchange(lines_left_out_, 0), " lines left out\n"}));
  }
  std::string line = std::to_string(clock_->WallMicros());
  line.append(" ").append(NameOf(level)).append(" ").append(message).append("\n");
  Append(line);
}

bool InfoLog::MayWriteNow() {
  const int64_t now_us = clock_->MonotonicMicros();
  if (minute_begin_us_ == INT64_MIN || now_us - minute_begin_us_ >= kMinuteUs) {
    minute_begin_us_ = now_us;
    lines_this_minute_ = 0;
  }
  if (lines_this_minute_ < kLinesPerMinuteMax) {
    ++lines_this_minute_;
    return true;
  }
  ++lines_left_out_;
  return false;
}

bool InfoLog::OpenFile() {
  if (file_ != nullptr) return true;
  if (fs_->ReopenWritableFile(path_, rocksdb::FileOptions(), &file_, nullptr).ok()) {
    size_bytes_ = file_->GetFileSize(IOOptions(), nullptr);
    return true;
  }
  file_ = nullptr;
  return false;
}

void InfoLog::Append(const std::string& line) {
  if (!OpenFile()) return;
  if (size_bytes_ + line.size() > limits::kInfoLogBytesMax / 2) {
    file_->Close(IOOptions(), nullptr).PermitUncheckedError();
    file_ = nullptr;
    // If this fails the line is lost and the next one tries again; the file stays small.
    if (!fs_->RenameFile(path_, path_ + ".1", IOOptions(), nullptr).ok() || !OpenFile()) return;
  }
  if (file_->Append(line, IOOptions(), nullptr).ok()) size_bytes_ += line.size();
}

}  // namespace cistern
