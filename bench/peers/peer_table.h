// PeerTable, RowBlock, RowView: the rows in a form that belongs to no engine.
#ifndef CISTERN_BENCH_PEERS_PEER_TABLE_H_
#define CISTERN_BENCH_PEERS_PEER_TABLE_H_

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cistern::bench {

// How a cell lies in its 64-bit slot:
//   kDouble  its bit pattern          kInt   a 32-bit integer, sign-extended
//   kBool    0 or 1                   kText  offset << 32 | length in the block's heap
enum class CellType : uint8_t { kDouble, kInt, kBool, kText };

struct PeerColumn {
  std::string name;
  CellType type = CellType::kDouble;
};

// A row is the entity (32 bits), the event time (milliseconds since 1970) and these columns. No
// two rows of a workload have the same entity and time.
struct PeerTable {
  static constexpr size_t kColumnsMax = 16;

  std::string name;
  std::vector<PeerColumn> columns;
  bool has_nulls = false;  // engines that pay for the possibility need not, otherwise
  uint32_t entity_count = 0;
  int64_t first_time_ms = 0;
  // Of Cistern alone: the width of a bucket, and how long rows live (0: for ever).
  uint32_t bucket_seconds = 3600;
  uint32_t life_seconds = 0;
  // The machine's clock goes with the rows; otherwise they are history, and it stands at
  // history_end_ms.
  int64_t history_end_ms = 0;

  // Entity, time and cells, as an engineer counts them. Texts are counted as they come.
  [[nodiscard]] size_t LogicalBytes(std::string_view heap_of_row) const {
    size_t bytes = sizeof(uint32_t) + sizeof(int64_t) + heap_of_row.size();
    for (const PeerColumn& column : columns) {
      if (column.type == CellType::kDouble) bytes += 8;
      if (column.type == CellType::kInt) bytes += 4;
      if (column.type == CellType::kBool) bytes += 1;
    }
    return bytes;
  }
};

// One row, as long as what it looks into lives.
struct RowView {
  uint32_t entity = 0;
  int64_t time_ms = 0;
  const int64_t* cells = nullptr;  // one for each column
  uint32_t nulls = 0;              // bit i: column i has no value, and its cell is 0
  const char* heap = nullptr;

  [[nodiscard]] bool IsNull(size_t column) const { return (nulls >> column & 1) != 0; }
  [[nodiscard]] double Double(size_t column) const { return std::bit_cast<double>(cells[column]); }
  [[nodiscard]] std::string_view Text(size_t column) const {
    const auto cell = static_cast<uint64_t>(cells[column]);
    return {heap + (cell >> 32), static_cast<size_t>(cell & 0xffffffffu)};
  }
};

// Some rows, one behind the other. Keeps its room when it is cleared.
class RowBlock {
 public:
  explicit RowBlock(size_t width) : width_(width) {}

  void Clear() {
    entities_.clear();
    times_.clear();
    nulls_.clear();
    cells_.clear();
    heap_.clear();
  }
  void BeginRow(uint32_t entity, int64_t time_ms) {
    entities_.push_back(entity);
    times_.push_back(time_ms);
    nulls_.push_back(0);
    cells_.resize(cells_.size() + width_);
  }
  void SetInt(size_t column, int64_t value) { Last(column) = value; }
  void SetDouble(size_t column, double value) { Last(column) = std::bit_cast<int64_t>(value); }
  void SetText(size_t column, std::string_view text) {
    Last(column) = static_cast<int64_t>(uint64_t{heap_.size()} << 32 | text.size());
    heap_.append(text);
  }
  void SetNull(size_t column) { nulls_.back() |= 1u << column; }
  void AppendRow(const RowView& row, const std::vector<PeerColumn>& columns) {
    BeginRow(row.entity, row.time_ms);
    nulls_.back() = row.nulls;
    for (size_t i = 0; i < width_; ++i) {
      if (columns[i].type == CellType::kText && !row.IsNull(i)) {
        SetText(i, row.Text(i));
      } else {
        SetInt(i, row.cells[i]);
      }
    }
  }

  [[nodiscard]] size_t size() const { return times_.size(); }
  [[nodiscard]] RowView Row(size_t row) const {
    return {entities_[row], times_[row], cells_.data() + row * width_, nulls_[row], heap_.data()};
  }
  [[nodiscard]] size_t heap_bytes() const { return heap_.size(); }

 private:
  int64_t& Last(size_t column) { return cells_[cells_.size() - width_ + column]; }

  size_t width_;
  std::vector<uint32_t> entities_;
  std::vector<int64_t> times_;
  std::vector<uint32_t> nulls_;
  std::vector<int64_t> cells_;
  std::string heap_;
};

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PEERS_PEER_TABLE_H_
