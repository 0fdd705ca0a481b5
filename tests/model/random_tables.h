// RandomTable: a schema and rows that fit it, from a seed. The schemas together cover
// every kind of key, event time, bucket and split that Cistern has.
#ifndef CISTERN_TESTS_MODEL_RANDOM_TABLES_H_
#define CISTERN_TESTS_MODEL_RANDOM_TABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cistern/schema.h"
#include "tests/support/cell.h"
#include "tests/support/model.h"
#include "tests/support/rng.h"

namespace cistern::testing {

struct TableProfile {
  const char* cql;
  int64_t step_s;     // between rows that come in order
  bool unique_keys;   // a round-robin split: equal keys would be rows of two partitions
};

[[nodiscard]] const std::vector<TableProfile>& TableProfiles();

// A random value of a type.
[[nodiscard]] Cell RandomValue(const ColumnType& type, Rng* rng);

// What a run's swarm configuration leaves out.
struct RowMix {
  bool updates = true;
  bool nulls = true;
  bool absent = true;
  bool ttls = true;
  bool row_deletes = true;
  bool late = true;
  bool duplicates = true;
  bool ancient = true;  // event times around 1970 and at the ends of ISO years
};

// Makes rows for one table. Remembers the keys that it made, to write them again.
class RandomTable {
 public:
  RandomTable(std::shared_ptr<const TableSchema> schema, const TableProfile& profile,
              uint64_t seed);

  [[nodiscard]] WriteRow NextRow(const RowMix& mix, int64_t now_s, Rng* rng);
  // An event time near those that were written, in ticks.
  [[nodiscard]] int64_t RandomTime(int64_t now_s, Rng* rng) const;
  // Entity columns of a random entity at their places among all columns.
  [[nodiscard]] const std::vector<Cell>& RandomEntity(Rng* rng) const;
  [[nodiscard]] const TableSchema& schema() const { return *schema_; }
  // The table's CREATE TABLE text with a column more or less, in another order, with another
  // time to live. Columns that are dropped may come back.
  [[nodiscard]] std::string RandomAlteration(Rng* rng);
  // What it is declared as from now on.
  void Alter(std::shared_ptr<const TableSchema> next);

 private:
  [[nodiscard]] int64_t NextTime(const RowMix& mix, int64_t now_s, Rng* rng);
  void SetTime(int64_t ticks, Rng* rng, WriteRow* row) const;

  std::shared_ptr<const TableSchema> schema_;
  TableProfile profile_;
  std::vector<ColumnSpec> dropped_;
  std::vector<std::vector<Cell>> entities_;
  std::vector<std::vector<Cell>> known_;  // entity and clustering columns that were written
  int64_t last_s_ = 0;
  int64_t unique_ = 0;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_MODEL_RANDOM_TABLES_H_
