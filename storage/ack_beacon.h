// AckBeacon: remembers, beside the database, what was acknowledged. It is how an open
// learns that acknowledged records are missing: RocksDB itself would say OK.
#ifndef CISTERN_STORAGE_ACK_BEACON_H_
#define CISTERN_STORAGE_ACK_BEACON_H_

#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "cistern/result.h"
#include "cistern/status.h"

namespace cistern {

// The file ACK: two slots of 512 bytes, little-endian, written by turns, so that a torn
// write leaves the other:
//   magic u64 | store id 16 B | generation u64 | sequence u64 | zeros | XXH3 u64 of the rest
// The valid slot with the higher generation counts. One thread at a time; `fs` must
// outlive it.
class AckBeacon {
 public:
  static constexpr size_t kSlotBytes = 512;
  static constexpr size_t kSlotCount = 2;

  // Reads the file, or makes it. `store_id` is StoreFormat::store_id. `read_only`
  // makes nothing, and Write() fails then. A file of another store, or without a valid
  // slot, counts as none: note() says so and the first Write() replaces it.
  [[nodiscard]] static Result<std::unique_ptr<AckBeacon>> Open(rocksdb::FileSystem* fs,
                                                               const std::string& directory,
                                                               const std::string& store_id,
                                                               bool read_only);
  ~AckBeacon();

  // The highest journal sequence known as acknowledged; 0: none.
  [[nodiscard]] uint64_t sequence() const { return sequence_; }
  // Empty, or what was odd about the file, for people.
  [[nodiscard]] const std::string& note() const { return note_; }

  // Writes and syncs, about one fdatasync: at most once a second, by the caller's
  // pacing, and at a clean close. A sequence that is not higher is no write.
  [[nodiscard]] Status Write(uint64_t sequence);

 private:
  AckBeacon(rocksdb::FileSystem* fs, std::string directory, std::string store_id);
  [[nodiscard]] Status Read();
  [[nodiscard]] std::string EncodeSlot(uint64_t generation, uint64_t sequence) const;
  bool DecodeSlot(std::string_view slot, uint64_t* generation, uint64_t* sequence) const;

  rocksdb::FileSystem* const fs_;
  const std::string directory_;
  const std::string store_id_;
  bool read_only_ = false;
  std::unique_ptr<rocksdb::FSRandomRWFile> file_;
  uint64_t generation_ = 0;
  uint64_t sequence_ = 0;
  std::string note_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_ACK_BEACON_H_
