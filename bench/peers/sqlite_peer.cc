// SQLite: one table with a column for each cell, as rowid table and clustered by either key.
#include <fmt/format.h>
#include <sqlite3.h>

#include <memory>
#include <string>

#include "bench/peers/peer.h"

namespace cistern::bench {

namespace {

constexpr const char* kTypeNames[] = {"REAL", "INTEGER", "INTEGER", "TEXT"};  // by CellType
constexpr int kFirstColumn = 2;  // behind entity and ts

enum class SqliteKey { kRowid, kEntityTime, kTimeEntity };

struct CloseDb {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
};
struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Db = std::unique_ptr<sqlite3, CloseDb>;
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Status ErrorOf(sqlite3* db) { return Status::IoError(sqlite3_errmsg(db)); }

Status Run(sqlite3* db, const std::string& sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return Status::Ok();
  return ErrorOf(db);
}

Result<Statement> Prepare(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return ErrorOf(db);
  return Statement(statement);
}

std::string ColumnsOf(const PeerTable& table, bool with_types) {
  std::string text = with_types ? "entity INTEGER, ts INTEGER" : "entity, ts";
  for (const PeerColumn& column : table.columns) {
    text += ", " + column.name;
    if (with_types) text += fmt::format(" {}", kTypeNames[static_cast<size_t>(column.type)]);
  }
  return text;
}

std::string CreateSql(const PeerTable& table, SqliteKey key) {
  const std::string columns = ColumnsOf(table, true);
  if (key == SqliteKey::kRowid) return fmt::format("CREATE TABLE IF NOT EXISTS r ({})", columns);
  return fmt::format("CREATE TABLE IF NOT EXISTS r ({}, PRIMARY KEY ({})) WITHOUT ROWID", columns,
                     key == SqliteKey::kEntityTime ? "entity, ts" : "ts, entity");
}

class SqlitePeer : public Peer {
 public:
  explicit SqlitePeer(const PeerSetup& setup)
      : table_(setup.table), row_(setup.table.columns.size()) {}

