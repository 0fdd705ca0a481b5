// ColumnData: the values of one column for a run of rows. Batches are made of these.
#ifndef CISTERN_COLUMN_DATA_H_
#define CISTERN_COLUMN_DATA_H_

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/schema.h"

namespace cistern {

// What a cell says. Absent leaves older versions alone (CQL's UNSET); null
// deletes the cell. The values are persistent.
enum class CellState : uint8_t { kValue = 0, kAbsent = 1, kNull = 2 };

// Values of one column, rows 0..n-1. Exactly one lane is filled:
//   kFixed  fixed[i], meaning as in schema.h; 0 where the cell is not a value
//   kBytes  heap[offsets[i] .. offsets[i+1]); empty where the cell is not a value
// `states` is empty when every cell is a value.
struct ColumnData {
  Lane lane = Lane::kFixed;
  std::vector<int64_t> fixed;
  std::vector<uint32_t> offsets;  // n + 1 entries on the bytes lane, first 0; else empty
  std::string heap;
  std::vector<CellState> states;

  [[nodiscard]] size_t size() const {
    return lane == Lane::kFixed ? fixed.size() : (offsets.empty() ? 0 : offsets.size() - 1);
  }
  [[nodiscard]] CellState state(size_t i) const {
    return states.empty() ? CellState::kValue : states[i];
  }
  [[nodiscard]] std::string_view bytes(size_t i) const {
    return std::string_view(heap).substr(offsets[i], offsets[i + 1] - offsets[i]);
  }
  [[nodiscard]] double AsDouble(size_t i) const { return std::bit_cast<double>(fixed[i]); }
  [[nodiscard]] float AsFloat(size_t i) const {
    return std::bit_cast<float>(static_cast<uint32_t>(fixed[i]));
  }
  // Heap bytes held, for budgets.
  [[nodiscard]] size_t MemoryBytes() const {
    return fixed.capacity() * sizeof(int64_t) + offsets.capacity() * sizeof(uint32_t) +
           heap.capacity() + states.capacity();
  }

  void AppendFixed(int64_t value) {
    fixed.push_back(value);
    if (!states.empty()) states.push_back(CellState::kValue);
  }
  void AppendBytes(std::string_view value) {
    if (offsets.empty()) offsets.push_back(0);
    heap.append(value);
    offsets.push_back(static_cast<uint32_t>(heap.size()));
    if (!states.empty()) states.push_back(CellState::kValue);
  }
  // Appends a cell without a value: kAbsent or kNull.
  void AppendMissing(CellState missing) {
    if (states.empty()) states.assign(size(), CellState::kValue);
    if (lane == Lane::kFixed) {
      fixed.push_back(0);
    } else {
      if (offsets.empty()) offsets.push_back(0);
      offsets.push_back(static_cast<uint32_t>(heap.size()));
    }
    states.push_back(missing);
  }
  // Copies cell `i` of `other`, which must have the same lane.
  void AppendFrom(const ColumnData& other, size_t i) {
    const CellState s = other.state(i);
    if (s != CellState::kValue) return AppendMissing(s);
    if (lane == Lane::kFixed) return AppendFixed(other.fixed[i]);
    AppendBytes(other.bytes(i));
  }
  // Keeps the first `count` cells; nothing if there are fewer.
  void Truncate(size_t count) {
    if (size() <= count) return;
    if (lane == Lane::kFixed) {
      fixed.resize(count);
    } else {
      offsets.resize(count + 1);
      heap.resize(offsets.back());
    }
    if (!states.empty()) states.resize(count);
  }
  void Clear() {
    fixed.clear();
    offsets.clear();
    heap.clear();
    states.clear();
  }
};

}  // namespace cistern

#endif  // CISTERN_COLUMN_DATA_H_
