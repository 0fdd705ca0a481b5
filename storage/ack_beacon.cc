#include "storage/ack_beacon.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"

namespace cistern {
namespace {

using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr std::string_view kFileName = "ACK";
constexpr uint64_t kMagic = 0x324b434154534943;        // "CISTACK2"
constexpr uint64_t kFormerMagic = 0x314b434154534943;  // "CISTACK1"
constexpr size_t kIdBytes = 16;
constexpr size_t kChecksumBytes = 8;

// 32 hexadecimal digits to 16 bytes; other characters count as 0.
std::string IdBytes(std::string_view hex) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 0;
  };
  std::string bytes(kIdBytes, '\0');
  for (size_t i = 0; i < kIdBytes && 2 * i + 1 < hex.size(); ++i) {
    bytes[i] = static_cast<char>(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
  }
  return bytes;
}

std::string HexOf(std::string_view bytes) {
  std::string hex;
  for (const char c : bytes) {
    hex += "0123456789abcdef"[static_cast<uint8_t>(c) >> 4];
    hex += "0123456789abcdef"[static_cast<uint8_t>(c) & 15];
  }
  return hex;
}

// Whether the record begins with the magic and ends with its checksum.
bool IsRecord(std::string_view record, uint64_t magic) {
  const size_t covered = record.size() - kChecksumBytes;
  return GetLittle<uint64_t>(record.data()) == magic &&
         GetLittle<uint64_t>(record.data() + covered) == Checksum(record.substr(0, covered));
}

}  // namespace

std::optional<std::string> AckBeacon::StoreIdIn(rocksdb::FileSystem* fs,
                                                const std::string& directory) {
  const auto content =
      ReadSmallFile(fs, directory + "/" + std::string(kFileName), kSlotBytes * kSlotCount);
  if (!content.ok()) return std::nullopt;
  const std::string_view bytes = *content;
  for (const auto& [record_bytes, magic] :
       {std::pair(kRecordBytes, kMagic), std::pair(kSlotBytes, kFormerMagic)}) {
    for (size_t at = 0; at + record_bytes <= bytes.size(); at += record_bytes) {
      if (!IsRecord(bytes.substr(at, record_bytes), magic)) continue;
      return HexOf(bytes.substr(at + sizeof(magic), kIdBytes));
    }
  }
  return std::nullopt;
}

AckBeacon::AckBeacon(rocksdb::FileSystem* fs, std::string directory, std::string store_id)
    : fs_(fs), directory_(std::move(directory)), store_id_(std::move(store_id)) {}

AckBeacon::~AckBeacon() {
  if (file_ != nullptr) file_->Close(IOOptions(), nullptr).PermitUncheckedError();
}

Result<std::unique_ptr<AckBeacon>> AckBeacon::Open(rocksdb::FileSystem* fs,
                                                   const std::string& directory,
                                                   const std::string& store_id, bool read_only) {
  std::unique_ptr<AckBeacon> beacon(new AckBeacon(fs, directory, store_id));
  beacon->read_only_ = read_only;
  CISTERN_RETURN_IF_ERROR(beacon->Read());
  return beacon;
}

Result<std::unique_ptr<AckBeacon>> AckBeacon::Create(rocksdb::FileSystem* fs,
                                                     const std::string& directory,
                                                     const std::string& store_id) {
  std::unique_ptr<AckBeacon> beacon(new AckBeacon(fs, directory, store_id));
  CISTERN_RETURN_IF_ERROR(beacon->WriteBoth());
  return beacon;
}

Status AckBeacon::Read() {
  const std::string path = Concat({directory_, "/", kFileName});
  auto content = ReadSmallFile(fs_, path, kSlotBytes * kSlotCount);
  const StatusCode code = content.status().code();
  if (!content.ok() && code != StatusCode::kNotFound && code != StatusCode::kCorruption) {
    return content.status();
  }
  if (content.ok()) Judge(*content);
  if (facts_.generation == 0) {
    CallOdd(code == StatusCode::kNotFound
                ? "the file ACK is missing: lost acknowledged rows would not be noticed"
                : "the file ACK is damaged or of another store: lost acknowledged rows would not "
                  "be noticed");
  } else if (whole_ && facts_.doubt != Doubt::kNone) {
    whole_ = false;
    note_ = facts_.doubt == Doubt::kNotWhole
                ? "the file ACK was damaged, and the store was not opened since"
                : "an opening before met a damaged log, and did not come to its end";
  }
  if (read_only_ || !rewrite_) return Status::Ok();
  const Status written = WriteBoth();
  // Without room it is tried again by the next write: no reason to stay shut.
  return written.code() == StatusCode::kNoSpace ? Status::Ok() : written;
}