  Status Open(const PeerSetup& setup, SqliteKey key) {
    sqlite3* db = nullptr;
    const int opened = sqlite3_open((setup.directory + "/rows.sqlite").c_str(), &db);
    db_.reset(db);
    if (opened != SQLITE_OK) return ErrorOf(db);
    CISTERN_RETURN_IF_ERROR(Run(
        db, fmt::format("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                        " PRAGMA cache_size = -{}", setup.memory_bytes / 1024)));
    CISTERN_RETURN_IF_ERROR(Run(db, CreateSql(table_, key)));
    std::string values = "?, ?";
    for (size_t i = 0; i < table_.columns.size(); ++i) values += ", ?";
    CISTERN_ASSIGN_OR_RETURN(insert_, Prepare(db, "INSERT INTO r VALUES (" + values + ")"));
    CISTERN_ASSIGN_OR_RETURN(begin_, Prepare(db, "BEGIN"));
    CISTERN_ASSIGN_OR_RETURN(commit_, Prepare(db, "COMMIT"));
    return Status::Ok();
  }

  Status Append(const RowBlock& rows) override {
    CISTERN_RETURN_IF_ERROR(Step(begin_.get()));
    for (size_t i = 0; i < rows.size(); ++i) {
      Bind(rows.Row(i));
      CISTERN_RETURN_IF_ERROR(Step(insert_.get()));
    }
    return Step(commit_.get());
  }

  Status Settle() override { return Run(db_.get(), "PRAGMA wal_checkpoint(TRUNCATE)"); }

  Status ScanRows(RowVisitor* visitor) override {
    return Select("", [&](const RowView& row) { visitor->Visit(row); });
  }
  Status ScanEntity(uint32_t entity, RowVisitor* visitor) override {
    return Select(fmt::format(" WHERE entity = {}", entity),
                  [&](const RowView& row) { visitor->Visit(row); });
  }
  Status ScanColumns(RowSums* sums) override {
    return Select("", [&](const RowView& row) { sums->Add(table_, row); });
  }

  Result<PeerAggregate> Aggregate(uint32_t entity, size_t column) override {
    CISTERN_ASSIGN_OR_RETURN(
        const Statement query,
        Prepare(db_.get(), fmt::format("SELECT count({0}), min({0}), max({0}), sum({0}) FROM r"
                                       " WHERE entity = {1}",
                                       table_.columns[column].name, entity)));
    if (sqlite3_step(query.get()) != SQLITE_ROW) return ErrorOf(db_.get());
    PeerAggregate result;
    result.count = static_cast<uint64_t>(sqlite3_column_int64(query.get(), 0));
    if (result.count == 0) return result;
    result.min = sqlite3_column_double(query.get(), 1);
    result.max = sqlite3_column_double(query.get(), 2);
    result.sum = sqlite3_column_double(query.get(), 3);
    return result;
  }

  Status NewestRow(uint32_t entity, RowVisitor* visitor) override {
    const char* const order = " WHERE entity = ?1 ORDER BY ts DESC LIMIT 1";
    return Ask(&newest_, "SELECT " + ColumnsOf(table_, false) + " FROM r" + order, entity, 0,
               [&](sqlite3_stmt* query) { Visit(query, visitor); });
  }
  Status RowAt(uint32_t entity, int64_t time_ms, RowVisitor* visitor) override {
    return Ask(&at_, "SELECT " + ColumnsOf(table_, false) + " FROM r WHERE entity = ?1 AND ts = ?2",
               entity, time_ms, [&](sqlite3_stmt* query) { Visit(query, visitor); });
  }
  Result<int64_t> NewestTime(uint32_t entity) override {
    int64_t time_ms = 0;
    CISTERN_RETURN_IF_ERROR(
        Ask(&newest_time_, "SELECT max(ts) FROM r WHERE entity = ?1", entity, 0,
            [&](sqlite3_stmt* query) { time_ms = sqlite3_column_int64(query, 0); }));
    return time_ms;
  }

  Status DropBefore(int64_t time_ms) override {
    CISTERN_RETURN_IF_ERROR(Run(db_.get(), fmt::format("DELETE FROM r WHERE ts < {}", time_ms)));
    return Settle();
  }

 private:
  // A question of one row at most, prepared once.
  template <typename Take>
  Status Ask(Statement* question, const std::string& sql, uint32_t entity, int64_t time_ms,
             const Take& take) {
    if (*question == nullptr) {
      CISTERN_ASSIGN_OR_RETURN(*question, Prepare(db_.get(), sql));
    }
    sqlite3_stmt* const query = question->get();
    sqlite3_bind_int64(query, 1, entity);
    if (time_ms != 0) sqlite3_bind_int64(query, 2, time_ms);
    const int answer = sqlite3_step(query);
    if (answer == SQLITE_ROW) take(query);
    sqlite3_reset(query);
    return answer == SQLITE_ROW || answer == SQLITE_DONE ? Status::Ok() : ErrorOf(db_.get());
  }
  void Visit(sqlite3_stmt* query, RowVisitor* visitor) {
    row_.Clear();
    ReadRow(query, &row_);
    visitor->Visit(row_.Row(0));
  }

  void Bind(const RowView& row) {
    sqlite3_stmt* const insert = insert_.get();
    sqlite3_bind_int(insert, 1, static_cast<int>(row.entity));
    sqlite3_bind_int64(insert, 2, row.time_ms);
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      const int at = static_cast<int>(i) + kFirstColumn + 1;
      if (row.IsNull(i)) {
        sqlite3_bind_null(insert, at);
      } else if (table_.columns[i].type == CellType::kDouble) {
        sqlite3_bind_double(insert, at, row.Double(i));
      } else if (table_.columns[i].type == CellType::kText) {
        const std::string_view text = row.Text(i);
        sqlite3_bind_text(insert, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
      } else {
        sqlite3_bind_int64(insert, at, row.cells[i]);
      }
    }
  }

  Status Step(sqlite3_stmt* statement) {
    const bool done = sqlite3_step(statement) == SQLITE_DONE;
    if (sqlite3_reset(statement) == SQLITE_OK && done) return Status::Ok();
    return ErrorOf(db_.get());
  }

  template <typename Take>
  Status Select(const std::string& where, const Take& take) {
    CISTERN_ASSIGN_OR_RETURN(
        const Statement query,
        Prepare(db_.get(), "SELECT " + ColumnsOf(table_, false) + " FROM r" + where));
    RowBlock block(table_.columns.size());
    int answer = sqlite3_step(query.get());
    for (; answer == SQLITE_ROW; answer = sqlite3_step(query.get())) {
      block.Clear();
      ReadRow(query.get(), &block);
      take(block.Row(0));
    }
    return answer == SQLITE_DONE ? Status::Ok() : ErrorOf(db_.get());
  }

  void ReadRow(sqlite3_stmt* query, RowBlock* block) const {
    block->BeginRow(static_cast<uint32_t>(sqlite3_column_int64(query, 0)),
                    sqlite3_column_int64(query, 1));
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      const int at = static_cast<int>(i) + kFirstColumn;
      if (table_.has_nulls && sqlite3_column_type(query, at) == SQLITE_NULL) {
        block->SetNull(i);
      } else if (table_.columns[i].type == CellType::kDouble) {
        block->SetDouble(i, sqlite3_column_double(query, at));
      } else if (table_.columns[i].type == CellType::kText) {
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(query, at));
        block->SetText(i, {text, static_cast<size_t>(sqlite3_column_bytes(query, at))});
      } else {
        block->SetInt(i, sqlite3_column_int64(query, at));
      }
    }
  }

  const PeerTable table_;
  Db db_;
  Statement insert_;
  Statement begin_;
  Statement commit_;
  Statement newest_;  // questions, once they were asked
  Statement at_;
  Statement newest_time_;
  RowBlock row_;
};

template <SqliteKey key>
Result<std::unique_ptr<Peer>> OpenSqlite(const PeerSetup& setup) {
  auto peer = std::make_unique<SqlitePeer>(setup);
  CISTERN_RETURN_IF_ERROR(peer->Open(setup, key));
  return std::unique_ptr<Peer>(std::move(peer));
}

}  // namespace

std::vector<PeerKind> SqlitePeers() {
  const std::string settings = "WAL, synchronous NORMAL (syncs at checkpoints), ";
  PeerKind by_entity{"sqlite (entity, ts)", settings + "WITHOUT ROWID, a tenth of the rows",
                     OpenSqlite<SqliteKey::kEntityTime>};
  by_entity.rows_share = 0.1;  // each batch rewrites a hundred pages
  return {{"sqlite rowid", settings + "no index", OpenSqlite<SqliteKey::kRowid>},
          {"sqlite (ts, entity)", settings + "WITHOUT ROWID", OpenSqlite<SqliteKey::kTimeEntity>},
          by_entity};
}

}  // namespace cistern::bench
