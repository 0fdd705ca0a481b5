// StateMask: looks at the states of a whole row, eight cells at a time.
#ifndef CISTERN_ROW_STATE_MASK_H_
#define CISTERN_ROW_STATE_MASK_H_

#include <cstdint>
#include <cstring>
#include <vector>

#include "cistern/row_batch.h"

namespace cistern {

// A choice of a table's columns. Rows are those of RowBatch::states: padded to whole words.
class StateMask {
 public:
  explicit StateMask(size_t column_count) : bytes_(RowBatch::PaddedWidth(column_count), 0) {}
  void Add(size_t column) { bytes_[column] = 0xff; }
  // Whether a chosen cell has no value (a value's state is 0).
  [[nodiscard]] bool AnyMissing(const CellState* row) const {
    uint64_t missing = 0;
    for (size_t i = 0; i < bytes_.size(); i += sizeof(uint64_t)) {
      uint64_t states;
      uint64_t mask;
      std::memcpy(&states, row + i, sizeof(states));
      std::memcpy(&mask, bytes_.data() + i, sizeof(mask));
      missing |= states & mask;
    }
    return missing != 0;
  }

 private:
  static_assert(CellState::kValue == CellState{0});
  std::vector<uint8_t> bytes_;
};

}  // namespace cistern

#endif  // CISTERN_ROW_STATE_MASK_H_
