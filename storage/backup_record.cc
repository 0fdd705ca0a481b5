#include "storage/backup_record.h"

#include <algorithm>
#include <utility>

#include "cistern/limits.h"
#include "lib/base/concat.h"
#include "storage/file_kind.h"
#include "storage/store_format.h"
#include "storage/text_record.h"

namespace cistern {

namespace {

constexpr std::string_view kRecordLine = "cistern backup";
constexpr std::string_view kOwnerLine = "cistern backups";
constexpr size_t kProblemBytesMax = 1024;

Status Damaged(std::string_view what) {
  return Status::Corruption(Concat({"it is damaged: ", what}));
}

// The two lines that every version has.
Status TakeHead(std::string_view first_line, std::string_view* text) {
  std::string_view line;
  if (!TakeLine(text, &line) || line != first_line) {
    return Damaged(Concat({"its first line is not '", first_line, "'"}));
  }
  uint32_t version = 0;
  if (!TakeField(text, "format", &line) || !ParseDecimal(line, &version) || version == 0) {
    return Damaged("the format is no number");
  }
  if (version <= kBackupFormatVersion) return Status::Ok();
  return Status::TooNew(Concat({"it has format ", version, ", this version of Cistern knows ",
      kBackupFormatVersion, " at most; nothing was changed. Use the newer version"}));
}

// A name that RocksDB or storage gives, and none that leads elsewhere.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= 64 && name[0] != '.' &&
         name.find('/') == std::string_view::npos;
}

// "file" or "shared" was taken off the line.
bool TakeFile(std::string_view line, bool shared, BackupFile* file) {
  if (!ParseHex(TakeWord(&line), &file->checksum)) return false;
  if (shared && !ParseHex(TakeWord(&line), &file->tail)) return false;
  if (!ParseDecimal(TakeWord(&line), &file->size_bytes)) return false;
  file->name = std::string(line);
  return IsPlainName(line) && file->is_shared() == shared;
}

// A name comes once, and what a database cannot do without is there.
bool AreWhole(const std::vector<BackupFile>& files) {
  std::vector<std::string_view> names;
  for (const BackupFile& file : files) names.push_back(file.name);
  std::sort(names.begin(), names.end());
  const auto manifests = std::count_if(names.begin(), names.end(), [](std::string_view name) {
    return FileKindOf(name) == FileKind::kManifest;
  });
  return std::adjacent_find(names.begin(), names.end()) == names.end() && manifests == 1;
}

}  // namespace

std::string BackupFile::SharedName() const {
  const std::string_view stem = std::string_view(name).substr(0, name.size() - 4);
  return Concat({stem, "-", HexOf(tail), "-", HexOf(checksum), ".sst"});
}

uint64_t BackupRecord::byte_count() const {
  uint64_t sum = 0;
  for (const BackupFile& file : files) sum += file.size_bytes;
  return sum;
}

std::string EncodeBackupRecord(const BackupRecord& record) {
  std::string text(kRecordLine);
  text.append("\nformat ").append(std::to_string(kBackupFormatVersion));
  text.append("\nnumber ").append(std::to_string(record.number));
  text.append("\nstore ").append(record.store_id);
  text.append("\ntaken_us ").append(std::to_string(record.taken_us));
  text.append("\nsequence ").append(std::to_string(record.sequence)).append("\n");
  for (const BackupFile& file : record.files) {
    text.append(file.is_shared() ? "shared " : "file ").append(HexOf(file.checksum));
    if (file.is_shared()) text.append(" ").append(HexOf(file.tail));
    text.append(" ").append(std::to_string(file.size_bytes)).append(" ").append(file.name);
    text.append("\n");
  }
  for (const std::string& problem : record.problems) {
    std::string line = problem.substr(0, kProblemBytesMax);
    std::replace(line.begin(), line.end(), '\n', ' ');
    text.append("problem ").append(line).append("\n");
  }
  AppendChecksumLine(&text);
  return text;
}

Result<BackupRecord> DecodeBackupRecord(std::string_view text) {
  const std::string_view whole = text;
  CISTERN_RETURN_IF_ERROR(TakeHead(kRecordLine, &text));
  const size_t last_line = whole.substr(0, whole.size() - 1).rfind('\n');
  if (!IsChecksumLine(whole.substr(last_line + 1), whole)) {
    return Damaged("the checksum does not agree");
  }
  BackupRecord record;
  std::string_view field;
  if (!TakeField(&text, "number", &field) || !ParseDecimal(field, &record.number) ||
      record.number == 0) {
    return Damaged("no number");
  }
  if (!TakeField(&text, "store", &field) || !IsHex(field, 2 * kStoreIdBytes)) {
    return Damaged("no store");
  }
  record.store_id = std::string(field);
  if (!TakeField(&text, "taken_us", &field) || !ParseDecimal(field, &record.taken_us)) {
    return Damaged("no time");
  }
  if (!TakeField(&text, "sequence", &field) || !ParseDecimal(field, &record.sequence)) {
    return Damaged("no sequence");
  }
  std::string_view line;
  while (TakeLine(&text, &line) && !text.empty()) {
    const std::string_view kind = TakeWord(&line);
    if (kind == "problem") {
      record.problems.emplace_back(line);
      continue;
    }
    BackupFile file;
    const bool shared = kind == "shared";
    if ((!shared && kind != "file") || !TakeFile(line, shared, &file)) {
      return Damaged("a line that says nothing");
    }
    record.files.push_back(std::move(file));
    if (record.files.size() > limits::kBackupFilesMax) return Damaged("too many files");
  }
  if (!AreWhole(record.files)) return Damaged("its files are not those of a store");
  return record;
}

std::string EncodeBackupOwner(std::string_view store_id) {
  std::string text(kOwnerLine);
  text.append("\nformat ").append(std::to_string(kBackupFormatVersion));
  text.append("\nstore ").append(store_id).append("\n");
  AppendChecksumLine(&text);
  return text;
}

Result<std::string> DecodeBackupOwner(std::string_view text) {
  const std::string_view whole = text;
  CISTERN_RETURN_IF_ERROR(TakeHead(kOwnerLine, &text));
  std::string_view store_id;
  if (!TakeField(&text, "store", &store_id) || !IsHex(store_id, 2 * kStoreIdBytes)) {
    return Damaged("no store");
  }
  if (!IsChecksumLine(text, whole)) return Damaged("the checksum does not agree");
  return std::string(store_id);
}

}  // namespace cistern
