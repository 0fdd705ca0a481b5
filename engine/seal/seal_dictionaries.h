// SealDictionaries: which columns of text are sealed with a trained dictionary, and which windows
// have it.
#ifndef CISTERN_ENGINE_SEAL_SEAL_DICTIONARIES_H_
#define CISTERN_ENGINE_SEAL_SEAL_DICTIONARIES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/seal/text_trainer.h"
#include "lib/base/memory_budget.h"
#include "storage/spill_set.h"
#include "storage/spill_writer.h"
#include "storage/table_set.h"

namespace cistern {

// A dictionary lives in each window whose pages name it, so it goes with the window, and damage of
// it is damage of that window alone. A window gets one when its pages would have saved by now what
// it takes there: so it never costs more than twice what the best choice would have. All of it in
// memory stays within a part of the budget; columns that find no room there go without.
//
// Belongs to the sealer. One thread.
class SealDictionaries {
 public:
  explicit SealDictionaries(MemoryBudget* budget)
      : budget_(budget), bytes_max_(budget->limit_bytes() / kPartOfBudget), charge_(budget) {}

  // A round begins that writes into a window of the view, or into a new one.
  void Begin(std::shared_ptr<const SpillView> view, std::shared_ptr<const SegmentFamily> window);
  // Before rows are added to the writer's segment at hand, which is of the table's last version.
  // Errors are those of reading and writing; a damaged dictionary is one that is not there.
  [[nodiscard]] Status Serve(uint32_t table_id, const TableSchema& schema,
                             const VersionColumns& rows, SpillWriter* writer);
  // No window gets another one in this opening: the device does not give back what was written.
  void WriteNoMore() { may_write_ = false; }
  // What the round has written: to be named by the window's record, or nothing.
  [[nodiscard]] const std::vector<WindowDictionary>& written() const { return written_; }
  // With those that the window has already.
  [[nodiscard]] const std::vector<WindowDictionary>& known() const { return known_; }
  // The round is over, whether it came to something or not.
  void End();

 private:
  struct Column {
    TextTrainer trainer;
    NumberedDictionary in_window;  // of the window at hand; null: none that could be taken
    bool is_left_aside = false;    // the window has one, and memory is short
    uint64_t missed_window = 0;
    double missed_bytes = 0;  // what pages of that window would have saved
  };
  using Name = std::pair<uint32_t, std::string>;  // table, column

  [[nodiscard]] Result<Column*> FindColumn(const Name& name);
  [[nodiscard]] Status AdoptNewest(const Name& name, TextTrainer* trainer);
  void Train(TextTrainer* trainer);
  [[nodiscard]] Status FindInWindow(const Name& name, Column* column);
  [[nodiscard]] Status ServeColumn(const Name& name, const ColumnData& cells, Column* column,
                                   SpillWriter* writer);
  [[nodiscard]] bool IsDueIn(size_t text_bytes, Column* column) const;
  [[nodiscard]] size_t MemoryBytes() const;
  [[nodiscard]] bool TryCharge(size_t bytes) {
    return bytes <= bytes_max_ && charge_.TrySet(bytes);
  }
  void Charge(Column* column);

  static constexpr size_t kPartOfBudget = 16;
  static constexpr size_t kAdoptTriesMax = 4;  // of dictionaries that turn out to be damaged
  MemoryBudget* const budget_;
  const size_t bytes_max_;
  MemoryCharge charge_;
  std::map<Name, Column> columns_;
  bool may_write_ = true;
  // The round.
  std::shared_ptr<const SpillView> view_;
  std::shared_ptr<const SegmentFamily> window_;
  std::map<Name, uint64_t> numbers_;  // the newest of each column in the window
  std::vector<WindowDictionary> written_;
  std::vector<WindowDictionary> known_;
  size_t room_ = 0;  // for more in the window
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_SEAL_SEAL_DICTIONARIES_H_
