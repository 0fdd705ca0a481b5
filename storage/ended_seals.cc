#include "storage/ended_seals.h"

#include <charconv>
#include <memory>
#include <vector>

#include "lib/base/concat.h"
#include "storage/catalog_frames.h"
#include "storage/catalog_names.h"
#include "storage/keyspace.h"
#include "storage/record_coding.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"
#include "storage/seal_records.h"
#include "storage/small_file.h"

namespace cistern {

namespace {

using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr size_t kDigits = 16;
constexpr size_t kFieldBytesMax = 1 << 20;
constexpr std::string_view kLastFrame = "end";

std::string FileName(uint64_t window_id) {
  std::string digits(kDigits, '0');
  for (size_t i = 0; i < kDigits; ++i) {
    digits[kDigits - 1 - i] = "0123456789abcdef"[window_id >> (4 * i) & 15];
  }
  return std::string(kEndedFilePrefix) + digits;
}

// Appends the frames to the file; the last one says that it is whole.
class FrameFile {
 public:
  explicit FrameFile(rocksdb::FSWritableFile* file) : file_(file) {}
  IOStatus Put(std::string_view key, std::string_view value) {
    record_coding::PutString(&payload_, key);
    record_coding::PutString(&payload_, value);
    return payload_.size() < kFramePayloadBytes ? IOStatus::OK() : WriteOut();
  }
  IOStatus End() {
    IOStatus s = payload_.empty() ? IOStatus::OK() : WriteOut();
    payload_ = kLastFrame;
    if (s.ok()) s = WriteOut();
    if (s.ok()) s = file_->Fsync(IOOptions(), nullptr);
    return s;
  }

 private:
  IOStatus WriteOut() {
    const std::string frame = MakeFrame(payload_);
    payload_.clear();
    return file_->Append(frame, IOOptions(), nullptr);
  }
  rocksdb::FSWritableFile* const file_;
  std::string payload_;
};

Status CopyManifests(const FamilyPtr& meta, uint64_t window_id, FrameFile* out) {
  const std::unique_ptr<rocksdb::Iterator> it(
      meta->db()->NewIterator(MetaIteratorOptions(), meta->handle()));
  for (it->Seek(ManifestKeyFrom(window_id, "")); it->Valid(); it->Next()) {
    const auto name = ParseManifestKey(it->key().ToStringView());
    if (!name || name->window_id != window_id) break;
    Manifest slim;
    const auto manifest = DecodeManifest(it->value().ToStringView());
    if (manifest.ok()) slim.rotations = manifest->rotations;
    CISTERN_RETURN_IF_ERROR(
        ToStatus(out->Put(it->key().ToStringView(), EncodeManifest(slim)), "copying manifests"));
  }
  if (!it->status().ok()) return ToReadStatus(it->status(), "reading manifests");
  return ToStatus(out->End(), "copying manifests");
}

}  // namespace

Status WriteEndedSeals(rocksdb::FileSystem* fs, const std::string& directory,
                       const FamilyPtr& meta, uint64_t window_id) {
  const std::string path = Concat({directory, "/", FileName(window_id)});
  const std::string temporary = path + std::string(kTemporarySuffix);
  rocksdb::FileOptions options;
  options.allow_fallocate = false;
  std::unique_ptr<rocksdb::FSWritableFile> file;
  IOStatus s = fs->NewWritableFile(temporary, options, &file, nullptr);
  if (!s.ok()) return ToStatus(s, "writing " + path);
  FrameFile frames(file.get());
  Status status = CopyManifests(meta, window_id, &frames);
  s = file->Close(IOOptions(), nullptr);
  if (status.ok() && s.ok()) s = fs->RenameFile(temporary, path, IOOptions(), nullptr);
  if (status.ok()) status = ToStatus(s, "writing " + path);
  if (status.ok()) return SyncDirectory(fs, directory);
  fs->DeleteFile(temporary, IOOptions(), nullptr).PermitUncheckedError();
  return status;
}

Status ReadEndedSeals(rocksdb::FileSystem* fs, const std::string& directory, uint64_t window_id,
                      const VisitEndedSeal& visit) {
  const std::string path = directory + "/" + FileName(window_id);
  CISTERN_ASSIGN_OR_RETURN(FrameReader frames, FrameReader::Open(fs, path));
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(const auto payload, frames.Next());
    if (!payload) break;
    if (*payload == kLastFrame) return Status::Ok();
    ByteReader in(*payload, "seals of an ended window");
    while (in.ok() && in.remaining() > 0) {
      const auto key = in.ReadBytes("key", in.ReadCount("key length", kFieldBytesMax));
      const auto value = in.ReadBytes("value", in.ReadCount("value length", kFieldBytesMax));
      const auto name = ParseManifestKey(key);
      if (in.ok() && (!name || name->window_id != window_id)) in.Fail("key", "is of no manifest");
      if (in.ok()) CISTERN_RETURN_IF_ERROR(visit(key, value));
    }
    if (!in.ok()) return in.status();
  }
  return Status::Corruption(Concat({path, " is damaged"}));
}

Status RemoveEndedSeals(rocksdb::FileSystem* fs, const std::string& directory,
                        uint64_t window_id) {
  const std::string path = Concat({directory, "/", FileName(window_id)});
  if (fs->FileExists(path, IOOptions(), nullptr).IsNotFound()) return Status::Ok();
  return ToStatus(fs->DeleteFile(path, IOOptions(), nullptr), "deleting " + path);
}

Result<std::set<uint64_t>> ListEndedSeals(rocksdb::FileSystem* fs, const std::string& directory) {
  std::vector<std::string> names;
  const IOStatus s = fs->GetChildren(directory, IOOptions(), &names, nullptr);
  if (!s.ok()) return ToStatus(s, "listing " + directory);
  std::set<uint64_t> windows;
  for (const std::string& name : names) {
    const bool is_one = name.starts_with(kEndedFilePrefix) &&
                        name.size() == kEndedFilePrefix.size() + kDigits;
    if (!is_one) continue;
    uint64_t window = 0;
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data() + kEndedFilePrefix.size(), end, window, 16).ptr == end) {
      windows.insert(window);
    }
  }
  return windows;
}

}  // namespace cistern
