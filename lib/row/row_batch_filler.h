// RowBatchFiller: fills a RowBatch with rows that need no checks, as the journal's
// decoder does. Not for callers' data.
#ifndef CISTERN_ROW_ROW_BATCH_FILLER_H_
#define CISTERN_ROW_ROW_BATCH_FILLER_H_

#include <cstdint>
#include <string_view>

#include "cistern/row_batch.h"

namespace cistern {

// slots() and states() stay valid until the next AddRow, bytes_of() until the next AddBytes. One
// thread at a time.
class RowBatchFiller {
 public:
  // `batch` must outlive the filler and have no open row.
  explicit RowBatchFiller(RowBatch* batch) : batch_(batch) {}

  // Adds a row of absent cells. Cells are set through slots() and states().
  void AddRow(RowKind kind) {
    RowBatch& b = *batch_;
    b.AddEmptyRow(kind);
    ++b.row_count_;
  }
  // The last row's cells.
  [[nodiscard]] int64_t* slots() {
    return batch_->slots_.data() + (batch_->row_count_ - 1) * batch_->width_;
  }
  [[nodiscard]] CellState* states() {
    return batch_->states_.data() + (batch_->row_count_ - 1) * batch_->state_width_;
  }
  // Stores bytes and returns the slot that names them.
  [[nodiscard]] int64_t AddBytes(std::string_view value) {
    return batch_->AddBytes(value);
  }
  // Another slot's bytes may be named again within the same batch.
  [[nodiscard]] std::string_view bytes_of(int64_t slot) const {
    const auto s = static_cast<uint64_t>(slot);
    return batch_->heap_.view().substr(s >> 32, s & 0xffffffffu);
  }

 private:
  RowBatch* batch_;
};

}  // namespace cistern

#endif  // CISTERN_ROW_ROW_BATCH_FILLER_H_
