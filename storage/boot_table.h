// BootTable: what is known of each stretch of untrusted clock.
//
// A row taken on an untrusted clock carries its boot number and a count of
// microseconds; its write timestamp is base + count. The base begins just above the
// last timestamp issued, and moves up once, to the true time, when that is known.
#ifndef CISTERN_STORAGE_BOOT_TABLE_H_
#define CISTERN_STORAGE_BOOT_TABLE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "lib/row/reconcile.h"
#include "storage/meta_records.h"

namespace cistern {

// Thread-safe.
class BootTable {
 public:
  explicit BootTable(std::vector<BootRecord> records);

  // Bases by boot number, as of now. Immutable.
  [[nodiscard]] std::shared_ptr<const BootBases> bases() const;
  // Every boot's base is known: none of the records is damaged.
  [[nodiscard]] bool complete() const;
  [[nodiscard]] uint32_t next_number() const;
  [[nodiscard]] BootRecord record(uint32_t boot) const;
  // Adds or replaces, after the record was made durable.
  void Set(uint32_t boot, const BootRecord& record);

 private:
  void Rebuild();
  mutable std::mutex mutex_;
  std::vector<BootRecord> records_;  // [0] unused
  std::shared_ptr<const BootBases> bases_;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_BOOT_TABLE_H_
