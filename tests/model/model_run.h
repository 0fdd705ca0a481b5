// ModelRun: random operations on an engine and on the model, compared all along.
#ifndef CISTERN_TESTS_MODEL_MODEL_RUN_H_
#define CISTERN_TESTS_MODEL_MODEL_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cistern/cistern.h"
#include "tests/model/random_tables.h"
#include "tests/support/fake_clock.h"
#include "tests/support/model.h"
#include "tests/support/rng.h"

namespace cistern::testing {

// What a run may do; derived from its seed, so that runs differ in kind (swarm).
struct ModelRunConfig {
  RowMix mix;
  bool range_deletes = true;
  bool bucket_deletes = true;
  bool seals = true;
  bool rotations = true;
  bool reopens = true;
  bool batches = true;
  bool columnar = true;
  bool alters = true;
  bool repeats = true;      // rows that were written a moment ago, once more
  bool clock_steps = true;  // seconds and minutes, so that rows expire
  size_t table_count = 0;
  EngineOptions options;  // from their whole range
  [[nodiscard]] static ModelRunConfig FromSeed(uint64_t seed);
  [[nodiscard]] std::string ToString() const;
};

// One store, from creation to the end. Every operation's randomness comes from (seed,
// operation number), so that leaving one out leaves the others much as they were.
class ModelRun {
 public:
  ModelRun(uint64_t seed, std::string directory);
  ~ModelRun();

  // Does operations 0..count-1 except those in `skip` (empty: none). Empty text, or what is
  // wrong, and then the number of the operation.
  [[nodiscard]] std::string Run(size_t count, const std::vector<bool>& skip, size_t* failed);
  [[nodiscard]] uint64_t rows_compared() const { return rows_compared_; }
  // Of a run that found nothing wrong.
  [[nodiscard]] uint64_t versions_expired() const { return versions_expired_; }
  [[nodiscard]] uint64_t windows_merged() const { return windows_merged_; }

 private:
  struct Table {
    std::string name;
    std::unique_ptr<RandomTable> random;
    std::unique_ptr<ModelTable> model;
    std::vector<WriteRow> recent;  // what was written last; it may come again as it is
  };

  std::string Open();
  std::string Reopen();
  std::string Step(Rng* rng);
  std::string Write(Rng* rng);
  std::string WriteColumns(Table* table, Rng* rng);
  std::string Submit(const RowBatch& batch, Rng* rng);
  std::string DeleteRange(Rng* rng);
  std::string DeleteRangeOf(Table* of, const std::string& entity, Rng* rng);
  std::string Seal(Rng* rng);
  std::string DeleteBucket(Rng* rng);
  std::string Alter(Rng* rng);
  std::string RotatePartly(Rng* rng);
  std::string Scan(Rng* rng);
  std::string ScanWhole(const Table& table, const std::string& entity);
  // One cursor of a scan in legs. Sets *done when the range or the limit is exhausted.
  std::string ScanLeg(const Table& table, ScanRequest* request, ClusteringKey* after,
                      uint64_t* returned, Rng* rng, bool* done);
  std::string CheckInventory();
  std::string CheckEntities(Rng* rng);
  std::string CheckVerify();
  // Whatever went before: what is due is sealed within a bound of steps, and all is as it was.
  std::string CheckDrains();
  std::string TickToRest();
  std::string OpenBuckets();  // for a person
  // Damages files of the closed store, one after the other, and compares what is left.
  std::string CheckDamage(Rng* rng);
  std::string CheckDamaged();
  std::string SealDamaged();
  std::string CheckGaps(const Table& table, const std::string& entity);
  // Applies a write's answer: an error text if it was refused.
  std::string Answered(const Result<WriteResult>& answer, Durability asked);

  Table& PickTable(Rng* rng) { return tables_[rng->Below(tables_.size())]; }
  [[nodiscard]] int64_t NowSeconds() const;
  // Takes care that the next `writes` write timestamps lie in one second.
  void MakeRoom(size_t writes);

  const uint64_t seed_;
  const std::string directory_;
  const ModelRunConfig config_;
  std::shared_ptr<FakeClock> clock_;
  std::vector<Table> tables_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Producer> producer_;
  uint64_t versions_written_ = 0;  // by the engine's count, known exactly but for range deletes
  uint64_t last_sequence_ = 0;
  uint64_t rows_compared_ = 0;
  uint64_t versions_expired_ = 0;  // gone with their windows
  uint64_t windows_merged_ = 0;
};

// Row `i` of a batch with these columns of the schema; the others are null.
VisibleRow RowOfBatch(const TableSchema& schema, const std::vector<size_t>& columns,
                      const ResultBatch& batch, size_t i);

// What is being done just now, for a handler of SIGABRT: async-signal-safe to read.
struct Progress {
  volatile uint64_t seed = 0;
  volatile uint64_t operation = 0;
};
extern Progress g_progress;

// A smaller set of operations that still fails: marks the others in *skip. Tries at most
// `tries` runs in fresh directories below `directory`.
void Shrink(uint64_t seed, const std::string& directory, size_t count, size_t tries,
            std::vector<bool>* skip);

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_MODEL_MODEL_RUN_H_
