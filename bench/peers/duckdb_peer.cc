// DuckDB: a column store, by its C API; appended to by its Appender, one transaction a batch.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "bench/peers/duckdb/duckdb_api.h"
#include "bench/peers/peer.h"

namespace cistern::bench {

namespace {

constexpr const char* kTypeNames[] = {"DOUBLE", "INTEGER", "BOOLEAN", "VARCHAR"};  // by CellType
constexpr size_t kFirstColumn = 2;  // behind entity and ts
constexpr size_t kBitsOfWord = 64;  // of a vector's validity

std::string& LibraryPath() {
  static std::string path;
  return path;
}

std::string CreateSql(const PeerTable& table) {
  std::string sql = "CREATE TABLE IF NOT EXISTS r (entity INTEGER, ts BIGINT";
  for (const PeerColumn& column : table.columns) {
    sql += fmt::format(", {} {}", column.name, kTypeNames[static_cast<size_t>(column.type)]);
  }
  return sql + ")";
}

class DuckDbPeer : public Peer {
 public:
  DuckDbPeer(const PeerSetup& setup, const DuckDbApi* api) : table_(setup.table), api_(*api) {}

  ~DuckDbPeer() override {
    if (appender_ != nullptr) (void)api_.appender_destroy(&appender_);
    if (connection_ != nullptr) api_.disconnect(&connection_);
    if (database_ != nullptr) api_.close(&database_);
  }

  Status Open(const PeerSetup& setup) {
    const std::string path = setup.directory + "/rows.duckdb";
    if (api_.open(path.c_str(), &database_) != 0 || api_.connect(database_, &connection_) != 0) {
      return Status::IoError("DuckDB cannot open " + path);
    }
    CISTERN_RETURN_IF_ERROR(Run(CreateSql(table_)));
    if (api_.appender_create(connection_, nullptr, "r", &appender_) != 0) {
      return Status::IoError("DuckDB makes no appender");
    }
    return Status::Ok();
  }

  Status Append(const RowBlock& rows) override {
    int failed = 0;
    for (size_t i = 0; i < rows.size(); ++i) failed |= AppendRow(rows.Row(i));
    failed |= api_.appender_flush(appender_);
    return failed == 0 ? Status::Ok() : Status::IoError("DuckDB cannot append");
  }

  Status Settle() override { return Run("CHECKPOINT"); }

  Status ScanRows(RowVisitor* visitor) override { return Visit("", visitor); }
  Status ScanEntity(uint32_t entity, RowVisitor* visitor) override {
    return Visit(fmt::format(" WHERE entity = {}", entity), visitor);
  }

  Status ScanColumns(RowSums* sums) override {
    return Select("SELECT * FROM r", [&](DuckDb chunk, size_t rows) {
      sums->rows += rows;
      sums->entities += SumOf<int32_t>(chunk, 0, rows);
      sums->times += SumOf<int64_t>(chunk, 1, rows);
      for (size_t c = 0; c < table_.columns.size(); ++c) {
        sums->cells[c] += SumOfColumn(chunk, c, rows);
      }
    });
  }

  Result<PeerAggregate> Aggregate(uint32_t entity, size_t column) override {
    PeerAggregate result;
    const std::string sql = fmt::format(
        "SELECT count({0}), min({0})::DOUBLE, max({0})::DOUBLE, sum({0})::DOUBLE FROM r"
        " WHERE entity = {1}", table_.columns[column].name, entity);
    CISTERN_RETURN_IF_ERROR(Select(sql, [&](DuckDb chunk, size_t) {
      result.count = static_cast<uint64_t>(*DataOf<int64_t>(chunk, 0));
      if (result.count == 0) return;
      result.min = *DataOf<double>(chunk, 1);
      result.max = *DataOf<double>(chunk, 2);
      result.sum = *DataOf<double>(chunk, 3);
    }));
    return result;
  }

  Status DropBefore(int64_t time_ms) override {
    CISTERN_RETURN_IF_ERROR(Run(fmt::format("DELETE FROM r WHERE ts < {}", time_ms)));
    return Settle();
  }

 private:
  int AppendRow(const RowView& row) {
    int failed = api_.append_int32(appender_, static_cast<int32_t>(row.entity));
    failed |= api_.append_int64(appender_, row.time_ms);
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      if (row.IsNull(i)) {
        failed |= api_.append_null(appender_);
        continue;
      }
      switch (table_.columns[i].type) {
        case CellType::kDouble: failed |= api_.append_double(appender_, row.Double(i)); break;
        case CellType::kInt:
          failed |= api_.append_int32(appender_, static_cast<int32_t>(row.cells[i]));
          break;
        case CellType::kBool: failed |= api_.append_bool(appender_, row.cells[i] != 0); break;
        case CellType::kText: {
          const std::string_view text = row.Text(i);
          failed |= api_.append_varchar_length(appender_, text.data(), text.size());
          break;
        }
      }
    }
    return failed | api_.appender_end_row(appender_);
  }

  Status Run(const std::string& sql) {
    return Select(sql, [](DuckDb, size_t) {});
  }

