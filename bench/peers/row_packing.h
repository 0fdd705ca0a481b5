// RowPacking: a row as key and value, for engines that know nothing else.
#ifndef CISTERN_BENCH_PEERS_ROW_PACKING_H_
#define CISTERN_BENCH_PEERS_ROW_PACKING_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/peers/peer_table.h"

namespace cistern::bench {

enum class KeyOrder : uint8_t { kEntityTime, kTimeEntity };

// Key: entity (4 bytes) and event time (8 bytes), big-endian, in one order or the other. Value: a
// bitmap of the nulls (2 bytes) where the table can have some, then the cells that there are, in
// native byte order: doubles 8, integers 4, booleans 1, texts their length in a byte and their
// bytes.
class RowPacking {
 public:
  static constexpr size_t kKeyBytes = 12;
  using Key = std::array<char, kKeyBytes>;

  RowPacking(PeerTable table, KeyOrder order);

  [[nodiscard]] Key KeyOf(uint32_t entity, int64_t time_ms) const;
  // Replaces *value.
  void PackValue(const RowView& row, std::string* value) const;
  // The row, until the next call: views point into `value` and into this.
  [[nodiscard]] RowView Unpack(std::string_view key, std::string_view value);
  // A number as double; nothing: it is null. At a fixed place where the table has no nulls and no
  // text before it.
  [[nodiscard]] std::optional<double> Number(std::string_view value, size_t column) const;
  [[nodiscard]] std::pair<uint32_t, int64_t> ReadKey(std::string_view key) const;

  [[nodiscard]] const PeerTable& table() const { return table_; }
  [[nodiscard]] KeyOrder order() const { return order_; }

 private:
  [[nodiscard]] size_t CellBytes(const char* at, size_t column) const;

  PeerTable table_;
  KeyOrder order_;
  std::vector<std::optional<size_t>> fixed_offsets_;  // by column, where it has one
  std::array<int64_t, PeerTable::kColumnsMax> cells_{};
};

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PEERS_ROW_PACKING_H_
