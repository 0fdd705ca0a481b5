// PushBatch: bound statements of one partition that are sent as one unlogged BATCH.
//
// A batch of one partition is one mutation for the server, applied as a whole, and its size is
// bounded by max_mutation_size (16 MiB) and not by batch_size_fail_threshold.
#ifndef CISTERN_ENGINE_REPLICATE_PUSH_BATCH_H_
#define CISTERN_ENGINE_REPLICATE_PUSH_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/replicate/push_position.h"
#include "engine/replicate/push_statements.h"

namespace cistern::replicate {

// What became of the row versions and range deletes that a batch took from its seal.
struct PushTally {
  uint64_t sent = 0;      // have a statement of their own, in this batch or, of two, before
  uint64_t expired = 0;   // left out: over, and nothing that they could shadow
  uint64_t shadowed = 0;  // left out: deleted by another seal
  uint64_t empty = 0;     // left out: they say nothing, as of columns that are dropped
  [[nodiscard]] uint64_t versions() const { return sent + expired + shadowed + empty; }
  friend bool operator==(const PushTally&, const PushTally&) = default;
};

// Owns its bytes; cleared and filled again without giving its memory back. One thread at a time.
class PushBatch {
 public:
  struct Entry {
    StatementKind kind = StatementKind::kInsert;
    uint16_t value_count = 0;
    uint32_t value_begin = 0;  // in values(); they end where those of the next entry begin
  };
  // What a statement adds to the BATCH beside its values: u8 kind, the 16 bytes of a prepared
  // id behind their u16 length, u16 value count.
  static constexpr size_t kEntryBytes = 1 + 2 + 16 + 2;

  void Clear() {
    entries_.clear();
    values_.clear();
    now_in_seconds.reset();
    tally = {};
  }
  // The values of the next statement are appended to *values(), then it is added, or they are
  // taken back.
  [[nodiscard]] std::string* open_values() { return &values_; }
  void Add(StatementKind kind, uint16_t value_count, size_t value_begin) {
    entries_.push_back({kind, value_count, static_cast<uint32_t>(value_begin)});
  }

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::string_view values() const { return values_; }
  [[nodiscard]] std::string_view values_of(size_t entry) const {
    const size_t begin = entries_[entry].value_begin;
    const size_t end = entry + 1 < entries_.size() ? entries_[entry + 1].value_begin
                                                   : values_.size();
    return std::string_view(values_).substr(begin, end - begin);
  }
  [[nodiscard]] size_t byte_count() const {
    return values_.size() + entries_.size() * kEntryBytes;
  }

  std::optional<int32_t> now_in_seconds;  // none: the server's own
  PushPosition next;                      // where to go on once this batch is acknowledged
  PushTally tally;

 private:
  std::vector<Entry> entries_;
  std::string values_;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_PUSH_BATCH_H_
