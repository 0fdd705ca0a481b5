// Cistern: a table of buckets, the rows in `log` durability, sealed at rest.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "bench/peers/peer.h"
#include "bench/peers/store_files.h"
#include "cistern/cistern.h"
#include "tests/support/fake_clock.h"

namespace cistern::bench {

namespace {

constexpr const char* kTypeNames[] = {"double", "int", "boolean", "text"};  // by CellType
constexpr int64_t kHourUs = 3600ll * 1'000'000;
// Beyond every workload: plans skip what holds nothing.
constexpr int64_t kEndMs = 4'102'444'800'000;  // 2100-01-01
// Of the table: the entity, the bucket, the time.
constexpr size_t kEntityColumn = 0;
constexpr size_t kTimeColumn = 2;
constexpr size_t kFirstColumn = 3;

std::string CqlOf(const PeerTable& table) {
  std::string columns;
  for (const PeerColumn& column : table.columns) {
    columns += fmt::format("{} {}, ", column.name, kTypeNames[static_cast<size_t>(column.type)]);
  }
  std::string cql = fmt::format(
      "CREATE TABLE {} (entity int, part bigint, ts timestamp, {}PRIMARY KEY ((entity, part), ts))"
      " WITH comment = 'cistern: bucket part = {} seconds as epoch'",
      table.name, columns, table.bucket_seconds);
  if (table.life_seconds != 0) {
    cql += fmt::format(" AND default_time_to_live = {}", table.life_seconds);
  }
  return cql;
}

class CisternPeer : public Peer {
 public:
  CisternPeer(const PeerSetup& setup, std::shared_ptr<FakeClock> clock,
              std::unique_ptr<Engine> engine, std::shared_ptr<const TableSchema> schema,
              std::unique_ptr<Producer> producer)
      : table_(setup.table),
        directory_(setup.directory),
        clock_(std::move(clock)),
        engine_(std::move(engine)),
        schema_(schema),
        producer_(std::move(producer)),
        batch_(std::move(schema)) {
    for (const PeerColumn& column : table_.columns) all_columns_.push_back(column.name);
  }

  Status Append(const RowBlock& rows) override {
    batch_.Clear();
    int64_t newest_ms = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const RowView row = rows.Row(i);
      newest_ms = std::max(newest_ms, row.time_ms);
      CISTERN_RETURN_IF_ERROR(AddRow(row));
    }
    if (table_.history_end_ms == 0 && newest_ms * 1000 > clock_->WallMicros()) {
      clock_->AdvanceMicros(newest_ms * 1000 - clock_->WallMicros());
    }
    return producer_->Append(batch_, {Durability::kLog, BackPressure::kWait}).status();
  }

  Status Settle() override {
    SealRequest all;
    all.due_only = false;
    CISTERN_ASSIGN_OR_RETURN(const SealReport report, engine_->Seal(all));
    if (!report.problems.empty()) return Status::Corruption(report.problems.front());
    return DoDueWork();
  }

  Status ScanRows(RowVisitor* visitor) override {
    for (uint32_t entity = 0; entity < table_.entity_count; ++entity) {
      CISTERN_RETURN_IF_ERROR(ScanEntity(entity, visitor));
    }
    return Status::Ok();
  }

  Status ScanEntity(uint32_t entity, RowVisitor* visitor) override {
    return Scan(entity, all_columns_, [&](const ResultBatch& batch) {
      VisitRows(entity, batch, visitor);
    });
  }

  Status ScanColumns(RowSums* sums) override {
    for (uint32_t entity = 0; entity < table_.entity_count; ++entity) {
      CISTERN_RETURN_IF_ERROR(Scan(entity, all_columns_, [&](const ResultBatch& batch) {
        AddColumns(entity, batch, sums);
      }));
    }
    return Status::Ok();
  }

  // One step is the whole range.
  Result<PeerAggregate> Aggregate(uint32_t entity, size_t column) override {
    AggregateRequest request;
    request.table = table_.name;
    CISTERN_ASSIGN_OR_RETURN(request.entities.emplace_back(), KeyOf(entity));
    request.from = 0;
    request.to = kEndMs;
    request.step = kEndMs;
    const std::string& name = table_.columns[column].name;
    for (const auto function : {AggregateFunction::kCount, AggregateFunction::kMin,
                                AggregateFunction::kMax, AggregateFunction::kSum}) {
      request.of.push_back({name, function});
    }
    CISTERN_ASSIGN_OR_RETURN(const auto cursor, engine_->Aggregate(request));
    const bool is_double = table_.columns[column].type == CellType::kDouble;
    const auto number = [&](const ColumnData& cells) {
      return is_double ? cells.AsDouble(0) : static_cast<double>(cells.fixed[0]);
    };
    PeerAggregate result;
    for (AggregateBatch batch; cursor->Next(&batch);) {
      if (batch.starts.empty() || batch.columns[0].fixed[0] == 0) continue;
      result.count = static_cast<uint64_t>(batch.columns[0].fixed[0]);
      result.min = number(batch.columns[1]);
      result.max = number(batch.columns[2]);
      result.sum = number(batch.columns[3]);
    }
    if (!cursor->status().ok()) return cursor->status();
    return result;
  }