// More may have been acknowledged than the file says.
void AckBeacon::CallOdd(std::string note) {
  note_ = std::move(note);
  whole_ = false;
  rewrite_ = true;
  facts_.ends = {};
  facts_.doubt = std::max(facts_.doubt, Doubt::kNotWhole);
}

// Both slots, as one that was never written would look like one that was damaged.
Status AckBeacon::WriteBoth() {
  facts_.generation = std::max<uint64_t>(facts_.generation, kSlotCount);
  Facts before = facts_;
  --before.generation;
  std::array<std::string, kSlotCount> slots;
  slots[facts_.generation % kSlotCount] = EncodeSlot(facts_);
  slots[before.generation % kSlotCount] = EncodeSlot(before);
  file_.reset();  // of the file that is replaced
  CISTERN_RETURN_IF_ERROR(
      WriteFileDurably(fs_, directory_, std::string(kFileName), slots[0] + slots[1]));
  rewrite_ = false;
  return Status::Ok();
}

// A write that a power cut tore leaves a wrong record in front of a right one of before, or a
// right one in front of a wrong one or of one of before. All else is damage.
void AckBeacon::Judge(std::string_view content) {
  std::array<std::array<std::optional<Facts>, 2>, kSlotCount> slots;
  for (size_t i = 0; i < 2 * kSlotCount && content.size() >= (i + 1) * kRecordBytes; ++i) {
    auto& record = slots[i / 2][i % 2];
    record = Decode(content.substr(i * kRecordBytes, kRecordBytes), kMagic);
    if (record && record->generation > facts_.generation) facts_ = *record;
  }
  if (facts_.generation == 0) return JudgeFormer(content);
  bool is_damaged = false;
  for (const auto& [first, second] : slots) {
    if (!first && !second) {
      return CallOdd("the file ACK is damaged: that the newest acknowledged rows are lost would "
                     "not be noticed");
    }
    const bool is_newest = (first ? first : second)->generation == facts_.generation;
    is_damaged |= is_newest ? !first : !second;
    // A torn slot is written whole, or it would look damaged once the other one is newer.
    rewrite_ |= !first || !second || first->generation != second->generation;
  }
  if (is_damaged) note_ = "a record of the file ACK is damaged; the other one of the same is not";
}

void AckBeacon::JudgeFormer(std::string_view content) {
  bool damaged = content.size() != kSlotBytes * kSlotCount;
  for (size_t at = 0; at + kSlotBytes <= content.size(); at += kSlotBytes) {
    const std::string_view slot = content.substr(at, kSlotBytes);
    const auto facts = Decode(slot, kFormerMagic);
    // One that was never written is zeros.
    damaged |= !facts && slot.find_first_not_of('\0') != std::string_view::npos;
    // The first generation was 0, which stands for none here.
    if (facts && facts->generation + 1 > facts_.generation) {
      facts_ = *facts;
      ++facts_.generation;
    }
  }
  rewrite_ = true;
  if (damaged && facts_.generation > 0) {
    CallOdd("the file ACK is damaged: that the newest acknowledged rows are lost would not be "
            "noticed");
  }
}

void AckBeacon::ExpectManifest(uint64_t number) {
  const std::lock_guard lock(mutex_);
  const uint64_t known = facts_.ends.manifest_number;
  if (known == 0 || known >= number) return;
  CallOdd("the file ACK is older than the store: lost acknowledged rows would not be noticed");
}

uint64_t AckBeacon::sequence() const {
  const std::lock_guard lock(mutex_);
  return facts_.sequence;
}

SyncedEnds AckBeacon::ends() const {
  const std::lock_guard lock(mutex_);
  return facts_.ends;
}

std::string AckBeacon::EncodeSlot(const Facts& facts) const {
  std::string record;
  PutLittle(&record, kMagic);
  record.append(IdBytes(store_id_));
  PutLittle(&record, facts.generation);
  PutLittle(&record, facts.sequence);
  PutLittle(&record, facts.ends.manifest_number);
  PutLittle(&record, facts.ends.manifest_bytes);
  PutLittle(&record, facts.ends.log_number);
  PutLittle(&record, facts.ends.log_bytes);
  PutLittle(&record, static_cast<uint64_t>(facts.doubt));
  PutLittle(&record, facts.lost.first);
  PutLittle(&record, facts.lost.last);
  record.resize(kRecordBytes - kChecksumBytes, '\0');
  PutLittle(&record, Checksum(record));
  return record + record;
}

