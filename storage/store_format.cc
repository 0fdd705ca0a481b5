#include "storage/store_format.h"

#include <charconv>
#include <random>

#include "lib/base/checksum.h"
#include "storage/small_file.h"

namespace cistern {
namespace {

constexpr std::string_view kFirstLine = "cistern store";
constexpr size_t kFileBytesMax = 4096;

std::string Hex(uint64_t value) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text.push_back(kDigits[(value >> shift) & 15]);
  return text;
}

// Takes the next line off `text`; false if there is none that ends.
bool TakeLine(std::string_view* text, std::string_view* line) {
  const size_t end = text->find('\n');
  if (end == std::string_view::npos) return false;
  *line = text->substr(0, end);
  text->remove_prefix(end + 1);
  return true;
}

// Takes "<name> <value>" off `text`.
bool TakeField(std::string_view* text, std::string_view name, std::string_view* value) {
  std::string_view line;
  if (!TakeLine(text, &line) || !line.starts_with(name)) return false;
  line.remove_prefix(name.size());
  if (line.empty() || line[0] != ' ') return false;
  *value = line.substr(1);
  return true;
}

bool IsHex(std::string_view text, size_t digits) {
  return text.size() == digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Status Damaged(std::string_view why) {
  return Status::Corruption("the file CISTERN is damaged: " + std::string(why) +
                            "; put it back from a backup of this very store");
}

}  // namespace

std::string EncodeStoreFormat(const StoreFormat& format) {
  std::string text(kFirstLine);
  text.append("\nformat ").append(std::to_string(format.version));
  text.append("\nstate ").append(format.ready ? "ready" : "creating");
  text.append("\nid ").append(format.store_id).append("\n");
  const std::string checksum = Hex(Checksum(text));
  return text.append("checksum ").append(checksum).append("\n");
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
  const auto [end, error] =
      std::from_chars(version.data(), version.data() + version.size(), format.version);
  if (error != std::errc() || end != version.data() + version.size() || format.version == 0) {
    return Damaged("the format is no number");
  }
  if (format.version > kStoreFormatVersion) {
    return Status::TooNew("the store has format " + std::to_string(format.version) +
                          ", this version of Cistern knows " + std::to_string(kStoreFormatVersion) +
                          " at most; nothing was changed. Use the newer version");
  }
  std::string_view state;
  std::string_view id;
  if (!TakeField(&text, "state", &state)) return Damaged("no state");
  if (state != "ready" && state != "creating") return Damaged("an unknown state");
  if (!TakeField(&text, "id", &id) || !IsHex(id, 2 * kStoreIdBytes)) return Damaged("no id");
  const std::string_view covered = whole.substr(0, whole.size() - text.size());
  std::string_view checksum;
  if (!TakeField(&text, "checksum", &checksum) || !text.empty()) return Damaged("no checksum");
  if (checksum != Hex(Checksum(covered))) return Damaged("the checksum does not agree");
  format.ready = state == "ready";
  format.store_id = std::string(id);
  return format;
}

Result<StoreFormat> ReadStoreFormat(rocksdb::FileSystem* fs, const std::string& directory) {
  const std::string path = directory + "/" + std::string(kStoreFormatFileName);
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
    id.append(Hex(static_cast<uint64_t>(random()) << 32 | random()));
  }
  return id;
}

}  // namespace cistern
