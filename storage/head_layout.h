// HeadLayout: how a table's row versions are packed in the head.
#ifndef CISTERN_STORAGE_HEAD_LAYOUT_H_
#define CISTERN_STORAGE_HEAD_LAYOUT_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "cistern/schema.h"
#include "lib/base/coding.h"
#include "lib/row/row_order.h"
#include "lib/row/state_mask.h"

namespace cistern {

// Write timestamp, boot and expiry of one version; expiry_s is the TTL when boot != 0.
struct RowStamp {
  int64_t write_us = 0;
  uint32_t boot = 0;
  uint32_t expiry_s = 0;
  uint8_t flags = 0;  // kVersionLiveness, kVersionDeleteRow
};

// A packed row: write timestamp (8 bytes), flags (1), then the clustering and regular
// columns by the width of their type (1, 2, 4, 8 bytes), without gaps. Cells without a value are 0.
//
// A text has eight bytes, the lowest first. Of up to seven bytes it is there itself, and its length
// in the eighth; a longer one is the address of its copy in the arena, whose eighth byte is 0 on
// every system that we run on.
//
// Rows are packed, not columns: rows of a thousand entities come interleaved, and a row
// then touches one or two cache lines instead of one for each column.
struct HeadLayout {
  struct Column {
    uint32_t column = 0;  // of the schema
    uint32_t offset = 0;  // in the packed row
    uint8_t width = 8;
    bool is_text = false;
    bool is_float = false;
  };
  static constexpr uint32_t kFlagsOffset = 8;

  explicit HeadLayout(std::shared_ptr<const TableSchema> table_schema);

  [[nodiscard]] static int64_t WriteOf(const char* row) { return Load<int64_t>(row); }
  [[nodiscard]] static uint8_t FlagsOf(const char* row) {
    return static_cast<uint8_t>(row[kFlagsOffset]);
  }
  [[nodiscard]] static int64_t FixedOf(const Column& c, const char* row);
  static constexpr size_t kTextBytes = 8;
  static constexpr size_t kWordBytesMax = kTextBytes - 1;  // of a text in the row itself
  // Points into the row, or into the arena.
  [[nodiscard]] static std::string_view TextOf(const Column& c, const char* row) {
    const char* const at = row + c.offset;
    const auto word_size = static_cast<uint8_t>(at[kWordBytesMax]);
    return word_size != 0 ? std::string_view(at, word_size) : TextAt(AddressAt(at));
  }
  // The copy in the arena that a text's eight bytes tell: u32 length, then the bytes. Null: empty.
  // REQUIRES: it is not in the row itself.
  [[nodiscard]] static const char* AddressAt(const char* at) {
    return reinterpret_cast<const char*>(static_cast<uintptr_t>(GetLittle<uint64_t>(at)));
  }
  [[nodiscard]] static std::string_view TextAt(const char* copy) {
    return copy == nullptr ? std::string_view() : std::string_view(copy + 4, Load<uint32_t>(copy));
  }
  // The eight bytes of a text of up to kWordBytesMax.
  [[nodiscard]] static uint64_t WordOf(std::string_view text) {
    uint64_t word = uint64_t{text.size()} << 56;
    for (size_t i = 0; i < text.size(); ++i) {
      word |= uint64_t{static_cast<uint8_t>(text[i])} << (8 * i);
    }
    return word;
  }
  [[nodiscard]] int64_t TimeOf(const char* row) const {
    const Column& c = columns[0];
    return c.is_text ? TimeuuidTicks(TextOf(c, row)) : FixedOf(c, row);
  }
  template <typename T>
  [[nodiscard]] static T Load(const char* at) {
    T v;
    std::memcpy(&v, at, sizeof(v));
    return v;
  }

  std::shared_ptr<const TableSchema> schema;
  std::vector<Column> columns;  // clustering columns in key order, then regular ones
  size_t clustering_count = 0;
  uint32_t row_bytes = 0;
  // Columns by width, for the append.
  std::vector<Column> wide8, wide4, wide2, wide1, texts;
  StateMask cells;
  // Chunks of a run grow up to 2^chunk_log rows.
  uint32_t chunk_log = 2;
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_HEAD_LAYOUT_H_
