// Rows of a RESULT: their columns, and cells read where they lie.
//
// Metadata of rows:
//
//   [int] flags (metadata_flag), [int] column count
//   [bytes] paging state where flagged, v5: [short bytes] new metadata id where flagged
//   unless there is no metadata: [string] keyspace, [string] table once where flagged, then of each
//   column: keyspace and table unless given, [string] name, [option] type
//
// Then [int] row count and so many times a [bytes] for each column.
//
// Source: native_protocol_v5.spec section 4.2.5.2; ResultSet of Apache Cassandra 5.0.
#ifndef CISTERN_CQL_ROWS_H_
#define CISTERN_CQL_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "engine/cql/protocol.h"
#include "engine/cql/wire_reader.h"

namespace cistern::cql {

// A column of a result, or a marker of a statement.
struct ColumnMetadata {
  std::string name;
  // As CQL writes it, without `frozen`, which the protocol does not tell: "bigint",
  // "map<text, int>", "tuple<int, text>". A type of the user is its keyspace and name, a custom
  // one its class in quotes.
  std::string type;
  friend bool operator==(const ColumnMetadata&, const ColumnMetadata&) = default;
};

struct RowsMetadata {
  std::string keyspace;  // of the first column
  std::string table;
  std::vector<ColumnMetadata> columns;  // empty when left out: use those of PREPARED
  size_t column_count = 0;
  bool has_more_pages = false;
  std::string paging_state;     // to be sent for the next page
  std::string new_metadata_id;  // v5: the columns have changed; keep both for what is sent next
};

// A null cell has no value; an empty value is one.
using CellView = std::optional<std::string_view>;

// All rows of one answer, checked when they were decoded. A view: it lives as long as the body
// of its envelope, unless it is kept with a copy of the bytes.
class RowsView {
 public:
  RowsView() = default;
  // `cells`: row_count * column_count [bytes], as ReadRows checked them.
  RowsView(std::string_view cells, size_t row_count, size_t column_count)
      : cells_(cells), row_count_(row_count), column_count_(column_count) {}

  [[nodiscard]] size_t row_count() const { return row_count_; }
  [[nodiscard]] size_t column_count() const { return column_count_; }
  // All cells as they came.
  [[nodiscard]] std::string_view cells() const { return cells_; }

 private:
  std::string_view cells_;
  size_t row_count_ = 0;
  size_t column_count_ = 0;
};

// Goes through rows, first to last:
//
//   RowReader rows(result.rows);
//   while (rows.Next()) use rows[column]
class RowReader {
 public:
  explicit RowReader(const RowsView& rows);
  // The next row; false: there is none.
  [[nodiscard]] bool Next();
  // Of the row that Next found; column < column_count.
  [[nodiscard]] const CellView& operator[](size_t column) const { return row_[column]; }

 private:
  WireReader cells_;
  size_t rows_left_;
  std::vector<CellView> row_;
};

// Reads an [option] and appends the type's text. Sets the reader's error beyond
// limits::kCqlTypeDepthMax and limits::kCqlTypeBytesMax.
void ReadColumnType(WireReader* reader, std::string* text);

// Reads metadata as RESULT of kind Rows has them; of a PREPARED answer the second of the two.
[[nodiscard]] RowsMetadata ReadRowsMetadata(WireReader* reader);

// Reads an [int] from 0 to limits::kCqlColumnCountMax.
[[nodiscard]] size_t ReadColumnCount(WireReader* reader);

// Reads the names and types of columns, as `flags` say, into *metadata, which has its count.
void ReadColumns(WireReader* reader, uint32_t flags, RowsMetadata* metadata);

// Reads what follows metadata. Every length is checked here, so that RowReader cannot fail.
[[nodiscard]] RowsView ReadRows(WireReader* reader, size_t column_count);

}  // namespace cistern::cql

#endif  // CISTERN_CQL_ROWS_H_
