// HeadLayout: how a table's row versions are packed in the head.
#ifndef CISTERN_STORAGE_HEAD_LAYOUT_H_
#define CISTERN_STORAGE_HEAD_LAYOUT_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "cistern/schema.h"
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
// columns by the width of their type (1, 2, 4, 8 bytes), without gaps. Texts are pointers
// to copies in the arena, null when empty. Cells without a value are 0.
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
  [[nodiscard]] static std::string_view TextOf(const Column& c, const char* row) {
    return TextAt(Load<const char*>(row + c.offset));
  }
  // A text of the arena: u32 length, then the bytes.
  [[nodiscard]] static std::string_view TextAt(const char* text) {
    return text == nullptr ? std::string_view() : std::string_view(text + 4, Load<uint32_t>(text));
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
