// RowMapper: which cell of a record becomes which column of a table.
#ifndef CISTERN_TOOLS_ROW_MAPPER_H_
#define CISTERN_TOOLS_ROW_MAPPER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/clock.h"
#include "cistern/result.h"
#include "cistern/row_batch.h"
#include "cistern/schema.h"
#include "tools/number_text.h"
#include "tools/record_reader.h"
#include "tools/time_steps.h"
#include "tools/time_sum.h"
#include "tools/time_text.h"

namespace cistern::tool {

struct MappingOptions {
  std::vector<std::string> maps;     // "SOURCE=COLUMN" or "{a}-{b}=COLUMN"
  std::vector<std::string> sets;     // "COLUMN=VALUE", with {stem}
  std::vector<std::string> ignores;  // names of cells to leave out, or "a,b"
  std::vector<std::string> null_tokens;
  bool null_deletes = false;         // missing cells delete instead of being absent
  char decimal = '.';                // before the decimals of numbers; ',' elsewhere
  NonFinite non_finite = NonFinite::kStore;
  bool trailing_delimiter = false;   // every csv record ends with a delimiter, the header or not
  std::string time_sum;              // the event time as a TimeSum; empty: none
  std::optional<TimeSteps> time_steps;  // the event time by the record's number
  std::optional<uint32_t> ttl_s;     // of rows to which ttl_from gives none
  std::string ttl_from;              // the cell that has the row's time to live; empty: none
  TimeFormat time;
  bool time_unit_given = false;          // by --time-unit: what numbers count is not doubted
  std::shared_ptr<Clock> arrival_clock;  // gives rows without an event time one; nullptr: none
};

// Made once for each input. One thread at a time.
class RowMapper {
 public:
  // `stem` stands for {stem}; nullopt when it is not known (standard input), then using it is
  // an error. kInvalidArgument names the option and what there is to choose from.
  [[nodiscard]] static Result<RowMapper> Make(std::shared_ptr<const TableSchema> schema,
                                              const MappingOptions& options,
                                              const std::optional<std::string>& stem);

  // For formats with a header: cell i of every record is called names[i]. A cell without a name is
  // called by its place, "#3". Those at the end that no option names must be empty.
  [[nodiscard]] Status BindHeader(const std::vector<std::string>& names);

  // Every name of a cell that an option or a column knows. A reader of nested values opens those
  // that a name leads into.
  [[nodiscard]] std::vector<std::string> CellNames() const;

  // Appends one row to `batch`, or nothing: kInvalidArgument, kOutOfRange, kTooLarge say why.
  [[nodiscard]] Status AddRow(const Record& record, RowBatch* batch);

  // The cells to leave out that no record had so far: mistyped, or the input is another.
  [[nodiscard]] std::vector<std::string> UnmetIgnores() const;

  // The event time of the last row that was tried, as it was written but without blanks around it,
  // if it is a number, not below 0, and no option says what it counts or from when. Valid until the
  // next row.
  struct BareTime {
    std::string_view number;
    TimeUnit unit = TimeUnit::kSeconds;  // for which it is taken
  };
  [[nodiscard]] std::optional<BareTime> BareTimeNumber() const;
  // Whether the last row that was tried had an event time of its own.
  [[nodiscard]] bool HadTime() const { return had_time_; }
  // True if the last row that was tried was refused for the unit of a number, in a column of times
  // that is not the event time. The rows that follow would look the same.
  [[nodiscard]] bool IsUnitDoubted() const { return unit_doubted_; }
  // True if rows without one get the time at which they are read.
  [[nodiscard]] bool GivesArrivalTimes() const { return options_.arrival_clock != nullptr; }

  // Whether a key column takes the cell of this name, by itself or joined with others.
  [[nodiscard]] bool IsInKey(std::string_view cell) const;

 private:
  // A named part of the input and the columns that take it as it is.
  struct Source {
    std::string name;
    std::vector<size_t> columns;
    std::string needed_by;  // an option: its absence from a header is an error
  };
  struct Piece {
    std::string literal;
    std::optional<size_t> source;
  };
  struct Template {
    size_t column = 0;
    std::vector<Piece> pieces;
  };
  struct Constant {
    size_t column = 0;
    std::string text;
  };
  static constexpr size_t kIgnored = SIZE_MAX;
  static constexpr size_t kUnnamed = SIZE_MAX - 1;  // behind the last named cell: empty

