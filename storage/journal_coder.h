// What encoder and decoder of journal records share: the coder's state and the decimal
// form of doubles. The bytes are specified in JOURNAL.md.
#ifndef CISTERN_STORAGE_JOURNAL_CODER_H_
#define CISTERN_STORAGE_JOURNAL_CODER_H_

#include <bit>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cistern/column_data.h"
#include "cistern/schema.h"
#include "lib/row/state_mask.h"
#include "storage/head_arena.h"

namespace cistern::journal {

inline constexpr uint8_t kRecordVersion = 2;
inline constexpr uint8_t kRecordVersionOfSteps = 1;  // is read, and not written any more
inline constexpr uint8_t kKindMask = 3;
inline constexpr uint8_t kKindRangeDelete = 3;
inline constexpr uint8_t kOtherEntity = 4;
inline constexpr uint8_t kNewEntity = 8;
inline constexpr uint8_t kFirstEntity = kNewEntity | kOtherEntity;  // of the family
inline constexpr uint8_t kNewShape = 16;
inline constexpr uint8_t kNewSplit = 32;
inline constexpr uint8_t kOtherTimestamp = 64;
inline constexpr uint8_t kOtherExpiry = 128;
inline constexpr uint64_t kEscapeRaw = 1;
inline constexpr uint64_t kEscapeExponent = 3;

inline constexpr uint8_t kExponentMax = 15;
inline constexpr double kPowersOfTen[kExponentMax + 1] = {
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
inline constexpr double kExactIntegerMax = 9007199254740992.0;  // 2^53

// How a column is coded.
enum class ColumnCoding : uint8_t { kTime, kBoolean, kInteger, kDouble, kFloat, kBytes };

struct CodedColumn {
  uint32_t column = 0;
  ColumnCoding coding = ColumnCoding::kInteger;
  uint8_t exponent = 0;          // for kDouble and kFloat; changes with the data
  uint16_t search_pause = 0;     // encoder: values that are not searched for an exponent
  uint16_t search_failures = 0;  // encoder: searches in a row that found none
  uint32_t text = 0;             // index of the entity's last text, for kBytes
  int64_t min = INT64_MIN;       // slots that the column's type has
  int64_t max = INT64_MAX;
};

// A table's columns in the order of JOURNAL.md: clustering columns, then regular ones.
struct TableCoder {
  TableCoder(uint32_t id, std::shared_ptr<const TableSchema> table_schema);
  uint32_t table_id;
  std::shared_ptr<const TableSchema> schema;
  std::vector<CodedColumn> columns;
  std::vector<uint32_t> text_columns;  // of the schema
  StateMask regular_cells;
  size_t clustering_count = 0;
  [[nodiscard]] size_t regular_count() const { return columns.size() - clustering_count; }
};

// A text of at most 12 bytes in place, a longer one in the arena.
class CodedText {
 public:
  [[nodiscard]] std::string_view view() const {
    return {size_ <= sizeof(Inline) ? inline_ : long_.bytes, size_};
  }
  void Set(std::string_view text, HeadArena* arena);

 private:
  using Inline = char[12];
  struct __attribute__((packed)) Long {
    char* bytes;
    uint32_t capacity;
  };
  union {
    Inline inline_ = {};
    Long long_;
  };
  uint32_t size_ = 0;
};

// The last row of one entity, in one piece: the arrays follow the struct, so that an
// entity's whole state is two or three cache lines.
struct EntityCoder {
  TableCoder* table;
  const char* key_bytes;
  uint32_t key_size;
  uint32_t number;             // in the family
  uint32_t split = 0;
  uint32_t value_count;        // columns with a value in the shape
  int64_t time_step = 0;

  // In the arena, with every value 0, every text empty and a shape of values.
  [[nodiscard]] static EntityCoder* New(TableCoder* table, std::string_view key, uint32_t number,
                                        HeadArena* arena);
  [[nodiscard]] std::string_view key() const { return {key_bytes, key_size}; }
  void Prefetch() const {
    const char* const memory = reinterpret_cast<const char*>(this);
    for (const size_t at : {0, 64, 128}) __builtin_prefetch(memory + at, 1);
  }
  // By coded column: the value or its bit pattern.
  [[nodiscard]] int64_t* last() { return reinterpret_cast<int64_t*>(this + 1); }
  [[nodiscard]] CodedText* texts() {
    return reinterpret_cast<CodedText*>(last() + table->columns.size());
  }
  // By regular column.
  [[nodiscard]] CellState* shape() {
    return reinterpret_cast<CellState*>(texts() + table->text_columns.size());
  }

 private:
  EntityCoder(TableCoder* t, const char* entity_key, size_t size, uint32_t entity_number)
      : table(t),
        key_bytes(entity_key),
        key_size(static_cast<uint32_t>(size)),
        number(entity_number),
        value_count(static_cast<uint32_t>(t->columns.size())) {}
};

// Nearest integer to value * 10^exponent, for |product| < 2^53; otherwise 0.
[[nodiscard]] inline int64_t ScaledInteger(double value, int exponent) {
  const double product = value * kPowersOfTen[exponent];
  // Adding and taking away 2^52 + 2^51 rounds to nearest without a rounding instruction,
  // for |product| < 2^51; the rest is rounded by the conversion below.
  constexpr double kRound = 6755399441055744.0;
  if (product > -2251799813685248.0 && product < 2251799813685248.0) {
    return static_cast<int64_t>((product + kRound) - kRound);
  }
  if (!(product > -kExactIntegerMax && product < kExactIntegerMax)) return 0;
  return static_cast<int64_t>(product);
}

// The number that the bits of a double or float column stand for.
[[nodiscard]] inline double RealOf(int64_t bits, bool is_float) {
  return is_float ? static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)))
                  : std::bit_cast<double>(bits);
}

// The bits of d / 10^exponent in the column's own precision.
[[nodiscard]] inline int64_t BitsOf(int64_t d, int exponent, bool is_float) {
  const double value = static_cast<double>(d) / kPowersOfTen[exponent];
  if (is_float) return int64_t{std::bit_cast<uint32_t>(static_cast<float>(value))};
  return std::bit_cast<int64_t>(value);
}

}  // namespace cistern::journal

#endif  // CISTERN_STORAGE_JOURNAL_CODER_H_
