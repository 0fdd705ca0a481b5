// What encoder and decoder of journal records share: the coder's state and the decimal
// form of doubles. The bytes are specified in JOURNAL.md.
#ifndef CISTERN_STORAGE_JOURNAL_CODER_H_
#define CISTERN_STORAGE_JOURNAL_CODER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cistern/column_data.h"
#include "cistern/schema.h"

namespace cistern::journal {

inline constexpr uint8_t kRecordVersion = 1;
inline constexpr uint8_t kKindMask = 3;
inline constexpr uint8_t kKindRangeDelete = 3;
inline constexpr uint8_t kOtherEntity = 4;
inline constexpr uint8_t kNewEntity = 8;
inline constexpr uint8_t kNewShape = 16;
inline constexpr uint8_t kNewSplit = 32;
inline constexpr uint8_t kOtherTimestamp = 64;
inline constexpr uint8_t kOtherExpiry = 128;
inline constexpr uint64_t kEscapeRaw = 1;
inline constexpr uint64_t kEscapeExponent = 3;

inline constexpr int kExponentMax = 15;
inline constexpr double kPowersOfTen[kExponentMax + 1] = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
inline constexpr double kExactIntegerMax = 9007199254740992.0;  // 2^53

// How a column is coded.
enum class ColumnCoding : uint8_t { kTime, kBoolean, kInteger, kDouble, kFloat, kBytes };

struct CodedColumn {
  size_t column = 0;
  ColumnCoding coding = ColumnCoding::kInteger;
  size_t text = 0;   // index of the entity's last text, for kBytes
  int exponent = 0;  // for kDouble and kFloat; changes with the data
};

// A table's columns in the order of JOURNAL.md: clustering columns, then regular ones.
struct TableCoder {
  TableCoder(uint32_t id, std::shared_ptr<const TableSchema> table_schema);
  uint32_t table_id;
  std::shared_ptr<const TableSchema> schema;
  std::vector<CodedColumn> columns;
  size_t clustering_count = 0;
  size_t text_count = 0;
};

// The last row of one entity.
struct EntityCoder {
  TableCoder* table = nullptr;
  std::string entity;
  std::vector<int64_t> last;  // by coded column; value or bit pattern
  std::vector<std::string> texts;
  std::vector<CellState> shape;  // by regular column
  int64_t time_step = 0;
  uint32_t split = 0;

  EntityCoder(TableCoder* t, std::string_view entity_key);
  [[nodiscard]] size_t MemoryBytes() const;
};

// Nearest integer to value * 10^exponent, for |product| < 2^53; otherwise 0.
[[nodiscard]] inline int64_t ScaledInteger(double value, int exponent) {
  const double product = value * kPowersOfTen[exponent];
  if (!(product > -kExactIntegerMax && product < kExactIntegerMax)) return 0;
  // Adding and taking away 2^52 + 2^51 rounds to nearest without a rounding instruction,
  // for |product| < 2^51; the rest is rounded by the conversion below.
  constexpr double kRound = 6755399441055744.0;
  if (product > -2251799813685248.0 && product < 2251799813685248.0) {
    return static_cast<int64_t>((product + kRound) - kRound);
  }
  return static_cast<int64_t>(product);
}

}  // namespace cistern::journal

#endif  // CISTERN_STORAGE_JOURNAL_CODER_H_