  Status NewestRow(uint32_t entity, RowVisitor* visitor) override {
    CISTERN_RETURN_IF_ERROR(AskOf(entity));
    question_.from = kEndMs;
    question_.to = 0;
    question_.limit = 1;
    return Run(question_, [&](const ResultBatch& batch) { VisitRows(entity, batch, visitor); });
  }

  Status RowAt(uint32_t entity, int64_t time_ms, RowVisitor* visitor) override {
    CISTERN_RETURN_IF_ERROR(AskOf(entity));
    question_.from = time_ms;
    question_.to = time_ms + 1;
    question_.limit = 0;
    return Run(question_, [&](const ResultBatch& batch) { VisitRows(entity, batch, visitor); });
  }

  Result<int64_t> NewestTime(uint32_t entity) override {
    CISTERN_ASSIGN_OR_RETURN(const EntityKey key, KeyOf(entity));
    CISTERN_ASSIGN_OR_RETURN(const auto time, engine_->LastEvent(table_.name, key));
    return time.value_or(0);
  }

  // Time goes on until those rows' life is over.
  Status DropBefore(int64_t time_ms) override {
    const int64_t over_us = (time_ms + int64_t{table_.life_seconds} * 1000) * 1000;
    clock_->AdvanceMicros(std::max<int64_t>(0, over_us - clock_->WallMicros()));
    CISTERN_ASSIGN_OR_RETURN(const ExpireReport report, engine_->Expire());
    if (report.windows == 0) return Status::Internal("no window has ended");
    return DoDueWork();
  }

  std::map<std::string, double> OwnFigures(uint64_t rows) override {
    const Metrics m = engine_->GetMetrics();
    std::map<std::string, double> figures;
    const auto per_row = [&](uint64_t bytes) {
      return static_cast<double>(bytes) / static_cast<double>(rows);
    };
    figures["sealed pages and headers, B/row"] = per_row(m.seal_bytes);
    figures["journal records, B/row"] = per_row(m.journal_bytes);
    figures["WAL files, B/row"] = per_row(m.wal_bytes_written);
    figures["SST files, B/row"] = per_row(m.sst_bytes_written);
    figures["spilled, B/row"] = per_row(m.spill_bytes);
    figures["spills rewritten, B/row"] = per_row(m.respill_bytes);
    std::error_code none;
    const uint64_t ballast = std::filesystem::file_size(directory_ + "/BALLAST", none);
    figures["ballast, part of the disk B/row"] = none ? 0 : per_row(ballast);
    figures["buckets sealed"] = static_cast<double>(m.buckets_sealed);
    figures["amendments"] = static_cast<double>(m.amendments);
    producer_.reset();
    engine_->Close().IgnoreError();  // looked at from outside from here on
    for (const auto& [family, bytes] : FamilyFileBytes(directory_)) {
      const bool is_meta = family == "meta";
      const std::string kind = is_meta ? "catalog" : family.substr(0, family.find_first_of("-. /"));
      figures["files of " + kind + ", B/row"] += per_row(bytes);
    }
    return figures;
  }

 private:
  Status DoDueWork() {
    for (bool more = true; more;) {
      CISTERN_ASSIGN_OR_RETURN(const TickReport report, engine_->Tick());
      more = report.more_due;
    }
    return Status::Ok();
  }

  Status AddRow(const RowView& row) {
    batch_.BeginRow();
    CISTERN_RETURN_IF_ERROR(batch_.SetInt(kEntityColumn, int64_t{row.entity}));
    CISTERN_RETURN_IF_ERROR(batch_.SetInt(kTimeColumn, row.time_ms));
    const std::span<const PeerColumn> columns = table_.columns;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (row.IsNull(i)) continue;
      const CellType type = columns[i].type;
      if (type == CellType::kDouble) {
        CISTERN_RETURN_IF_ERROR(batch_.SetDouble(kFirstColumn + i, row.Double(i)));
      } else if (type == CellType::kText) {
        CISTERN_RETURN_IF_ERROR(batch_.SetBytes(kFirstColumn + i, row.Text(i)));
      } else {
        CISTERN_RETURN_IF_ERROR(batch_.SetInt(kFirstColumn + i, row.cells[i]));
      }
    }
    return batch_.EndRow();
  }

  Result<EntityKey> KeyOf(uint32_t entity) const {
    const std::string text = std::to_string(entity);
    const std::string_view parts[] = {text};
    return EntityFromText(*schema_, parts);
  }

  // `take` gets batches with the time as first column.
  template <typename Take>
  Status Scan(uint32_t entity, const std::vector<std::string>& columns, const Take& take) {
    CISTERN_ASSIGN_OR_RETURN(const ScanRequest request, RequestOf(entity, columns));
    return Run(request, take);
  }

