// RowSums, RowDigest: what a scan is folded into, whatever the order of the rows.
#ifndef CISTERN_BENCH_PEERS_ROW_SUMS_H_
#define CISTERN_BENCH_PEERS_ROW_SUMS_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "bench/peers/peer_table.h"

namespace cistern::bench {

// A text as a number: its first eight bytes, little-endian.
inline uint64_t TextBits(std::string_view text) {
  uint64_t bits = 0;
  std::memcpy(&bits, text.data(), text.size() < sizeof bits ? text.size() : sizeof bits);
  return bits;
}

// Every cell looked at, as cheaply as can be: sums of their bits, without carry beyond 64, by
// column. What timed scans do with the rows.
struct RowSums {
  uint64_t rows = 0;
  uint64_t entities = 0;
  uint64_t times = 0;
  std::array<uint64_t, PeerTable::kColumnsMax> cells{};

  void Add(const PeerTable& table, const RowView& row) {
    ++rows;
    entities += row.entity;
    times += static_cast<uint64_t>(row.time_ms);
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (row.IsNull(i)) continue;
      cells[i] += table.columns[i].type == CellType::kText ? TextBits(row.Text(i))
                                                           : static_cast<uint64_t>(row.cells[i]);
    }
  }
  friend bool operator==(const RowSums&, const RowSums&) = default;
};

// Equal for equal sets of rows, and for others with a chance of 2^-64: the sum of one hash for each
// row, over its entity, time, nulls and every cell. What equality across engines is judged by.
struct RowDigest {
  uint64_t rows = 0;
  uint64_t sum = 0;

  void Add(const PeerTable& table, const RowView& row) {
    uint64_t hash = Mix(row.entity, static_cast<uint64_t>(row.time_ms));
    hash = Mix(hash, row.nulls);
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (row.IsNull(i)) continue;
      if (table.columns[i].type == CellType::kText) {
        for (const char byte : row.Text(i)) hash = Mix(hash, static_cast<unsigned char>(byte));
        hash = Mix(hash, row.Text(i).size());
      } else {
        hash = Mix(hash, static_cast<uint64_t>(row.cells[i]));
      }
    }
    ++rows;
    sum += hash;
  }
  friend bool operator==(const RowDigest&, const RowDigest&) = default;

 private:
  // The finalizer of splitmix64 over both.
  static uint64_t Mix(uint64_t hash, uint64_t value) {
    uint64_t z = hash * 0x9e3779b97f4a7c15ull + value + 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
};

}  // namespace cistern::bench

#endif  // CISTERN_BENCH_PEERS_ROW_SUMS_H_
