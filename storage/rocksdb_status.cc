#include "storage/rocksdb_status.h"

#include <string>

#include "storage/full_disk_advice.h"
#include "storage/permission_advice.h"

namespace cistern {
namespace {

struct Translation {
  StatusCode code;
  std::string advice;
};

bool Contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// RocksDB keeps errno only as the text of strerror, so the text has to be read.
Translation TranslateIoError(const rocksdb::Status& status, const std::string& text) {
  // What GuardedIo made of an allocation that failed.
  if (status.subcode() == rocksdb::Status::kMemoryLimit) return {StatusCode::kOutOfMemory, {}};
  if (status.IsNoSpace() || status.subcode() == rocksdb::Status::kSpaceLimit ||
      Contains(text, "No space left on device") || Contains(text, "Disk quota exceeded")) {
    const bool is_budget = Contains(text, kDiskBudgetWords);
    return {StatusCode::kNoSpace,
            std::string(is_budget ? kDiskBudgetAdvice : FullDiskAdvice(text))};
  }
  if (Contains(text, "While lock file") || Contains(text, "lock hold by current process")) {
    if (!Contains(text, "Permission denied") && !Contains(text, "Read-only file system")) {
      return {StatusCode::kLocked, "close the store where it is open"};
    }
  }
  if (Contains(text, "Read-only file system")) {
    return {StatusCode::kReadOnly, ReadOnlyMountAdvice(text)};
  }
  if (Contains(text, "Permission denied") || Contains(text, "Operation not permitted")) {
    return {StatusCode::kReadOnly, PermissionAdvice(text)};
  }
  if (Contains(text, "Too many open files")) {
    return {StatusCode::kTooManyOpenFiles, "raise the limit of open files (ulimit -n)"};
  }
  return {StatusCode::kIoError, {}};
}

Translation Translate(const rocksdb::Status& status, const std::string& text) {
  switch (status.code()) {
    case rocksdb::Status::kIOError: return TranslateIoError(status, text);
    case rocksdb::Status::kCorruption: return {StatusCode::kCorruption, {}};
    case rocksdb::Status::kNotFound: return {StatusCode::kNotFound, {}};
    case rocksdb::Status::kBusy:
    case rocksdb::Status::kTimedOut:
    case rocksdb::Status::kTryAgain:
    case rocksdb::Status::kIncomplete: return {StatusCode::kBusy, {}};
    case rocksdb::Status::kShutdownInProgress: return {StatusCode::kClosed, {}};
    case rocksdb::Status::kAborted:
      if (status.subcode() == rocksdb::Status::kMemoryLimit) return {StatusCode::kOutOfMemory, {}};
      return {StatusCode::kInternal, {}};
    default: return {StatusCode::kInternal, {}};
  }
}

}  // namespace

Status ToStatus(const rocksdb::Status& status, std::string_view context) {
  if (status.ok()) return Status::Ok();
  const std::string text = status.ToString();
  const Translation translation = Translate(status, text);
  std::string message(context);
  message.append(": ").append(text);
  if (!translation.advice.empty()) message.append("; ").append(translation.advice);
  return {translation.code, std::move(message)};
}

Status ToReadStatus(const rocksdb::Status& status, std::string_view context) {
  Status read = ToStatus(status, context);
  const bool is_bad_sector = status.IsIOError() && Contains(read.message(), "Input/output error");
  return is_bad_sector ? Status::Corruption(read.message()) : read;
}

}  // namespace cistern
