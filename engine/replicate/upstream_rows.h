// UpstreamRows: the answers to ProofStatement::kRows as rows, one behind another.
#ifndef CISTERN_ENGINE_REPLICATE_UPSTREAM_ROWS_H_
#define CISTERN_ENGINE_REPLICATE_UPSTREAM_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cistern/result.h"
#include "engine/cql/response.h"
#include "engine/cql/rows.h"
#include "engine/replicate/page_watch.h"
#include "engine/replicate/row_key.h"

namespace cistern::replicate {

// What a client can see of a cell that lives.
struct UpstreamCell {
  cql::CellView value;  // nothing: there is none that lives
  // Neither is told of a collection that is not frozen.
  int64_t write_us = 0;
  std::optional<int32_t> ttl_s;  // what was left when the cluster answered; nothing: for ever
};

struct UpstreamRow {
  RowKey key;
  std::vector<UpstreamCell> cells;  // by the schema's regular columns
};

// Holds the bytes of one answer. One thread at a time.
class UpstreamRows {
 public:
  // `schema` must outlive it.
  explicit UpstreamRows(const TableSchema& schema) : schema_(schema) {}

  // Forgets all: the first page comes next.
  void Clear();
  // Copies the next page. kCorruption: it is none of kRows, or leads to no end (page_watch.h).
  [[nodiscard]] Status Take(const cql::RowsResult& page);
  // Goes to the next row; false: the page has no more. Rows of which a part of the key is no value
  // of its type are passed over: such a row is none of ours.
  //   kCorruption  a cell is not what it should be, or the rows are not in the declared order
  [[nodiscard]] Result<bool> Next();
  // The one that Next found; its values live until the next Take.
  [[nodiscard]] const UpstreamRow& row() const { return row_; }

  // Of the page that was taken last.
  [[nodiscard]] bool has_more_pages() const { return has_more_pages_; }
  [[nodiscard]] const std::string& paging_state() const { return paging_state_; }

 private:
  [[nodiscard]] bool ReadKey();
  [[nodiscard]] Status ReadCells();
  [[nodiscard]] Status Bad(const std::string& what) const;

  const TableSchema& schema_;
  std::string bytes_;
  std::optional<cql::RowReader> reader_;
  bool has_more_pages_ = false;
  std::string paging_state_;
  PageWatch watch_;
  UpstreamRow row_;
  RowKey next_key_;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_UPSTREAM_ROWS_H_