  Result<ScanRequest> RequestOf(uint32_t entity, const std::vector<std::string>& columns) const {
    ScanRequest request;
    request.table = table_.name;
    CISTERN_ASSIGN_OR_RETURN(request.entity, KeyOf(entity));
    request.from = 0;
    request.to = kEndMs;
    request.columns = {"ts"};
    request.columns.insert(request.columns.end(), columns.begin(), columns.end());
    return request;
  }

  // Of the entity, all columns: made once, as others prepare a statement.
  Status AskOf(uint32_t entity) {
    if (question_.table.empty()) {
      CISTERN_ASSIGN_OR_RETURN(question_, RequestOf(entity, all_columns_));
    }
    CISTERN_ASSIGN_OR_RETURN(question_.entity, KeyOf(entity));
    return Status::Ok();
  }

  template <typename Take>
  Status Run(const ScanRequest& request, const Take& take) {
    CISTERN_ASSIGN_OR_RETURN(const auto cursor, engine_->Scan(request));
    while (cursor->Next(&result_)) take(result_);
    return cursor->status();
  }

  // A row at a time, as the other engines have them. A view's texts are of one heap: that of the
  // only column of texts, or a copy of those of several.
  void VisitRows(uint32_t entity, const ResultBatch& batch, RowVisitor* visitor) {
    const size_t column_count = table_.columns.size();
    const std::span columns(batch.columns.data() + 1, column_count);
    int64_t cells[PeerTable::kColumnsMax] = {};
    std::string heap;
    const bool has_one_text =
        std::ranges::count(columns, Lane::kBytes, &ColumnData::lane) == 1;
    RowView row;
    row.entity = entity;
    row.cells = cells;
    for (size_t i = 0; i < batch.row_count; ++i) {
      row.time_ms = batch.columns[0].fixed[i];
      row.nulls = 0;
      heap.clear();
      for (size_t c = 0; c < column_count; ++c) {
        const ColumnData& data = columns[c];
        if (!data.states.empty()) {
          row.nulls |= static_cast<uint32_t>(data.states[i] != CellState::kValue) << c;
        }
        if (data.lane == Lane::kFixed) {
          cells[c] = data.fixed[i];
        } else if (has_one_text) {
          const uint32_t at = data.offsets[i];
          cells[c] = static_cast<int64_t>(uint64_t{at} << 32 | (data.offsets[i + 1] - at));
          row.heap = data.heap.data();
        } else {
          const std::string_view text = data.bytes(i);
          cells[c] = static_cast<int64_t>(uint64_t{heap.size()} << 32 | text.size());
          heap.append(text);
          row.heap = heap.data();
        }
      }
      visitor->Visit(row);
    }
  }

  // A cell that is not a value is 0 or empty: it adds nothing.
  void AddColumns(uint32_t entity, const ResultBatch& batch, RowSums* sums) const {
    sums->rows += batch.row_count;
    sums->entities += uint64_t{entity} * batch.row_count;
    for (const int64_t time : batch.columns[0].fixed) sums->times += static_cast<uint64_t>(time);
    for (size_t c = 0; c < table_.columns.size(); ++c) {
      const ColumnData& data = batch.columns[c + 1];
      uint64_t sum = 0;
      if (table_.columns[c].type == CellType::kText) {
        for (size_t i = 0; i < batch.row_count; ++i) sum += TextBits(data.bytes(i));
      } else {
        for (const int64_t cell : data.fixed) sum += static_cast<uint64_t>(cell);
      }
      sums->cells[c] += sum;
    }
  }

  const PeerTable table_;
  const std::string directory_;
  const std::shared_ptr<FakeClock> clock_;
  const std::unique_ptr<Engine> engine_;
  const std::shared_ptr<const TableSchema> schema_;
  std::unique_ptr<Producer> producer_;
  RowBatch batch_;
  ScanRequest question_;
  ResultBatch result_;
  std::vector<std::string> all_columns_;
};

Result<std::unique_ptr<Peer>> OpenCistern(const PeerSetup& setup) {
  const PeerTable& table = setup.table;
  const int64_t start_ms = table.history_end_ms != 0 ? table.history_end_ms : table.first_time_ms;
  const auto clock = std::make_shared<FakeClock>(start_ms * 1000);
  EngineOptions options;
  options.clock = clock;
  options.clock_floor_s = table.first_time_ms / 1000 - 1;
  options.memory_budget_bytes = setup.memory_bytes;
  options.sync_interval_us = kHourUs;  // the kernel writes when it likes, as for the others
  CISTERN_ASSIGN_OR_RETURN(auto engine, Engine::Open(setup.directory, options));
  CISTERN_RETURN_IF_ERROR(engine->CreateTable(CqlOf(table)));
  CISTERN_ASSIGN_OR_RETURN(auto schema, engine->FindTable(table.name));
  CISTERN_ASSIGN_OR_RETURN(auto producer, engine->NewProducer());
  return std::unique_ptr<Peer>(std::make_unique<CisternPeer>(
      setup, clock, std::move(engine), std::move(schema), std::move(producer)));
}

}  // namespace

std::vector<PeerKind> CisternPeers() {
  return {{"cistern", "durability log, one producer, its own maintenance thread", OpenCistern}};
}

}  // namespace cistern::bench
