#include "bench/peers/recorded_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

#include "cistern/cistern.h"
#include "tools/input.h"
#include "tools/record_reader.h"
#include "tools/row_mapper.h"

namespace cistern::bench {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kDayMs = 86'400'000;

// How the files of a set are read: what examples/schemas/README.md gives as options.
struct Recording {
  std::string name;
  uint32_t bucket_seconds = 0;
  std::string aggregated;
  bool is_sorted = true;
  char delimiter = ',';
  std::vector<std::string> header{};  // of files without one
  tool::MappingOptions mapping{};
};

std::vector<Recording> Recordings() {
  Recording air{"beijing-air", 30 * 86'400, "temp"};
  air.mapping.null_tokens = {"NA", " "};
  air.mapping.ignores = {"No"};
  air.mapping.maps = {"{year}-{month}-{day}T{hour}=ts", "PM2.5=pm25"};
  air.mapping.time.clock = tool::LocalClock(8 * 3600);
  Recording buses{"capmetro-buses", 86'400, "speed"};
  buses.is_sorted = false;
  buses.mapping.maps = {"timestamp=ts"};
  Recording gait{"daphnet-imu", 600, "trunk_y"};
  gait.delimiter = ' ';
  gait.header = {"ms",      "ankle_x", "ankle_y", "ankle_z", "thigh_x",   "thigh_y",
                 "thigh_z", "trunk_x", "trunk_y", "trunk_z", "annotation"};
  gait.mapping.maps = {"ms=ts"};
  gait.mapping.sets = {"run={stem}"};
  gait.mapping.time.number_unit = TimeUnit::kMillis;
  gait.mapping.time.base = tool::Instant{1'199'145'600, 0};  // 2008-01-01
  return {air, buses, gait};
}

CellType TypeOf(CqlType kind) {
  if (kind == CqlType::kDouble) return CellType::kDouble;
  if (kind == CqlType::kBoolean) return CellType::kBool;
  return LaneOf(kind) == Lane::kBytes ? CellType::kText : CellType::kInt;
}

Result<std::string> ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return Status::NotFound("cannot read " + path.string());
  return text.str();
}

Result<std::string> Unpack(const fs::path& path) {
  const std::string command = "zstd -dc -- '" + path.string() + "'";
  FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return Status::IoError("cannot run " + command);
  std::string text;
  char buffer[1 << 16];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
    text.append(buffer, got);
  }
  if (pclose(pipe) != 0) return Status::IoError("zstd cannot unpack " + path.string());
  return text;
}

// The rows of all files, in one block.
class Recorder {
 public:
  explicit Recorder(const Recording& recording) : recording_(recording) {}

  Status Read(const std::string& directory) {
    CISTERN_ASSIGN_OR_RETURN(const std::string cql,
                             ReadText(fs::path(CISTERN_SCHEMAS) / (recording_.name + ".cql")));
    CISTERN_ASSIGN_OR_RETURN(schema_, ParseCreateTable(cql));
    DescribeTable();
    rows_ = std::make_shared<RowBlock>(table_.columns.size());
    std::vector<fs::path> paths;
    const fs::path folder = fs::path(directory) / recording_.name;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(folder, ignored)) {
      if (entry.path().extension() == ".zst") paths.push_back(entry.path());
    }
    if (paths.empty()) return Status::NotFound("no recordings in " + folder.string() +
                              ": --recordings names the directory that has " + recording_.name);
    std::sort(paths.begin(), paths.end());
    for (const fs::path& path : paths) CISTERN_RETURN_IF_ERROR(ReadFile(path));
    table_.entity_count = static_cast<uint32_t>(entities_.size());
    table_.first_time_ms = first_ms_;
    table_.history_end_ms = last_ms_ + kDayMs;
    return Status::Ok();
  }

  [[nodiscard]] PeerWorkload Workload() const {
    PeerWorkload workload;
    workload.name = recording_.name;
    workload.what =
        fmt::format("recorded, {} entities, in order of {}", entities_.size(),
                    recording_.is_sorted ? "time" : "the files");
    workload.table = table_;
    workload.rows = rows_->size();
    for (size_t i = 0; i < table_.columns.size(); ++i) {
      if (table_.columns[i].name == recording_.aggregated) workload.aggregated_column = i;
    }
    workload.make = [rows = rows_, order = Order(), columns = table_.columns](uint64_t) {
      return std::make_unique<Replay>(rows, order, columns);
    };
    return workload;
  }

 private:
  using Order32 = std::shared_ptr<const std::vector<uint32_t>>;

  class Replay : public RowSource {
   public:
    Replay(std::shared_ptr<const RowBlock> rows, Order32 order, std::vector<PeerColumn> columns)
        : rows_(std::move(rows)), order_(std::move(order)), columns_(std::move(columns)) {}
    bool Next(RowBlock* block) override {
      if (at_ == order_->size()) return false;
      block->AppendRow(rows_->Row((*order_)[at_++]), columns_);
      return true;
    }

   private:
    const std::shared_ptr<const RowBlock> rows_;
    const Order32 order_;
    const std::vector<PeerColumn> columns_;
    size_t at_ = 0;
  };

  void DescribeTable() {
    table_.name = "peers.recorded";
    table_.bucket_seconds = recording_.bucket_seconds;
    table_.has_nulls = true;
    for (size_t i = 0; i < schema_->columns.size(); ++i) {
      const ColumnSpec& column = schema_->columns[i];
      if (column.role == ColumnRole::kClustering) time_column_ = i;
      if (column.role == ColumnRole::kEntity) entity_column_ = i;
      if (column.role != ColumnRole::kRegular) continue;
      table_.columns.push_back({column.name, TypeOf(column.type.kind)});
      sources_.push_back(i);
    }
  }

  Status ReadFile(const fs::path& path) {
    CISTERN_ASSIGN_OR_RETURN(std::string text, Unpack(path));
    const auto input = tool::Input::FromText(std::move(text));
    tool::CsvDialect dialect;
    dialect.delimiter = recording_.delimiter;
    const auto reader = tool::NewCsvReader(input.get(), std::move(dialect));
    const std::string stem = path.stem().stem().string();  // of x.csv.zst
    CISTERN_ASSIGN_OR_RETURN(auto mapper,
                             tool::RowMapper::Make(schema_, recording_.mapping, stem));
    bool is_bound = !recording_.header.empty();
    if (is_bound) CISTERN_RETURN_IF_ERROR(mapper.BindHeader(recording_.header));
    RowBatch batch(schema_);
    tool::Record record;
    while (true) {
      const tool::ReadOutcome outcome = reader->Next(&record);
      if (outcome == tool::ReadOutcome::kEnd) return Status::Ok();
      if (outcome != tool::ReadOutcome::kRecord) return Status::IoError(record.reason);
      if (!is_bound) {
        std::vector<std::string> names;
        for (const tool::Cell& cell : record.cells) names.emplace_back(cell.text);
        CISTERN_RETURN_IF_ERROR(mapper.BindHeader(names));
        is_bound = true;
        continue;
      }
      batch.Clear();
      CISTERN_RETURN_IF_ERROR(mapper.AddRow(record, &batch));
      TakeRow(batch);
    }
  }

  // Of the batch's first row.
  void TakeRow(const RowBatch& batch) {
    const bool is_number = schema_->columns[entity_column_].type.lane() == Lane::kFixed;
    const std::string name = is_number ? std::to_string(batch.fixed(0, entity_column_))
                                       : std::string(batch.bytes(0, entity_column_));
    const auto next = static_cast<uint32_t>(entities_.size());
    const uint32_t entity = entities_.try_emplace(name, next).first->second;
    const int64_t time_ms = batch.fixed(0, time_column_);
    if (!seen_.emplace(entity, time_ms).second) return;
    first_ms_ = std::min(first_ms_, time_ms);
    last_ms_ = std::max(last_ms_, time_ms);
    rows_->BeginRow(entity, time_ms);
    for (size_t i = 0; i < sources_.size(); ++i) {
      const size_t column = sources_[i];
      if (batch.state(0, column) != CellState::kValue) {
        rows_->SetNull(i);
      } else if (table_.columns[i].type == CellType::kText) {
        rows_->SetText(i, batch.bytes(0, column));
      } else if (table_.columns[i].type == CellType::kDouble) {
        // Not every engine keeps the sign of a zero.
        rows_->SetDouble(i, std::bit_cast<double>(batch.fixed(0, column)) + 0.0);
      } else {
        rows_->SetInt(i, batch.fixed(0, column));
      }
    }
  }

  [[nodiscard]] Order32 Order() const {
    std::vector<uint32_t> order(rows_->size());
    std::iota(order.begin(), order.end(), 0u);
    if (recording_.is_sorted) {
      std::stable_sort(order.begin(), order.end(), [this](uint32_t a, uint32_t b) {
        return rows_->Row(a).time_ms < rows_->Row(b).time_ms;
      });
    }
    return std::make_shared<const std::vector<uint32_t>>(std::move(order));
  }

  const Recording& recording_;
  std::shared_ptr<const TableSchema> schema_;
  PeerTable table_;
  size_t time_column_ = 0;
  size_t entity_column_ = 0;
  std::vector<size_t> sources_;  // by column of the table, that of the schema
  std::map<std::string, uint32_t> entities_;
  std::set<std::pair<uint32_t, int64_t>> seen_;
  int64_t first_ms_ = INT64_MAX;
  int64_t last_ms_ = INT64_MIN;
  std::shared_ptr<RowBlock> rows_;
};

}  // namespace

std::vector<std::string> RecordingNames() {
  std::vector<std::string> names;
  for (const Recording& recording : Recordings()) names.push_back(recording.name);
  return names;
}

Result<PeerWorkload> RecordedRows(const std::string& name, const std::string& directory) {
  for (const Recording& recording : Recordings()) {
    if (recording.name != name) continue;
    Recorder recorder(recording);
    CISTERN_RETURN_IF_ERROR(recorder.Read(directory));
    return recorder.Workload();
  }
  return Status::NotFound("no recordings are called " + name);
}

}  // namespace cistern::bench
