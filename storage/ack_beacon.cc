#include "storage/ack_beacon.h"

#include <utility>

#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"

namespace cistern {
namespace {

using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr std::string_view kFileName = "ACK";
constexpr uint64_t kMagic = 0x314b434154534943;  // "CISTACK1"
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

}  // namespace

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

Status AckBeacon::Read() {
  const std::string path = directory_ + "/" + std::string(kFileName);
  auto content = ReadSmallFile(fs_, path, kSlotBytes * kSlotCount);
  if (!content.ok() && content.status().code() != StatusCode::kNotFound &&
      content.status().code() != StatusCode::kCorruption) {
    return content.status();
  }
  bool any = false;
  if (content.ok()) {
    for (size_t at = 0; at + kSlotBytes <= content->size(); at += kSlotBytes) {
      uint64_t generation = 0;
      uint64_t sequence = 0;
      if (!DecodeSlot(std::string_view(*content).substr(at, kSlotBytes), &generation, &sequence)) {
        continue;
      }
      if (!any || generation > generation_) {
        generation_ = generation;
        sequence_ = sequence;
      }
      any = true;
    }
  }
  if (!any) {
    note_ = content.status().code() == StatusCode::kNotFound
                ? "the file ACK is missing: lost acknowledged rows would not be noticed"
                : "the file ACK is damaged or of another store: lost acknowledged rows would not "
                  "be noticed";
  }
  if (read_only_ || (any && content->size() == kSlotBytes * kSlotCount)) return Status::Ok();
  // The next write goes to the other slot.
  std::string fresh(kSlotBytes * kSlotCount, '\0');
  fresh.replace((generation_ % kSlotCount) * kSlotBytes, kSlotBytes,
                EncodeSlot(generation_, sequence_));
  return WriteFileDurably(fs_, directory_, std::string(kFileName), fresh);
}

std::string AckBeacon::EncodeSlot(uint64_t generation, uint64_t sequence) const {
  std::string slot;
  PutLittle(&slot, kMagic);
  slot.append(IdBytes(store_id_));
  PutLittle(&slot, generation);
  PutLittle(&slot, sequence);
  slot.resize(kSlotBytes - kChecksumBytes, '\0');
  PutLittle(&slot, Checksum(slot));
  return slot;
}

bool AckBeacon::DecodeSlot(std::string_view slot, uint64_t* generation, uint64_t* sequence) const {
  ByteReader reader(slot, "acknowledgement slot");
  const uint64_t magic = reader.ReadU64("magic");
  const std::string_view id = reader.ReadBytes("store id", kIdBytes);
  *generation = reader.ReadU64("generation");
  *sequence = reader.ReadU64("sequence");
  if (!reader.ok() || slot.size() != kSlotBytes || magic != kMagic) return false;
  const size_t covered = kSlotBytes - kChecksumBytes;
  return GetLittle<uint64_t>(slot.data() + covered) == Checksum(slot.substr(0, covered)) &&
         id == IdBytes(store_id_);
}

Status AckBeacon::Write(uint64_t sequence) {
  if (sequence <= sequence_) return Status::Ok();
  if (read_only_) return Status::ReadOnly("the store is open read-only");
  const std::string path = directory_ + "/" + std::string(kFileName);
  if (file_ == nullptr) {
    const IOStatus opened = fs_->NewRandomRWFile(path, rocksdb::FileOptions(), &file_, nullptr);
    if (!opened.ok()) return ToStatus(opened, "opening " + path);
  }
  const uint64_t generation = generation_ + 1;
  const std::string slot = EncodeSlot(generation, sequence);
  IOStatus status =
      file_->Write((generation % kSlotCount) * kSlotBytes, slot, IOOptions(), nullptr);
  if (status.ok()) status = file_->Sync(IOOptions(), nullptr);
  if (!status.ok()) return ToStatus(status, "writing " + path);
  // Only now: a failed write is repeated in the same slot, and the other stays whole.
  generation_ = generation;
  sequence_ = sequence;
  return Status::Ok();
}

}  // namespace cistern
