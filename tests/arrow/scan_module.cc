// A scan of a real store behind functions of C, for pyarrow_test.py: batches as record batches, as
// those of a RowBatch, and as a stream. It has the structures from another header than Cistern's.
#include "tests/arrow/foreign_abi.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/cistern.h"

using cistern::ColumnData, cistern::ColumnRole, cistern::Cursor, cistern::Engine;
using cistern::EngineOptions, cistern::ResultBatch, cistern::RowBatch, cistern::ScanRequest;
using cistern::Status, cistern::TableSchema;

static_assert(CISTERN_TESTS_ABI_IS_FOREIGN, "or this shows nothing of the guards");

struct Scan {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Cursor> cursor;
  std::string error;
};

namespace {

constexpr char kSeparator = '\x1f';

std::vector<std::string> Split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = text.find(kSeparator);
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

Status Begin(const std::string& store, const std::string& entity, ScanRequest request, Scan* scan) {
  EngineOptions options;
  options.read_only = true;
  CISTERN_ASSIGN_OR_RETURN(scan->engine, Engine::Open(store, options));
  CISTERN_ASSIGN_OR_RETURN(const auto schema, scan->engine->FindTable(request.table));
  const std::vector<std::string> texts = Split(entity);
  const std::vector<std::string_view> parts(texts.begin(), texts.end());
  CISTERN_ASSIGN_OR_RETURN(request.entity, cistern::EntityFromText(*schema, parts));
  CISTERN_ASSIGN_OR_RETURN(scan->cursor, scan->engine->Scan(request));
  return Status::Ok();
}

// The rows of a batch of all columns, as a writer would set them.
Status ToRows(const TableSchema& schema, const ResultBatch& batch, RowBatch* rows) {
  if (batch.row_count == 0) return Status::Ok();
  std::vector<size_t> columns;
  std::vector<const ColumnData*> data;
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const ColumnRole role = schema.columns[c].role;
    if (role == ColumnRole::kBucket || role == ColumnRole::kSplit) continue;
    columns.push_back(c);
    data.push_back(&batch.columns[c]);
  }
  return rows->AppendColumns(columns, data);
}

// The next batch as it is, or by way of a RowBatch, which is empty at the end.
cistern::Result<bool> Next(Scan* scan, bool as_rows, ArrowSchema* schema, ArrowArray* array) {
  const TableSchema& table = *scan->cursor->schema();
  const std::vector<size_t>& columns = scan->cursor->columns();
  ResultBatch batch;
  const bool more = scan->cursor->Next(&batch);
  CISTERN_RETURN_IF_ERROR(scan->cursor->status());
  if (as_rows) {
    RowBatch rows(scan->cursor->schema());
    CISTERN_RETURN_IF_ERROR(ToRows(table, batch, &rows));
    CISTERN_RETURN_IF_ERROR(cistern::ExportArrowRows(rows, schema, array));
  } else if (more) {
    CISTERN_RETURN_IF_ERROR(cistern::ExportArrowSchema(table, columns, schema));
    CISTERN_RETURN_IF_ERROR(cistern::ExportArrowBatch(table, columns, std::move(batch), array));
  }
  return more;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

// Never null: scan_error tells whether it can be used. Parts of the entity and names of columns
// stand with 0x1f between them; no column: all.
Scan* scan_open(const char* store, const char* table, const char* entity, int64_t from, int64_t to,
                const char* columns, uint64_t batch_rows) {
  ScanRequest request;
  request.table = table;
  request.from = from;
  request.to = to;
  request.columns = Split(columns);
  request.batch_rows_max = batch_rows;
  auto scan = std::make_unique<Scan>();
  const Status s = Begin(store, entity, std::move(request), scan.get());
  if (!s.ok()) scan->error = s.ToString();
  return scan.release();
}

// Empty: nothing went wrong so far.
const char* scan_error(const Scan* scan) { return scan->error.c_str(); }

// 1: a batch; 0: the end, with an empty batch where as_rows is set; -1: an error.
int scan_next(Scan* scan, int as_rows, ArrowSchema* schema, ArrowArray* array) {
  const auto more = Next(scan, as_rows != 0, schema, array);
  if (!more.ok()) scan->error = more.status().ToString();
  return more.ok() ? static_cast<int>(*more) : -1;
}

// Takes what is left of the scan. 0, or -1: an error.
int scan_stream(Scan* scan, ArrowArrayStream* stream) {
  const Status s = cistern::ExportArrowStream(std::move(scan->cursor), stream);
  if (!s.ok()) scan->error = s.ToString();
  return s.ok() ? 0 : -1;
}

void scan_close(Scan* scan) { delete scan; }

#pragma GCC visibility pop
}  // extern "C"
