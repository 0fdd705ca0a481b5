// TextTrainer: finds out whether a trained dictionary pays for one column of text, and trains it.
#ifndef CISTERN_ENGINE_SEAL_TEXT_TRAINER_H_
#define CISTERN_ENGINE_SEAL_TEXT_TRAINER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "cistern/column_data.h"
#include "lib/base/memory_budget.h"
#include "lib/codec/zstd_dictionary.h"

namespace cistern {

// Gathers samples of what is sealed, trains on three quarters of them, and keeps the result only if
// the last quarter gets smaller by it. Then it rests, and tries again later: what a column says
// changes with the firmware of who says it. One thread.
class TextTrainer {
 public:
  // Samples: so much of the beginning of a page, until there is so much of all, in cells that are
  // not empty; or so many of these, however short they are.
  static constexpr size_t kSampleBytes = 4 * 1024;
  static constexpr size_t kSamplesBytes = 128 * 1024;
  static constexpr size_t kSampleCellsMax = 32 * 1024;
  // Pages that it passes over after a training; twice as many each time that nothing came of it.
  static constexpr size_t kRestPages = 4096;
  static constexpr int kRestDoublingsMax = 6;

  // Looks at a column of what is to be a page.
  void Note(const ColumnData& column);
  [[nodiscard]] bool IsDue() const {
    return samples_.heap.size() >= kSamplesBytes || samples_.size() >= kSampleCellsMax;
  }
  // REQUIRES: IsDue(). Takes kTrainingBytes of the budget meanwhile; where they are not left, it
  // rests. Some 20 to 50 ms of a desktop's CPU.
  void Train(MemoryBudget* budget);
  // Takes over what was trained in another run; it is judged by the next training.
  void Adopt(std::shared_ptr<const ZstdDictionary> dictionary);
  // Forgets the samples and rests.
  void Rest();
  // The same, and longer each time until a training comes to something.
  void RestLonger();
  // Forgets the dictionary, for which there is no memory, and rests longer.
  void Forget();

  // Null: none pays.
  [[nodiscard]] const std::shared_ptr<const ZstdDictionary>& dictionary() const {
    return dictionary_;
  }
  // What it saves of a page's text of so many bytes, about; beside none, and beside another one: of
  // which only the one before is known, and else nothing is saved.
  [[nodiscard]] double SavedBytes(size_t text_bytes) const;
  [[nodiscard]] double SavedBytesBeside(const ZstdDictionary& other, size_t text_bytes) const;
  [[nodiscard]] size_t MemoryBytes() const;

 private:
  struct Sizes {
    size_t plain = 0;
    size_t as_before = 0;  // with dictionary_
    size_t trained = 0;    // with what was trained now
    size_t text = 0;
  };
  [[nodiscard]] std::shared_ptr<const ZstdDictionary> TrainOnSome() const;
  [[nodiscard]] std::vector<std::string_view> CellsOf(size_t page) const;
  [[nodiscard]] Sizes Compare(const std::shared_ptr<const ZstdDictionary>& trained) const;
  void Judge(std::shared_ptr<const ZstdDictionary> trained);

  ColumnData samples_{.lane = Lane::kBytes, .fixed = {}, .offsets = {}, .heap = {}, .states = {}};
  std::vector<size_t> page_ends_;  // in cells of them
  size_t pages_to_rest_ = 0;
  int rest_doublings_ = 0;
  std::shared_ptr<const ZstdDictionary> dictionary_;
  double saved_share_ = 0;                // of the bytes of text
  double saved_share_beside_former_ = 0;  // the same
  uint64_t former_checksum_ = 0;          // of its bytes; 0: there was none
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_SEAL_TEXT_TRAINER_H_
