// The recipes of the golden segments: rows that are the same on every machine, of which today's
// writer makes the files in tests/golden/segments. README.md says what may become of them.
#ifndef CISTERN_TESTS_GOLDEN_RECIPE_H_
#define CISTERN_TESTS_GOLDEN_RECIPE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/schema.h"
#include "lib/row/version_columns.h"

namespace cistern::testing {

// Where the event times of most recipes begin, and the ends of 64 bits.
inline constexpr int64_t kStartMs = 1'721'900'000'000;
inline constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

// Numbers from a recurrence that is the same everywhere.
class Steps {
 public:
  int64_t Below(uint64_t bound) { return static_cast<int64_t>((Next() >> 33) % bound); }
  // All 64 bits.
  uint64_t Bits() {
    const uint64_t high = Next();
    return (high & 0xffff'ffff'0000'0000) | Next() >> 32;
  }

 private:
  uint64_t Next() { return state_ = state_ * 6364136223846793005u + 1442695040888963407u; }
  uint64_t state_ = 42;
};

// The rows of a golden segment on their way. A row is begun and then filled, column by column in
// declared order.
class GoldenRows {
 public:
  explicit GoldenRows(std::shared_ptr<const TableSchema> schema)
      : schema_(std::move(schema)), rows_(VersionColumns::For(*schema_)) {
    while (!IsStored(first_)) ++first_;
  }

  struct Version {
    uint8_t flags = kVersionLiveness;
    uint32_t expiry_s = 0;
    uint32_t boot = 0;
  };
  void Begin(int64_t write_us, Version version) {
    rows_.write_us.push_back(write_us);
    rows_.flags.push_back(version.flags);
    rows_.expiry_s.push_back(version.expiry_s);
    rows_.boot.push_back(version.boot);
    ++rows_.row_count;
    next_ = first_;
  }
  void Begin(int64_t write_us) { Begin(write_us, Version()); }

  GoldenRows& Number(int64_t value) {
    NextColumn().AppendFixed(value);
    return *this;
  }
  GoldenRows& Double(double value);
  GoldenRows& Float(float value);
  GoldenRows& Text(std::string_view bytes) {
    NextColumn().AppendBytes(bytes);
    return *this;
  }
  GoldenRows& Absent() { return Missing(CellState::kAbsent); }
  GoldenRows& Null() { return Missing(CellState::kNull); }
  void Delete(const RangeDelete& d) { deletes.push_back(d); }

  [[nodiscard]] const TableSchema& schema() const { return *schema_; }
  [[nodiscard]] const VersionColumns& rows() const { return rows_; }

  // Of the header.
  std::vector<RangeDelete> deletes;
  uint32_t schema_version = 1;
  uint64_t journal_first = 7000;
  uint64_t journal_last = 7003;

 private:
  [[nodiscard]] bool IsStored(size_t c) const {
    const ColumnRole role = schema_->columns[c].role;
    return role == ColumnRole::kClustering || role == ColumnRole::kRegular;
  }
  ColumnData& NextColumn() { return rows_.columns[next_++]; }
  GoldenRows& Missing(CellState state) {
    NextColumn().AppendMissing(state);
    return *this;
  }

  std::shared_ptr<const TableSchema> schema_;
  VersionColumns rows_;
  size_t first_ = 0;  // column that is stored: keys of the partition are declared before
  size_t next_ = 0;
};

struct GoldenRecipe {
  const char* name;  // of its files
  const char* cql;   // the table
  void (*fill)(GoldenRows* rows);
  size_t page_rows_max = 4096;
  bool has_zstd = false;  // the bytes depend on the version of libzstd too
  // The page of all rows, by hand: with forms that a reader takes and today's writer never chooses.
  std::string (*page)() = nullptr;
  bool is_trained = false;  // its texts go with the golden dictionary
};

// A line of what the golden dictionary was trained on.
[[nodiscard]] std::string GoldenLine(Steps* steps);

// The rows of a recipe.
[[nodiscard]] GoldenRows FilledRows(const GoldenRecipe& recipe);

// All of them, by kind.
[[nodiscard]] std::span<const GoldenRecipe> ValueRecipes();    // codecs and types
[[nodiscard]] std::span<const GoldenRecipe> VersionRecipes();  // times, deletes, expiry, statistics
[[nodiscard]] std::vector<GoldenRecipe> GoldenRecipes();

// The segment file of a recipe, as today's writer writes it.
[[nodiscard]] std::string MakeSegment(const GoldenRecipe& recipe);

// The manifest of one of them, and the name of that one.
inline constexpr const char* kManifestOf = "pages";
[[nodiscard]] std::string MakeManifest();

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_GOLDEN_RECIPE_H_
