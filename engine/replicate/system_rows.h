// Rows of a cluster's own tables, such as system_schema.tables: not many, read field by field.
#ifndef CISTERN_ENGINE_REPLICATE_SYSTEM_ROWS_H_
#define CISTERN_ENGINE_REPLICATE_SYSTEM_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/schema.h"
#include "cistern/status.h"

namespace cistern::replicate {

// An answer as it came, nothing of it believed.
struct SystemRows {
  struct Column {
    std::string name;
    std::string type;  // as protocol_name.h has it: "int", "map<text, text>"
  };
  std::vector<Column> columns;
  // A cell for each column: bytes as the native protocol serialises them, nothing for null.
  std::vector<std::vector<std::optional<std::string>>> rows;
};

// Reads the fields of such rows. The first that is not what it has to be fails the reader; from
// then on every field is empty or 0. Look at status() before anything is believed:
//
//   kCorruption  a column is missing, has another type, or a value is none of its type
//   kTooLarge    a value is beyond limits::kCellBytesMax
//
// Keeps a reference to the rows. One thread.
class SystemRowReader {
 public:
  // `table` names the rows in errors: "system_schema.tables".
  SystemRowReader(std::string_view table, const SystemRows& rows);

  // To the next row; false after the last, and after an error.
  [[nodiscard]] bool Next();

  // A null is an error of these: they are key columns, or Cassandra always fills them.
  [[nodiscard]] std::string Text(std::string_view column);
  [[nodiscard]] int32_t Int(std::string_view column);
  [[nodiscard]] bool Boolean(std::string_view column);
  [[nodiscard]] int64_t TimestampMs(std::string_view column);
  [[nodiscard]] double Double(std::string_view column);
  [[nodiscard]] std::string Uuid(std::string_view column);  // as text
  // Cassandra stores an empty collection as null.
  [[nodiscard]] std::map<std::string, std::string> TextMap(std::string_view column);
  [[nodiscard]] std::vector<std::string> TextSet(std::string_view column);
  [[nodiscard]] std::vector<std::string> TextList(std::string_view column);

  // Whether the column is there and has a value: other versions of Cassandra have other columns.
  [[nodiscard]] bool Has(std::string_view column) const;
  // The column's type as the protocol tells it; empty: there is no such column.
  [[nodiscard]] std::string_view TypeOf(std::string_view column) const;

  // An error of the row, unless there is one already. `what`: "its kind is 'odd'".
  void Fail(const std::string& what);
  [[nodiscard]] const Status& status() const { return failure_; }

 private:
  [[nodiscard]] std::optional<size_t> Find(std::string_view column) const;
  // The value's bytes, checked; nothing for null and after an error.
  [[nodiscard]] std::optional<std::string_view> Value(std::string_view column,
                                                      const ColumnType& type);
  [[nodiscard]] std::string_view Required(std::string_view column, CqlType kind);
  [[nodiscard]] std::vector<std::string> Texts(std::string_view column, const ColumnType& type);

  const std::string table_;
  const SystemRows& rows_;
  size_t next_row_ = 0;
  Status failure_;
};

// Text of a cluster without control characters, which could steer a terminal.
[[nodiscard]] std::string Printable(std::string_view text);
// The same in quotes, cut where it is long: a name in a message.
[[nodiscard]] std::string Shown(std::string_view text);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_SYSTEM_ROWS_H_
