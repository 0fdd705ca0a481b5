#include "storage/store_format.h"

#include <random>

#include "lib/base/concat.h"
#include "storage/small_file.h"
#include "storage/text_record.h"

namespace cistern {
namespace {

constexpr std::string_view kFirstLine = "cistern store";
constexpr size_t kFileBytesMax = 4096;

Status Damaged(std::string_view why) {
  return Status::Corruption(Concat({"the file CISTERN is damaged: ", why,
      "; put it back from a backup of this very store"}));
}

}  // namespace

std::string EncodeStoreFormat(const StoreFormat& format) {
  std::string text(kFirstLine);
  text.append("\nformat ").append(std::to_string(format.version));
  text.append("\nstate ").append(format.ready ? "ready" : "creating");
  text.append("\nid ").append(format.store_id).append("\n");
  AppendChecksumLine(&text);
  return text;
}

Result<StoreFormat> DecodeStoreFormat(std::string_view text) {
  const std::string_view whole = text;
  StoreFormat format;
  std::string_view line;
  if (!TakeLine(&text, &line) || line != kFirstLine) {
    return Damaged("its first line is not 'cistern store'");
  }
  std::string_view version;
  if (!TakeField(&text, "format", &version)) return Damaged("no format");
  if (!ParseDecimal(version, &format.version) || format.version == 0) {
    return Damaged("the format is no number");
  }
  if (format.version > kStoreFormatVersion) {
    return Status::TooNew(Concat({"the store has format ", format.version,
        ", this version of Cistern knows ", kStoreFormatVersion, " at most; nothing was changed. "
        "Use the newer version"}));
  }
  std::string_view state;
  std::string_view id;
  if (!TakeField(&text, "state", &state)) return Damaged("no state");
  if (state != "ready" && state != "creating") return Damaged("an unknown state");
  if (!TakeField(&text, "id", &id) || !IsHex(id, 2 * kStoreIdBytes)) return Damaged("no id");
  if (!IsChecksumLine(text, whole)) return Damaged("the checksum does not agree");
  format.ready = state == "ready";
  format.store_id = std::string(id);
  return format;
}

Result<StoreFormat> ReadStoreFormat(rocksdb::FileSystem* fs, const std::string& directory) {
  const std::string path = Concat({directory, "/", kStoreFormatFileName});
  CISTERN_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(fs, path, kFileBytesMax));
  return DecodeStoreFormat(text);
}

Status WriteStoreFormat(rocksdb::FileSystem* fs, const std::string& directory,
                        const StoreFormat& format) {
  return WriteFileDurably(fs, directory, std::string(kStoreFormatFileName),
                          EncodeStoreFormat(format));
}

std::string NewStoreId() {
  std::random_device random;
  std::string id;
  while (id.size() < 2 * kStoreIdBytes) {
    id.append(HexOf(static_cast<uint64_t>(random()) << 32 | random()));
  }
  return id;
}

}  // namespace cistern
