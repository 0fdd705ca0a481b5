#include "storage/catalog_copy.h"

#include <algorithm>
#include <utility>

#include "cistern/limits.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "storage/catalog_frames.h"
#include "storage/catalog_names.h"
#include "storage/confirmed_seals.h"
#include "storage/keyspace.h"
#include "storage/record_coding.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"
#include "storage/store_format.h"

namespace cistern {

namespace {

using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr std::string_view kMagic = "cistern catalog\n";
constexpr size_t kHeaderBytesMax = 128;
constexpr size_t kEntryBytes = 96;  // of memory for each record, beside its bytes
constexpr uint64_t kAppendedBytesMin = 64 * 1024;  // before the files are written anew

void PutStep(char kind, std::string_view key, std::string_view value, std::string* out) {
  out->push_back(kind);
  record_coding::PutString(out, key);
  record_coding::PutString(out, value);
}

bool Apply(char kind, std::string key, std::string_view value,
           std::map<std::string, std::string>* records) {
  switch (kind) {
    case 'P': (*records)[std::move(key)] = value; return true;
    case 'A': (*records)[std::move(key)].append(value); return true;
    case 'D': records->erase(key); return true;
    default: return false;
  }
}

std::string Header(const CatalogContent& content) {
  std::string payload(kMagic);
  PutLittle(&payload, kStoreFormatVersion);
  record_coding::PutString(&payload, content.store_id);
  PutVarint(&payload, content.change);
  return MakeFrame(payload);
}

// Header, then what there is, in frames that one flipped bit does not make one loss.
Result<std::string> Snapshot(const CatalogContent& content) {
  std::string out = Header(content);
  std::string payload;
  const auto end_frame = [&] {
    if (payload.empty()) return;
    std::string whole;
    PutVarint(&whole, content.change);
    out += MakeFrame(whole + payload);
    payload.clear();
  };
  for (const auto& [key, value] : content.records) {
    if (key.size() + value.size() > limits::kCatalogFrameBytesMax / 2) {
      return Status::TooLarge("a record of the catalog has " + std::to_string(value.size()) +
                              " bytes, too many for its copy");
    }
    PutStep('P', key, value, &payload);
    if (payload.size() >= kFramePayloadBytes) end_frame();
  }
  end_frame();
  if (out.size() > limits::kCatalogCopyBytesMax / 2) {
    return Status::TooLarge("the catalog has " + std::to_string(out.size()) +
                            " bytes, and its copy at most " +
                            std::to_string(limits::kCatalogCopyBytesMax / 2));
  }
  return out;
}

Status ReadHeader(std::string_view payload, CatalogContent* content) {
  ByteReader in(payload, "catalog");
  if (in.ReadBytes("magic", kMagic.size()) != kMagic && in.ok()) in.Fail("magic", "is another");
  const uint32_t format = in.ReadU32("format");
  if (in.ok() && format > kStoreFormatVersion) {
    return Status::TooNew(Concat({"the catalog's copy has format ", format}));
  }
  content->store_id = in.ReadBytes("store id", in.ReadCount("store id length", 64));
  content->change = in.ReadVarint("change");
  return in.status();
}

Status ReadChange(std::string_view payload, CatalogContent* content) {
  ByteReader in(payload, "change of the catalog");
  content->change = in.ReadVarint("number");
  while (in.ok() && in.remaining() > 0) {
    const char kind = static_cast<char>(in.ReadU8("kind"));
    std::string key(in.ReadBytes("key", in.ReadCount("key length", in.remaining())));
    const auto value = in.ReadBytes("value", in.ReadCount("value length", in.remaining()));
    if (in.ok() && !IsCatalogKey(key)) in.Fail("key", "is of no record");
    if (in.ok() && !Apply(kind, std::move(key), value, &content->records)) {
      in.Fail("kind", "is not known");
    }
  }
  return in.status();
}

// Up to the first frame that is not whole: that is how a crash leaves the file. Who it belongs to
// is looked at before anything else of it is.
Result<CatalogContent> ReadFile(rocksdb::FileSystem* fs, const std::string& path, bool* is_whole) {
  CISTERN_ASSIGN_OR_RETURN(FrameReader frames, FrameReader::Open(fs, path));
  CatalogContent content;
  CISTERN_ASSIGN_OR_RETURN(const auto header, frames.Next(kHeaderBytesMax));
  if (!header) return Status::Corruption(path + " has no header");
  CISTERN_RETURN_IF_ERROR(ReadHeader(*header, &content));
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(const auto payload, frames.Next());
    if (!payload) break;
    CISTERN_RETURN_IF_ERROR(ReadChange(*payload, &content));
  }
  *is_whole = frames.is_at_end();
  return content;
}

std::string IsOfAnother(const std::string& path, const std::string& of, const std::string& ours) {
  return path + " is of another store (" + of + "), and this is " + ours;
}

uint64_t BytesOf(const std::map<std::string, std::string>& records) {
  uint64_t bytes = 0;
  for (const auto& [key, value] : records) bytes += key.size() + value.size();
  return bytes;
}

// Which records the copy keeps, by their keys' first byte.
bool IsKept(const rocksdb::Slice& key) {
  return !key.empty() && std::string_view("ATBSW").find(key[0]) != std::string_view::npos;
}

class BatchReader final : public rocksdb::WriteBatch::Handler {
 public:
  explicit BatchReader(CatalogChange* change) : change_(change) {}
  rocksdb::Status PutCF(uint32_t /*family*/, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    if (IsKept(key)) change_->Put(key.ToString(), value.ToString());
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(uint32_t /*family*/, const rocksdb::Slice& key) override {
    if (IsKept(key)) change_->Delete(key.ToString());
    return rocksdb::Status::OK();
  }
  // Manifests and outbox entries of a window.
  rocksdb::Status DeleteRangeCF(uint32_t /*family*/, const rocksdb::Slice& /*first*/,
                                const rocksdb::Slice& /*end*/) override {
    return rocksdb::Status::OK();
  }

 private:
  CatalogChange* const change_;
};

}  // namespace

void PutSealRound(std::string* out, const SealRound& round) {
  PutVarint(out, round.round);
  PutIntervals(out, round.indexes);
  PutVarint(out, round.named.size());
  for (const auto& [index, rotations] : round.named) {
    PutVarint(out, index);
    PutIntervals(out, rotations);
  }
}

std::optional<uint64_t> CountSeals(std::string_view rounds) {
  const auto known = DecodeSealRounds(rounds);
  if (!known.ok()) return std::nullopt;
  uint64_t count = 0;
  for (const SealRound& round : *known) count += CountSequences(round.indexes);
  return count;
}

Result<std::vector<SealRound>> DecodeSealRounds(std::string_view bytes) {
  std::vector<SealRound> rounds;
  ByteReader in(bytes, "seal rounds");
  while (in.ok() && in.remaining() > 0) {
    SealRound& round = rounds.emplace_back();
    round.round = in.ReadVarint("round");
    ReadIntervals(&in, &round.indexes);
    for (uint64_t n = in.ReadCount("named", in.remaining()); n > 0 && in.ok(); --n) {
      const uint64_t index = in.ReadCount("index", kSegmentIndexMask);
      ReadIntervals(&in, &round.named[index]);
    }
  }
  if (!in.ok()) return in.status();
  return rounds;
}

void CatalogChange::AddBatch(const rocksdb::WriteBatch& batch) {
  BatchReader reader(this);
  batch.Iterate(&reader).PermitUncheckedError();  // of our own making
}

std::string CatalogRoundsKey(uint64_t window_id) {
  std::string key = "R";
  PutBig(&key, window_id);
  return key;
}

// 'A' has no number; a table's key has two of four bytes, and a boot's one.
bool IsCatalogKey(std::string_view key) {
  if (key.empty()) return false;
  switch (key[0]) {
    case 'A': return key == kStateKey;
    case 'B': return key.size() == 1 + sizeof(uint32_t);
    case 'C':
    case 'R':
    case 'S':
    case 'T':
    case 'W': return key.size() == 1 + sizeof(uint64_t);
    default: return false;
  }
}

Result<CatalogContent> CatalogCopy::Read(rocksdb::FileSystem* fs, const std::string& directory,
                                         const std::string& store_id,
                                         std::vector<std::string>* foreign) {
  std::optional<CatalogContent> newest;
  bool newest_is_whole = false;
  std::string others;
  Status failed = Status::NotFound("there is no copy of the catalog in " + directory);
  for (const char* name : kCatalogFileNames) {
    const std::string path = directory + "/" + name;
    bool is_whole = false;
    auto content = ReadFile(fs, path, &is_whole);
    if (!content.ok()) {
      if (content.status().code() != StatusCode::kNotFound) failed = content.status();
      continue;
    }
    if (!store_id.empty() && content->store_id != store_id) {
      others += (others.empty() ? "" : "; ") + IsOfAnother(path, content->store_id, store_id);
      if (foreign != nullptr) foreign->push_back(IsOfAnother(path, content->store_id, store_id));
      continue;
    }
    if (newest && content->store_id != newest->store_id) {
      return Status::Corruption("CATALOG-1 and CATALOG-2 in " + directory +
                                " are of different stores (" + newest->store_id + " and " +
                                content->store_id +
                                "), and nothing else says which one this is: take away the one "
                                "that does not belong there");
    }
    if (!newest || content->change > newest->change ||
        (content->change == newest->change && is_whole && !newest_is_whole)) {
      newest = *std::move(content);
      newest_is_whole = is_whole;
    }
  }
  if (newest) return *std::move(newest);
  if (others.empty()) return failed;
  return Status::Corruption(others + ": nothing of it is believed. Put the store's own CATALOG-1 "
                                     "or CATALOG-2 back, from a backup of this very store");
}

CatalogCopy::~CatalogCopy() { CloseFiles(); }

void CatalogCopy::CloseFiles() {
  for (auto& file : files_) {
    if (file) file->Close(IOOptions(), nullptr).PermitUncheckedError();
    file.reset();
  }
}

Status CatalogCopy::Load(std::vector<std::string>* foreign) {
  const std::lock_guard lock(mutex_);
  auto found = Read(fs_, directory_, content_.store_id, foreign);
  if (!found.ok()) {
    const StatusCode code = found.status().code();
    const bool is_told = code == StatusCode::kNotFound || code == StatusCode::kCorruption;
    return is_told ? Status::Ok() : found.status();
  }
  content_ = *std::move(found);
  record_bytes_ = bytes_anew_ = BytesOf(content_.records);
  is_written_ = true;
  for (const char* name : kCatalogFileNames) {
    bool is_whole = false;
    const auto file = ReadFile(fs_, Concat({directory_, "/", name}), &is_whole);
    is_written_ = is_written_ && file.ok() && is_whole && file->records == content_.records &&
                  file->store_id == content_.store_id;
    uint64_t size_bytes = 0;
    const bool is_known = fs_->GetFileSize(Concat({directory_, "/", name}), IOOptions(),
                                           &size_bytes, nullptr).ok();
    // What former openings appended counts, or many short ones would make the files grow for ever.
    if (is_known && size_bytes > bytes_anew_) {
      bytes_appended_ = std::max(bytes_appended_, size_bytes - bytes_anew_);
    }
  }
  return Status::Ok();
}

CatalogContent CatalogCopy::content() const {
  const std::lock_guard lock(mutex_);
  return content_;
}

uint64_t CatalogCopy::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return record_bytes_ + content_.records.size() * kEntryBytes;
}

