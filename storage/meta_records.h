// The records of the meta family. Their bytes are specified in KEYSPACE.md.
#ifndef CISTERN_STORAGE_META_RECORDS_H_
#define CISTERN_STORAGE_META_RECORDS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "storage/sequence_intervals.h"

namespace cistern {

// What is known of time (engine/ingest/clock_guard.h). Times are microseconds since 1970, as of the
// moment when the monotonic clock of boot `boot_id` stood at monotonic_us.
struct ClockRecord {
  int64_t trusted_us = 0;    // newest time that was believed; 0: none ever was
  int64_t certain_us = 0;    // what had passed for certain
  std::string boot_id;       // at most 64 bytes; empty: not known
  int64_t monotonic_us = 0;
  bool witnessed = false;    // a time was believed in that boot
  bool vouched = false;      // something outside of the machine confirmed it in that boot
  int64_t pending_us = 0;    // the wall clock, which is not believed yet; 0: it is
  int64_t dwelt_us = 0;      // for how long it has gone on like that

  friend bool operator==(const ClockRecord&, const ClockRecord&) = default;
};

// What the store knows of itself as of journal_floor; of time: as of when it was written.
struct StateRecord {
  uint64_t sequence_reserved = 1;
  uint64_t journal_floor = 0;
  uint64_t versions_written = 0;
  uint64_t versions_superseded = 0;
  uint64_t versions_expired = 0;
  uint64_t versions_shed = 0;
  int64_t write_us_last = 0;
  ClockRecord clock;
};

// One version of a table's declaration.
struct TableRecord {
  uint64_t journal_before = 0;  // last journal record whose rows are of a version before
  std::string cql;
};

// By table, then version from 0 on.
using TableRecords = std::map<uint32_t, std::vector<TableRecord>>;

// One stretch of untrusted clock: effective timestamp = base_us + count, where the
// count is monotonic time since monotonic_us.
struct BootRecord {
  std::string boot_id;
  int64_t monotonic_us = 0;
  int64_t base_us = 0;
  bool resolved = false;
  // Count of its newest row when it was resolved: what comes later is written above that,
  // also when no state record has been written since.
  int64_t last_count_us = 0;
};

struct SpillRecord {
  bool superseded = false;
  uint64_t version_count = 0;
  uint64_t sealed_count = 0;  // of those, in sealed buckets by now: nobody reads them here
  uint64_t byte_count = 0;
  SequenceIntervals committed;  // rotations
  uint8_t tier = 0;             // how often its rotations were gathered

  [[nodiscard]] uint64_t rotation_count() const { return CountSequences(committed); }
  [[nodiscard]] bool Contains(uint64_t rotation) const {
    return HasSequence(committed, rotation);
  }
  // Adds a rotation that it does not contain.
  void Add(uint64_t rotation) { AddSequence(rotation, &committed); }
};

[[nodiscard]] std::string EncodeState(const StateRecord& r);
[[nodiscard]] std::string EncodeTable(const TableRecord& r);
[[nodiscard]] std::string EncodeBoot(const BootRecord& r);
[[nodiscard]] std::string EncodeSpill(const SpillRecord& r);
[[nodiscard]] Result<StateRecord> DecodeState(std::string_view bytes);
[[nodiscard]] Result<TableRecord> DecodeTable(std::string_view bytes);
[[nodiscard]] Result<BootRecord> DecodeBoot(std::string_view bytes);
[[nodiscard]] Result<SpillRecord> DecodeSpill(std::string_view bytes);

}  // namespace cistern

#endif  // CISTERN_STORAGE_META_RECORDS_H_
