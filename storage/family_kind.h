// The names of column families and what they are for. The only place that makes
// a family's name: an empty one would be accepted by RocksDB and lose its data.
#ifndef CISTERN_STORAGE_FAMILY_KIND_H_
#define CISTERN_STORAGE_FAMILY_KIND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cistern {

enum class FamilyKind : uint8_t {
  kDefault = 0,  // RocksDB insists on it; always empty
  kMeta = 1,     // catalog, cuts, counters
  kJournal = 2,  // committed rows that are not in segments yet; lives in WAL and memtable alone
  kSpill = 3,    // segments of open buckets; written without WAL, dropped whole
  kWindow = 4,   // segments of sealed buckets; written without WAL, dropped whole
};

inline constexpr std::string_view kMetaFamilyName = "meta";

// "journal-", "spill-" or "window-" and 16 hexadecimal digits, so that names sort as
// numbers do.
[[nodiscard]] std::string JournalFamilyName(uint64_t number);
[[nodiscard]] std::string SpillFamilyName(uint64_t number);
[[nodiscard]] std::string WindowFamilyName(uint64_t number);

// Nothing for a name that this version does not make.
[[nodiscard]] std::optional<FamilyKind> FamilyKindOf(std::string_view name);
// The number of a journal, spill or window family; nothing for others.
[[nodiscard]] std::optional<uint64_t> FamilyNumberOf(std::string_view name);

}  // namespace cistern

#endif  // CISTERN_STORAGE_FAMILY_KIND_H_