Status CatalogCopy::Replace(std::map<std::string, std::string> records) {
  const std::lock_guard lock(mutex_);
  if (is_written_ && records == content_.records) return Status::Ok();
  content_.records = std::move(records);
  ++content_.change;
  return WriteAnew();
}

// The second file first: should the first one be lost in between, there is one that was synced.
// What was appended to a record counts once, as who confirms, and sends again, and confirms, would
// make it grow without end.
Status CatalogCopy::WriteAnew() {
  CloseFiles();
  is_written_ = false;
  bytes_appended_ = 0;
  for (auto& [key, value] : content_.records) {
    if (key[0] == 'C') value = CompactConfirmed(std::move(value));
  }
  record_bytes_ = BytesOf(content_.records);
  CISTERN_ASSIGN_OR_RETURN(const std::string bytes, Snapshot(content_));
  bytes_anew_ = bytes.size();
  CrashPoint("catalog:before_rewrite");
  CISTERN_RETURN_IF_ERROR(WriteFileDurably(fs_, directory_, kCatalogFileNames[1], bytes));
  CrashPoint("catalog:between_files");
  CISTERN_RETURN_IF_ERROR(WriteFileDurably(fs_, directory_, kCatalogFileNames[0], bytes));
  CrashPoint("catalog:after_rewrite");
  is_written_ = true;
  return Status::Ok();
}