  template <typename Take>
  Status Select(const std::string& sql, const Take& take) {
    DuckDbResult result{};
    Status status;
    if (api_.query(connection_, sql.c_str(), &result) == 0) {
      for (DuckDb chunk = api_.fetch_chunk(result); chunk != nullptr;
           chunk = api_.fetch_chunk(result)) {
        take(chunk, static_cast<size_t>(api_.data_chunk_get_size(chunk)));
        api_.destroy_data_chunk(&chunk);
      }
    } else {
      status = Status::IoError(api_.result_error(&result));
    }
    api_.destroy_result(&result);
    return status;
  }

  template <typename T>
  const T* DataOf(DuckDb chunk, size_t column) const {
    return static_cast<const T*>(api_.vector_get_data(api_.data_chunk_get_vector(chunk, column)));
  }
  [[nodiscard]] const uint64_t* ValidityOf(DuckDb chunk, size_t column) const {
    return api_.vector_get_validity(api_.data_chunk_get_vector(chunk, column));
  }
  static bool IsValid(const uint64_t* validity, size_t row) {
    return validity == nullptr || (validity[row / kBitsOfWord] >> row % kBitsOfWord & 1) != 0;
  }

  template <typename T>
  uint64_t SumOf(DuckDb chunk, size_t at, size_t rows) const {
    const T* const data = DataOf<T>(chunk, at);
    const uint64_t* const validity = ValidityOf(chunk, at);
    uint64_t sum = 0;
    for (size_t i = 0; i < rows; ++i) {
      if (IsValid(validity, i)) sum += static_cast<uint64_t>(static_cast<int64_t>(data[i]));
    }
    return sum;
  }

  uint64_t SumOfColumn(DuckDb chunk, size_t column, size_t rows) const {
    const size_t at = column + kFirstColumn;
    switch (table_.columns[column].type) {
      case CellType::kDouble: return SumOf<int64_t>(chunk, at, rows);  // its bits
      case CellType::kInt: return SumOf<int32_t>(chunk, at, rows);
      case CellType::kBool: return SumOf<uint8_t>(chunk, at, rows);
      case CellType::kText: break;
    }
    const auto* const texts = DataOf<DuckDbString>(chunk, at);
    const uint64_t* const validity = ValidityOf(chunk, at);
    uint64_t sum = 0;
    for (size_t i = 0; i < rows; ++i) {
      if (IsValid(validity, i)) sum += TextBits({texts[i].data(), texts[i].length});
    }
    return sum;
  }

  Status Visit(const std::string& where, RowVisitor* visitor) {
    RowBlock block(table_.columns.size());
    return Select("SELECT * FROM r" + where, [&](DuckDb chunk, size_t rows) {
      block.Clear();
      const auto* const entities = DataOf<int32_t>(chunk, 0);
      const auto* const times = DataOf<int64_t>(chunk, 1);
      for (size_t i = 0; i < rows; ++i) {
        block.BeginRow(static_cast<uint32_t>(entities[i]), times[i]);
        for (size_t c = 0; c < table_.columns.size(); ++c) ReadCell(chunk, c, i, &block);
      }
      for (size_t i = 0; i < rows; ++i) visitor->Visit(block.Row(i));
    });
  }

  void ReadCell(DuckDb chunk, size_t column, size_t row, RowBlock* block) const {
    const size_t at = column + kFirstColumn;
    if (!IsValid(ValidityOf(chunk, at), row)) return block->SetNull(column);
    switch (table_.columns[column].type) {
      case CellType::kDouble: return block->SetInt(column, DataOf<int64_t>(chunk, at)[row]);
      case CellType::kInt: return block->SetInt(column, DataOf<int32_t>(chunk, at)[row]);
      case CellType::kBool: return block->SetInt(column, DataOf<uint8_t>(chunk, at)[row]);
      case CellType::kText: break;
    }
    const DuckDbString& text = DataOf<DuckDbString>(chunk, at)[row];
    block->SetText(column, {text.data(), text.length});
  }

  const PeerTable table_;
  const DuckDbApi& api_;
  DuckDb database_ = nullptr;
  DuckDb connection_ = nullptr;
  DuckDb appender_ = nullptr;
};

// The library is loaded here, in the process that is measured and has no threads yet.
Result<std::unique_ptr<Peer>> OpenDuckDb(const PeerSetup& setup) {
  CISTERN_ASSIGN_OR_RETURN(const DuckDbApi* const api, DuckDbApi::Load(LibraryPath()));
  auto peer = std::make_unique<DuckDbPeer>(setup, api);
  CISTERN_RETURN_IF_ERROR(peer->Open(setup));
  return std::unique_ptr<Peer>(std::move(peer));
}

}  // namespace

std::vector<PeerKind> DuckDbPeers(const std::string& library) {
  if (library.empty()) return {};
  LibraryPath() = library;
  PeerKind kind{"duckdb", "no key; Appender, a transaction a batch, which DuckDB always syncs;"
                          " a twentieth of the rows; CHECKPOINT at rest", OpenDuckDb};
  kind.rows_share = 0.05;
  return {kind};
}

}  // namespace cistern::bench
