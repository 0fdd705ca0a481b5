// AckBeacon: remembers, beside the database, what was acknowledged and what is synced. It is how
// an open learns that acknowledged records are missing, which RocksDB would call well, and
// that a damaged end of a file was never promised to anybody.
#ifndef CISTERN_STORAGE_ACK_BEACON_H_
#define CISTERN_STORAGE_ACK_BEACON_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "cistern/status.h"
#include "storage/synced_ends.h"

namespace cistern {

// Journal sequences that are lost, both inclusive. Zeros: it is not known which.
struct LostSequences {
  uint64_t first = 0;
  uint64_t last = 0;
};

// The file ACK: two slots of 512 bytes, written by turns, so that a torn write leaves the other.
// A slot holds the same record twice, so that a flipped bit costs neither; little-endian:
//   magic u64 "CISTACK2" | store id 16 B | generation u64 | sequence u64 |
//   MANIFEST number u64, bytes u64 | log number u64, bytes u64 | doubt u64 |
//   first u64 and last u64 lost sequence | zeros | XXH3 u64 of the rest
// which are 256 bytes. The record with the highest generation counts. A slot of before has one
// record of 512 bytes, with the magic "CISTACK1" and without the numbers of files; it is read.
//
// Thread-safe, once open. `fs` must outlive it.
class AckBeacon {
 public:
  static constexpr size_t kRecordBytes = 256;
  static constexpr size_t kSlotBytes = 512;
  static constexpr size_t kSlotCount = 2;

  // Of a new store: replaces whatever is there.
  [[nodiscard]] static Result<std::unique_ptr<AckBeacon>> Create(rocksdb::FileSystem* fs,
                                                                 const std::string& directory,
                                                                 const std::string& store_id);
  // Reads the file. `store_id` is StoreFormat::store_id. `read_only` changes nothing, and writing
  // fails then. A file of another store, or without a valid record, counts as none. What is odd
  // about it is in note(), and is repaired here unless read_only; the doubt that it leaves stays
  // in the file until the next Write().
  [[nodiscard]] static Result<std::unique_ptr<AckBeacon>> Open(rocksdb::FileSystem* fs,
                                                               const std::string& directory,
                                                               const std::string& store_id,
                                                               bool read_only);
  // The identity of the store whose file it is, 32 hexadecimal digits; nothing: no record of the
  // file can be read. For where CISTERN cannot tell.
  [[nodiscard]] static std::optional<std::string> StoreIdIn(rocksdb::FileSystem* fs,
                                                            const std::string& directory);
  ~AckBeacon();

  // The highest journal sequence known as acknowledged; 0: none.
  [[nodiscard]] uint64_t sequence() const;
  [[nodiscard]] SyncedEnds ends() const;
  // Empty, or what was odd about the file, for people. A torn write is not odd.
  [[nodiscard]] const std::string& note() const { return note_; }
  // Whether the newest record was read. Otherwise more may have been acknowledged than sequence(),
  // by a second or by all, and ends() was not known.
  [[nodiscard]] bool is_whole() const { return whole_; }
  // Whether the logs were damaged, by NoteLostLogs() of this opening or of one before that came to
  // no Write(): acknowledged rows count as lost.
  [[nodiscard]] bool has_lost_logs() const { return lost_sequences().has_value(); }
  // Nothing: no logs are lost.
  [[nodiscard]] std::optional<LostSequences> lost_sequences() const;
  // Before use: `number` is that of the MANIFEST in use, read before the file was. One that knows
  // of older ones alone was put back from somewhere: it is odd, and not whole.
  void ExpectManifest(uint64_t number);

  // Writes and syncs, about one fdatasync: at most once a second, by the caller's
  // pacing, and at a clean close. No write if the sequence is not higher, `ends`, which tells of
  // the logs alone, is what was written before, and there is no doubt, which would end with it.
  [[nodiscard]] Status Write(uint64_t sequence, const SyncedEnds& ends = {});
  // Before the logs are repaired, or what they lack is passed over, as nothing tells of it then. A
  // store that is read-only keeps it in memory. Without `lost` it is not known which.
  [[nodiscard]] Status NoteLostLogs(LostSequences lost = {});
  // The same for a MANIFEST: after each of its syncs.
  [[nodiscard]] Status NoteManifest(uint64_t number, uint64_t synced_bytes);

 private:
  enum class Doubt : uint64_t {
    kNone = 0,
    kNotWhole = 1,  // the file was damaged, and nobody was told what that means
    kLostLogs = 2,  // the logs were, and nobody was told
  };
  // What one write remembers.
  struct Facts {
    uint64_t generation = 0;
    uint64_t sequence = 0;
    SyncedEnds ends;
    Doubt doubt = Doubt::kNone;
    LostSequences lost;  // with kLostLogs
  };

  AckBeacon(rocksdb::FileSystem* fs, std::string directory, std::string store_id);
  [[nodiscard]] Status Read();
  void Judge(std::string_view content);
  void JudgeFormer(std::string_view content);
  [[nodiscard]] Status WriteBoth();
  void CallOdd(std::string note);
  [[nodiscard]] Status WriteNext(Facts facts);  // REQUIRES: mutex_ held
  [[nodiscard]] std::string EncodeSlot(const Facts& facts) const;
  // Nothing: the checksum is wrong, or it is of another store.
  [[nodiscard]] std::optional<Facts> Decode(std::string_view record, uint64_t magic) const;

  rocksdb::FileSystem* const fs_;
  const std::string directory_;
  const std::string store_id_;
  bool read_only_ = false;
  bool whole_ = true;
  bool rewrite_ = false;
  std::string note_;
  mutable std::mutex mutex_;
  std::unique_ptr<rocksdb::FSRandomRWFile> file_;  // guarded by mutex_
  Facts facts_;                                    // guarded by mutex_
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_ACK_BEACON_H_