Status CatalogCopy::AppendFrame(std::string_view frame) {
  for (size_t i = 0; i < kFileCount; ++i) {
    const std::string path = Concat({directory_, "/", kCatalogFileNames[i]});
    rocksdb::FileOptions options;
    options.allow_fallocate = false;
    IOStatus s;
    if (!files_[i]) s = fs_->ReopenWritableFile(path, options, &files_[i], nullptr);
    if (s.ok()) s = files_[i]->Append({frame.data(), frame.size()}, IOOptions(), nullptr);
    if (s.ok()) s = files_[i]->Flush(IOOptions(), nullptr);
    if (s.ok() && i == 0) s = files_[i]->Fsync(IOOptions(), nullptr);
    if (!s.ok()) return ToStatus(s, "writing " + path);
    CrashPoint(i == 0 ? "catalog:after_first" : "catalog:after_second");
  }
  bytes_appended_ += frame.size();
  return Status::Ok();
}

// Four times what each file had when it was written anew, and no more than it may have.
uint64_t CatalogCopy::AppendedBytesMax() const {
  return std::min<uint64_t>(std::max(kAppendedBytesMin, 4 * bytes_anew_),
                            limits::kCatalogCopyBytesMax / 2);
}

Status CatalogCopy::Write(const CatalogChange& change) {
  const std::lock_guard lock(mutex_);
  std::string payload;
  for (const CatalogChange::Step& step : change.steps_) {
    const auto found = content_.records.find(step.key);
    const bool is_there = found != content_.records.end();
    if (step.kind == 'P' && is_there && found->second == step.value) continue;
    if (step.kind == 'D' && !is_there) continue;
    PutStep(step.kind, step.key, step.value, &payload);
    Apply(step.kind, step.key, step.value, &content_.records);
  }
  if (payload.empty()) return Status::Ok();
  ++content_.change;
  CrashPoint("catalog:before_change");
  record_bytes_ = BytesOf(content_.records);
  if (!is_written_ || payload.size() > limits::kCatalogFrameBytesMax / 2 ||
      bytes_appended_ + payload.size() > AppendedBytesMax()) {
    return WriteAnew();
  }
  std::string whole;
  PutVarint(&whole, content_.change);
  Status status = AppendFrame(MakeFrame(whole + payload));
  if (!status.ok()) {
    CloseFiles();
    is_written_ = false;
  }
  return status;
}

}  // namespace cistern
