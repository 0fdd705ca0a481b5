#include "storage/backup_directory.h"

#include <algorithm>
#include <set>

#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"
#include "storage/store_format.h"
#include "storage/text_record.h"

namespace cistern {

namespace {

using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr size_t kOwnerBytesMax = 4096;

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

// What is wrong with the file of that name, in words; empty: nothing.
std::string Difference(const BackupFile& file, const FileContent& content) {
  if (!content.unreadable.ok()) return content.unreadable.message();
  if (content.size_bytes != file.size_bytes) {
    return Concat({"it has ", content.size_bytes, " bytes, it had ", file.size_bytes});
  }
  return content.checksum == file.checksum ? "" : "its bytes are not those that were written";
}

// How a table that all backups share is had again, in words. The next backup takes one of the right
// size for whole.
std::string CureOf(const BackupFile& file, const FileContent& content) {
  if (!file.is_shared()) return "";
  const bool is_taken_for_whole =
      content.unreadable.code() != StatusCode::kNotFound &&
      (!content.unreadable.ok() || content.size_bytes == file.size_bytes);
  return Concat({(is_taken_for_whole ? "; move it away and back up again" : "; back up again"),
      ": the table is copied anew while the store has it, for all backups"});
}

}  // namespace

BackupDirectory::BackupDirectory(std::shared_ptr<rocksdb::FileSystem> base, std::string directory)
    : directory_(WithoutSlashes(std::move(directory))),
      fs_(std::make_shared<StoreFileSystem>(std::move(base), directory_)) {}

Result<std::string> BackupDirectory::ReadOwnerFile() const {
  const std::string path = Concat({directory_, "/", kBackupsFileName});
  const auto text = ReadSmallFile(fs_.get(), path, kOwnerBytesMax);
  if (text.status().code() == StatusCode::kNotFound) {
    const std::string format = Concat({directory_, "/", kStoreFormatFileName});
    const bool is_store = fs_->FileExists(format, IOOptions(), nullptr).ok();
    return Status::NotFound(
        is_store ? Concat({directory_, " is a store, not a directory of backups"})
                 : Concat({"there are no backups in ", directory_,
                       "; check the path, and whether its file system is mounted"}));
  }
  CISTERN_RETURN_IF_ERROR(text.status());
  auto owner = DecodeBackupOwner(*text);
  if (owner.ok()) return owner;
  return Status(owner.status().code(), Concat({path, ": ", owner.status().message()}));
}

Result<std::string> BackupDirectory::ReadOwner() const {
  auto owner = ReadOwnerFile();
  const StatusCode code = owner.status().code();
  if (code != StatusCode::kNotFound && code != StatusCode::kCorruption) return owner;
  // A backup is more than the file that announces it.
  const auto numbers = ListNumbers();
  for (size_t i = numbers.ok() ? numbers->size() : 0; i-- > 0;) {
    const auto record = Read((*numbers)[i]);
    if (record.ok()) return record->store_id;
  }
  return owner;
}

Status BackupDirectory::WriteOwner(const std::string& store_id) {
  if (ReadOwnerFile().ok()) return Status::Ok();
  return WriteFileDurably(fs_.get(), directory_, std::string(kBackupsFileName),
                          EncodeBackupOwner(store_id));
}

Result<std::vector<std::pair<uint64_t, bool>>> BackupDirectory::ListAll() const {
  std::vector<std::string> names;
  const IOStatus listed = fs_->GetChildren(directory_, IOOptions(), &names, nullptr);
  if (!listed.ok()) return ToStatus(listed, "listing " + directory_);
  std::vector<std::pair<uint64_t, bool>> numbers;
  for (const std::string& name : names) {
    uint64_t number = 0;
    if (!ParseDecimal(name, &number) || std::to_string(number) != name || number == 0) continue;
    const std::string record = Concat({PathOf(number), "/", kBackupRecordFileName});
    numbers.emplace_back(number, fs_->FileExists(record, IOOptions(), nullptr).ok());
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Result<std::vector<uint64_t>> BackupDirectory::ListNumbers() const {
  CISTERN_ASSIGN_OR_RETURN(const auto all, ListAll());
  std::vector<uint64_t> numbers;
  for (const auto& [number, is_there] : all) {
    if (is_there) numbers.push_back(number);
  }
  return numbers;
}

Result<std::vector<uint64_t>> BackupDirectory::ListUnfinished() const {
  CISTERN_ASSIGN_OR_RETURN(const auto all, ListAll());
  std::vector<uint64_t> numbers;
  for (const auto& [number, is_there] : all) {
    if (!is_there) numbers.push_back(number);
  }
  return numbers;
}

Result<BackupRecord> BackupDirectory::Read(uint64_t number) const {
  const std::string path = Concat({PathOf(number), "/", kBackupRecordFileName});
  uint64_t size_bytes = 0;
  if (!fs_->FileExists(path, IOOptions(), nullptr).ok()) {
    return Status::NotFound(Concat({"there is no backup ", number, " in ", directory_,
        "; `cistern backup list` (ListBackups in the library) shows those that are"}));
  }
  const IOStatus told = fs_->GetFileSize(path, IOOptions(), &size_bytes, nullptr);
  if (!told.ok()) return ToStatus(told, "looking at " + path);
  if (size_bytes > kBackupRecordBytesMax) {
    return Status::Corruption(Concat({path, ": it is damaged: it is larger than any"}));
  }
  CISTERN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(fs_.get(), path, size_bytes));
  auto record = DecodeBackupRecord(text);
  if (!record.ok()) return Status(record.status().code(), Concat({path, ": ",
      record.status().message()}));
  if (record->number != number) {
    return Status::Corruption(Concat({path, ": it is that of backup ", record->number}));
  }
  return record;
}

Result<BackupRecord> BackupDirectory::Find(uint64_t number) const {
  CISTERN_ASSIGN_OR_RETURN(const std::string owner, ReadOwner());
  if (number != 0) return Read(number);
  CISTERN_ASSIGN_OR_RETURN(std::vector<uint64_t> numbers, ListNumbers());
  Status last = Status::NotFound(Concat({"there is no backup in ", directory_, " yet"}));
  for (size_t i = numbers.size(); i-- > 0;) {
    auto record = Read(numbers[i]);
    if (record.ok()) return record;
    last = record.status();
  }
  return last;
}

Result<std::map<std::string, uint64_t>> BackupDirectory::ListShared() const {
  std::map<std::string, uint64_t> files;
  std::vector<std::string> names;
  if (fs_->FileExists(SharedPath(), IOOptions(), nullptr).IsNotFound()) return files;
  const IOStatus listed = fs_->GetChildren(SharedPath(), IOOptions(), &names, nullptr);
  if (!listed.ok()) return ToStatus(listed, "listing " + SharedPath());
  for (const std::string& name : names) {
    uint64_t size_bytes = 0;
    const std::string path = Concat({SharedPath(), "/", name});
    if (!name.starts_with('.') &&
        fs_->GetFileSize(path, IOOptions(), &size_bytes, nullptr).ok()) {
      files.emplace(name, size_bytes);
    }
  }
  return files;
}

Result<BackupCheck> BackupDirectory::Check(const BackupRecord& record,
                                           const KeepOn& keep_on) const {
  BackupCheck check;
  check.number = record.number;
  for (const BackupFile& file : record.files) {
    const std::string path = PathOf(record.number, file);
    CISTERN_ASSIGN_OR_RETURN(const FileContent content, ReadContent(fs_.get(), path, keep_on));
    ++check.files;
    check.bytes += content.size_bytes;
    const std::string difference = Difference(file, content);
    if (difference.empty()) continue;
    check.problems.push_back(Concat({path, ": ", difference, CureOf(file, content)}));
  }
  const auto owner = ReadOwnerFile();
  if (!owner.ok()) check.problems.push_back(owner.status().message());
  for (const std::string& problem : record.problems) {
    check.problems.push_back("when it was taken: " + problem);
  }
  return check;
}

Status BackupDirectory::Prepare(uint64_t number) {
  CISTERN_RETURN_IF_ERROR(CreateDirectoryDurably(fs_.get(), SharedPath()));
  return CreateDirectoryDurably(fs_.get(), PathOf(number));
}

Status BackupDirectory::Write(const BackupRecord& record) {
  CISTERN_RETURN_IF_ERROR(SyncDirectory(fs_.get(), SharedPath()));
  CISTERN_RETURN_IF_ERROR(SyncDirectory(fs_.get(), PathOf(record.number)));
  CISTERN_RETURN_IF_ERROR(SyncDirectory(fs_.get(), directory_));
  CrashPoint("backup:before_record");
  CISTERN_RETURN_IF_ERROR(WriteFileDurably(fs_.get(), PathOf(record.number),
                                           std::string(kBackupRecordFileName),
                                           EncodeBackupRecord(record)));
  CrashPoint("backup:after_record");
  return Status::Ok();
}

// The record first: what is half removed is no backup.
Status BackupDirectory::Remove(uint64_t number) {
  const std::string path = PathOf(number);
  CISTERN_RETURN_IF_ERROR(
      RemoveFileDurably(fs_.get(), path, std::string(kBackupRecordFileName)));
  CrashPoint("backup:after_unrecord");
  std::vector<std::string> names;
  IOStatus status = fs_->GetChildren(path, IOOptions(), &names, nullptr);
  for (const std::string& name : names) {
    if (!status.ok()) break;
    if (name != "." && name != "..") {
      status = fs_->DeleteFile(Concat({path, "/", name}), IOOptions(), nullptr);
    }
  }
  if (status.ok()) CISTERN_RETURN_IF_ERROR(SyncDirectory(fs_.get(), path));
  if (status.ok()) status = fs_->DeleteDir(path, IOOptions(), nullptr);
  return ToStatus(status, "removing " + path);
}

Status BackupDirectory::RemoveUnnamed() {
  CISTERN_ASSIGN_OR_RETURN(const std::vector<uint64_t> numbers, ListNumbers());
  std::set<std::string> named;
  for (const uint64_t number : numbers) {
    const auto record = Read(number);
    if (!record.ok()) return Status::Ok();  // nobody knows what it needs
    for (const BackupFile& file : record->files) {
      if (file.is_shared()) named.insert(file.SharedName());
    }
  }
  CISTERN_ASSIGN_OR_RETURN(const auto shared, ListShared());
  for (const auto& [name, size_bytes] : shared) {
    if (named.contains(name)) continue;
    const std::string path = Concat({SharedPath(), "/", name});
    const IOStatus gone = fs_->DeleteFile(path, IOOptions(), nullptr);
    if (!gone.ok()) return ToStatus(gone, "removing " + path);
    CrashPoint("backup:after_remove");
  }
  return Status::Ok();
}

std::string BackupDirectory::PathOf(uint64_t number, const BackupFile& file) const {
  return file.is_shared() ? Concat({SharedPath(), "/", file.SharedName()})
                          : Concat({PathOf(number), "/", file.name});
}

}  // namespace cistern
