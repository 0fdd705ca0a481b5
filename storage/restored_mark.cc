#include "storage/restored_mark.h"

#include "lib/base/concat.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"
#include "storage/store_format.h"
#include "storage/text_record.h"

namespace cistern {

namespace {

constexpr std::string_view kFirstLines = "cistern restored\nformat 1\n";
constexpr size_t kFileBytesMax = 4096;

bool Decode(std::string_view text, RestoredFrom* from) {
  const std::string_view whole = text;
  if (!text.starts_with(kFirstLines)) return false;
  text.remove_prefix(kFirstLines.size());
  std::string_view field;
  if (!TakeField(&text, "store", &field) || !IsHex(field, 2 * kStoreIdBytes)) return false;
  from->store_id = std::string(field);
  return TakeField(&text, "backup", &field) && ParseDecimal(field, &from->number) &&
         TakeField(&text, "taken_us", &field) && ParseDecimal(field, &from->taken_us) &&
         TakeField(&text, "restored_us", &field) && ParseDecimal(field, &from->restored_us) &&
         IsChecksumLine(text, whole);
}

}  // namespace

Status WriteRestoringMark(rocksdb::FileSystem* fs, const std::string& directory,
                          const RestoredFrom& from) {
  std::string text(kFirstLines);
  text.append("store ").append(from.store_id);
  text.append("\nbackup ").append(std::to_string(from.number));
  text.append("\ntaken_us ").append(std::to_string(from.taken_us));
  text.append("\nrestored_us ").append(std::to_string(from.restored_us)).append("\n");
  AppendChecksumLine(&text);
  return WriteFileDurably(fs, directory, std::string(kRestoringMarkFileName), text);
}

Status CompleteRestoredMark(rocksdb::FileSystem* fs, const std::string& directory) {
  const std::string from = Concat({directory, "/", kRestoringMarkFileName});
  const std::string to = Concat({directory, "/", kRestoredMarkFileName});
  if (fs->FileExists(from, rocksdb::IOOptions(), nullptr).IsNotFound()) return Status::Ok();
  const rocksdb::IOStatus renamed = fs->RenameFile(from, to, rocksdb::IOOptions(), nullptr);
  if (!renamed.ok()) return ToStatus(renamed, "renaming " + from);
  return SyncDirectory(fs, directory);
}

Result<std::optional<RestoredFrom>> ReadRestoredMark(rocksdb::FileSystem* fs,
                                                     const std::string& directory) {
  std::string path = Concat({directory, "/", kRestoredMarkFileName});
  auto text = ReadSmallFile(fs, path, kFileBytesMax);
  if (text.status().code() == StatusCode::kNotFound) {
    path = Concat({directory, "/", kRestoringMarkFileName});
    text = ReadSmallFile(fs, path, kFileBytesMax);
  }
  if (text.status().code() == StatusCode::kNotFound) return std::optional<RestoredFrom>();
  CISTERN_RETURN_IF_ERROR(text.status());
  RestoredFrom from;
  if (Decode(*text, &from)) return std::optional(std::move(from));
  return Status::Corruption(Concat({path, " is damaged: of which backup the store was made is not "
      "known"}));
}

}  // namespace cistern