std::optional<AckBeacon::Facts> AckBeacon::Decode(std::string_view record, uint64_t magic) const {
  ByteReader reader(record, "record of ACK");
  reader.ReadU64("magic");
  const std::string_view id = reader.ReadBytes("store id", kIdBytes);
  Facts facts;
  facts.generation = reader.ReadU64("generation");
  facts.sequence = reader.ReadU64("sequence");
  // Zeros in the former format.
  facts.ends.manifest_number = reader.ReadU64("MANIFEST number");
  facts.ends.manifest_bytes = reader.ReadU64("MANIFEST bytes");
  facts.ends.log_number = reader.ReadU64("log number");
  facts.ends.log_bytes = reader.ReadU64("log bytes");
  const uint64_t doubt = reader.ReadU64("doubt");
  facts.doubt = static_cast<Doubt>(std::min(doubt, static_cast<uint64_t>(Doubt::kLostLogs)));
  facts.lost.first = reader.ReadU64("first lost sequence");
  facts.lost.last = reader.ReadU64("last lost sequence");
  const bool is_ours = reader.ok() && id == IdBytes(store_id_) && IsRecord(record, magic);
  return is_ours ? std::optional(facts) : std::nullopt;
}

Status AckBeacon::Write(uint64_t sequence, const SyncedEnds& ends) {
  const std::lock_guard lock(mutex_);
  Facts facts = facts_;
  facts.sequence = std::max(facts.sequence, sequence);
  facts.doubt = Doubt::kNone;
  facts.lost = {};
  if (ends.log_number != 0) {
    facts.ends.log_number = ends.log_number;
    facts.ends.log_bytes = ends.log_bytes;
  }
  const bool is_same = facts.sequence == facts_.sequence && facts.ends == facts_.ends &&
                       facts_.doubt == Doubt::kNone && !rewrite_;
  return is_same ? Status::Ok() : WriteNext(facts);
}

std::optional<LostSequences> AckBeacon::lost_sequences() const {
  const std::lock_guard lock(mutex_);
  return facts_.doubt == Doubt::kLostLogs ? std::optional(facts_.lost) : std::nullopt;
}

Status AckBeacon::NoteLostLogs(LostSequences lost) {
  const std::lock_guard lock(mutex_);
  Facts facts = facts_;
  if (facts.doubt != Doubt::kLostLogs) {
    facts.lost = lost;
  } else if (facts.lost.first == 0 || lost.first == 0) {
    facts.lost = {};
  } else {
    facts.lost.first = std::min(facts.lost.first, lost.first);
    facts.lost.last = std::max(facts.lost.last, lost.last);
  }
  facts.doubt = Doubt::kLostLogs;
  if (!read_only_) return WriteNext(facts);
  facts_ = facts;
  return Status::Ok();
}

Status AckBeacon::NoteManifest(uint64_t number, uint64_t synced_bytes) {
  const std::lock_guard lock(mutex_);
  Facts facts = facts_;
  facts.ends.manifest_number = number;
  facts.ends.manifest_bytes = synced_bytes;
  return facts.ends == facts_.ends ? Status::Ok() : WriteNext(facts);
}

Status AckBeacon::WriteNext(Facts facts) {
  if (read_only_) return Status::ReadOnly("the store is open read-only");
  if (rewrite_) {
    ++facts.generation;
    facts_ = facts;
    return WriteBoth();
  }
  const std::string path = Concat({directory_, "/", kFileName});
  if (file_ == nullptr) {
    const IOStatus opened = fs_->NewRandomRWFile(path, rocksdb::FileOptions(), &file_, nullptr);
    if (!opened.ok()) return ToStatus(opened, "opening " + path);
  }
  ++facts.generation;
  IOStatus status = file_->Write((facts.generation % kSlotCount) * kSlotBytes, EncodeSlot(facts),
                                 IOOptions(), nullptr);
  if (status.ok()) status = file_->Sync(IOOptions(), nullptr);
  if (!status.ok()) return ToStatus(status, "writing " + path);
  // Only now: a failed write is repeated in the same slot, and the other stays whole.
  facts_ = facts;
  return Status::Ok();
}

}  // namespace cistern