  RowMapper() = default;
  Status AddMap(const std::string& text, const std::optional<std::string>& stem);
  Status AddSet(const std::string& text, const std::optional<std::string>& stem);
  void AddIgnores(const std::string& names);
  Status AddTimeSum();
  Status AddTtlFrom();
  // The event time is made by `option`, from something else than one cell.
  Status ClaimTimeColumn(std::string_view option);
  Status CheckTimeIsNumber(std::string_view option) const;
  void AddDefaults();
  Result<size_t> TargetColumn(std::string_view name, std::string_view option);
  Result<std::vector<Piece>> ParseTemplate(std::string_view text,
                                           const std::optional<std::string>& stem,
                                           bool sources_allowed);
  size_t SourceNamed(std::string_view name);
  // The source that a name of the input stands for; kIgnored; nullopt when unknown.
  std::optional<size_t> Find(std::string_view name) const;
  // The entry of ignored_ that leaves out `name`, or what it is nested in.
  std::map<std::string, bool, std::less<>>::iterator IgnoredName(std::string_view name);
  Status Unknown(std::string_view name) const;
  Status UnknownNested(std::string_view name) const;
  Status CheckConstants() const;
  // Of a header that is bound: what it lacks. `seen`: by source, whether it has it.
  Status CheckIgnores(const std::vector<std::string>& names);
  Status CheckMaps(const std::vector<std::string>& names, const std::vector<bool>& seen) const;
  Status CheckKeys(const std::vector<std::string>& names, const std::vector<bool>& seen) const;
  std::string ColumnNames() const;

  Status GatherCells(const Record& record);
  Status GatherByHeader(const Record& record);
  Status WrongCount(const Record& record) const;
  Status HasNoName(size_t i, std::string_view text) const;
  bool IsMissing(const Cell& cell) const;
  Status SetText(size_t column, std::string_view text, RowBatch* batch);
  Status CheckUnitOf(size_t column, std::string_view text);
  // As SetText, for what an input has: its numbers may have a comma before their decimals.
  Status SetCellText(size_t column, std::string_view text, RowBatch* batch);
  Status SetCell(size_t column, const Cell& cell, RowBatch* batch);
  Status SetTemplate(const Template& t, RowBatch* batch);
  Status SetTime(const Record& record, RowBatch* batch);
  Result<Instant> SummedTime();
  // Whether `text` is NaN or an infinity of a column that holds numbers or times.
  bool IsNonFiniteCell(size_t column, std::string_view text) const;
  Status SetArrivalTime(RowBatch* batch);
  Status SetTtl(RowBatch* batch);
  Result<std::optional<uint32_t>> TtlOfCell();

  std::shared_ptr<const TableSchema> schema_;
  MappingOptions options_;
  std::vector<Source> sources_;
  std::map<std::string, size_t, std::less<>> by_name_;
  std::map<std::string, size_t, std::less<>> by_lower_name_;  // columns by their own name only
  std::map<std::string, bool, std::less<>> ignored_;  // true: a record had it
  std::vector<std::string> fed_by_;  // by column: "--map" or "--set"; empty: by its own name
  std::vector<Template> templates_;
  std::vector<Constant> constants_;
  std::optional<TimeSum> time_sum_;
  std::vector<size_t> time_sources_;  // of the sum's cells
  std::optional<size_t> ttl_source_;

  bool has_header_ = false;
  std::vector<size_t> positions_;    // by cell: source, kIgnored or kUnnamed
  size_t header_cells_ = 0;
  std::vector<const Cell*> cells_;   // by source, of the record at hand
  std::string joined_;
  std::string number_;               // with a point for its comma
  std::vector<std::string> time_numbers_;
  std::vector<std::string_view> time_cells_;
  bool had_time_ = false;            // a cell or a constant of the last row
  std::string time_text_;            // as which its event time was written
  std::vector<bool> unit_known_;     // by column: the unit of its numbers is not doubted any more
  bool unit_doubted_ = false;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_ROW_MAPPER_H_
