#include "tests/model/model_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "engine/engine_impl.h"
#include "tests/support/random_options.h"

namespace cistern::testing {

namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kStart_us = 1'748'736'000 * kSecond;  // 2025-06-01
constexpr size_t kBatchRowsMax = 30;
constexpr size_t kDeleteTimestampsMax = 20'000;

Durability RandomDurability(Rng* rng) {
  switch (rng->Below(12)) {
    case 0: return Durability::kSynced;
    case 1: case 2: case 3: return Durability::kMemory;
    default: return Durability::kLog;
  }
}

}  // namespace

Progress g_progress;

ModelRunConfig ModelRunConfig::FromSeed(uint64_t seed) {
  Rng rng(Mix(seed ^ 0xc0ffee));
  ModelRunConfig c;
  for (bool* option : {&c.seals, &c.mix.updates, &c.mix.nulls, &c.mix.absent, &c.mix.ttls,
                       &c.mix.row_deletes, &c.mix.late, &c.mix.duplicates, &c.mix.ancient,
                       &c.range_deletes, &c.bucket_deletes, &c.rotations, &c.reopens, &c.batches,
                       &c.columnar, &c.clock_steps, &c.alters, &c.repeats}) {
    *option = !rng.OneIn(4);
  }
  c.table_count = 1 + rng.Below(TableProfiles().size());
  c.options = RandomOptions(&rng);
  RandomClockLimits(&rng, &c.options);
  // A new store takes its first time from between the floor and the ceiling above it.
  c.options.clock_floor_s = rng.Between(1, kStart_us / kSecond);
  c.options.clock_ceiling_ahead_s += kStart_us / kSecond - c.options.clock_floor_s;
  // No row of a run is ahead of the clock.
  c.options.event_future_s_max = RandomSeconds(limits::kFutureSecondsMax, &rng);
  if (rng.OneIn(2)) c.options.memory_budget_bytes = limits::kMemoryBudgetBytesMin;
  return c;
}

std::string ModelRunConfig::ToString() const {
  std::string out = "tables=" + std::to_string(table_count) +
                    " " + OptionsText(options) + " without:";
  const std::pair<const char*, bool> kinds[] = {
      {"seals", seals}, {"updates", mix.updates}, {"nulls", mix.nulls}, {"absent", mix.absent},
      {"ttls", mix.ttls},
      {"row_deletes", mix.row_deletes}, {"late", mix.late}, {"duplicates", mix.duplicates},
      {"ancient", mix.ancient}, {"range_deletes", range_deletes},
      {"bucket_deletes", bucket_deletes}, {"rotations", rotations}, {"reopens", reopens},
      {"batches", batches}, {"columnar", columnar}, {"clock_steps", clock_steps},
      {"alters", alters}, {"repeats", repeats}};
  for (const auto& [name, on] : kinds) {
    if (!on) out += std::string(" ") + name;
  }
  return out;
}

ModelRun::ModelRun(uint64_t seed, std::string directory)
    : seed_(seed),
      directory_(std::move(directory)),
      config_(ModelRunConfig::FromSeed(seed)),
      clock_(std::make_shared<FakeClock>(kStart_us)) {}

ModelRun::~ModelRun() = default;

int64_t ModelRun::NowSeconds() const { return clock_->WallMicros() / kSecond; }

void ModelRun::MakeRoom(size_t writes) {
  const int64_t used = clock_->WallMicros() % kSecond;
  if (used + static_cast<int64_t>(writes) >= kSecond) clock_->AdvanceMicros(kSecond - used);
}

std::string ModelRun::Open() {
  EngineOptions options = config_.options;
  options.clock = clock_;
  options.background_threads = false;  // a run is repeated by its seed
  auto opened = Engine::Open(directory_, options);
  if (!opened.ok()) return "Open: " + opened.status().ToString();
  engine_ = std::move(opened).value();
  if (engine_->Recovery().recovered_with_loss) return "Open reports a loss";
  auto producer = engine_->NewProducer();
  if (!producer.ok()) return "NewProducer: " + producer.status().ToString();
  producer_ = std::move(producer).value();
  return "";
}

std::string ModelRun::Reopen() {
  producer_.reset();
  if (engine_ != nullptr) {
    windows_merged_ += engine_->GetMetrics().window_merges;
    const Status s = engine_->Close();
    if (!s.ok()) return "Close: " + s.ToString();
    engine_.reset();
  }
  return Open();
}

std::string ModelRun::Run(size_t count, const std::vector<bool>& skip, size_t* failed) {
  *failed = 0;
  g_progress.seed = seed_;
  if (std::string problem = Open(); !problem.empty()) return problem;
  Rng rng(Mix(seed_));
  for (size_t t = 0; t < config_.table_count; ++t) {
    const TableProfile& profile = TableProfiles()[(seed_ + t) % TableProfiles().size()];
    if (const Status s = engine_->CreateTable(profile.cql); !s.ok()) {
      return "CreateTable: " + s.ToString();
    }
    const std::string_view text = profile.cql;
    const size_t name_at = text.find("m.");
    const std::string name(text.substr(name_at, text.find(' ', name_at) - name_at));
    const auto schema = engine_->FindTable(name);
    if (!schema.ok()) return "FindTable: " + schema.status().ToString();
    tables_.push_back({name, std::make_unique<RandomTable>(*schema, profile, rng.Next()),
                       std::make_unique<ModelTable>(*schema), {}});
  }
  for (size_t op = 0; op < count; ++op) {
    if (!skip.empty() && skip[op]) continue;
    *failed = op;
    g_progress.operation = op;
    Rng own(Mix(seed_) + Mix(op));
    clock_->AdvanceMicros(own.Between(1, 2000));
    if (std::string problem = Step(&own); !problem.empty()) return problem;
  }
  *failed = count;
  if (std::string problem = CheckInventory(); !problem.empty()) return problem;
  if (std::string problem = CheckVerify(); !problem.empty()) return problem;
  versions_expired_ = engine_->GetMetrics().versions_expired;
  if (std::string problem = Reopen(); !problem.empty()) return problem;
  if (std::string problem = CheckInventory(); !problem.empty()) return problem;
  Rng damage(Mix(seed_ + 1));
  if (std::string problem = CheckDamage(&damage); !problem.empty()) return problem;
  if (std::string problem = CheckInventory(); !problem.empty()) return problem;
  if (std::string problem = CheckVerify(); !problem.empty()) return problem;
  return CheckDrains();
}

std::string ModelRun::Step(Rng* rng) {
  const uint64_t dice = rng->Below(1000);
  if (dice < 720) return Write(rng);
  if (dice < 735) return config_.range_deletes ? DeleteRange(rng) : "";
  if (dice < 743) return config_.bucket_deletes ? DeleteBucket(rng) : "";
  if (dice < 756) return config_.rotations ? RotatePartly(rng) : "";
  if (dice < 800) {
    const int64_t seconds = rng->Between(1, rng->OneIn(5) ? 400 : 8);
    if (config_.clock_steps) clock_->AdvanceSeconds(seconds);
    return "";
  }
  if (dice < 840) {
    const auto report = engine_->Tick();
    return report.ok() ? "" : "Tick: " + report.status().ToString();
  }
  if (dice < 844) {
    const Status s = config_.rotations ? engine_->Rotate() : Status::Ok();
    return s.ok() ? "" : "Rotate: " + s.ToString();
  }
  if (dice < 847) return config_.seals ? Seal(rng) : "";
  if (dice < 848) {
    const auto report = engine_->Expire();
    return report.ok() ? "" : "Expire: " + report.status().ToString();
  }
  if (dice < 849) {
    const Status s = engine_->Sync();
    return s.ok() ? "" : "Sync: " + s.ToString();
  }
  if (dice < 850) return config_.reopens ? Reopen() : "";
  if (dice < 855) return CheckInventory();
  if (dice < 860) return CheckEntities(rng);
  if (dice < 861) return CheckVerify();
  if (dice < 864) return config_.alters ? Alter(rng) : "";
  return Scan(rng);
}

std::string ModelRun::Seal(Rng* rng) {
  SealRequest request;
  request.due_only = rng->OneIn(2);
  if (rng->OneIn(2)) request.table = PickTable(rng).name;
  const auto report = engine_->Seal(request);
  if (!report.ok()) return "Seal: " + report.status().ToString();
  if (!report->problems.empty()) return "Seal: " + report->problems.front();
  return "";
}

std::string ModelRun::Answered(const Result<WriteResult>& answer, Durability asked) {
  if (!answer.ok()) return "write: " + answer.status().ToString();
  if (answer->durability < asked) return "a write was answered with less durability than asked";
  if (answer->sequence < last_sequence_) {
    return "sequence " + std::to_string(answer->sequence) + " after " +
           std::to_string(last_sequence_);
  }
  last_sequence_ = answer->sequence;
  return "";
}

std::string ModelRun::Write(Rng* rng) {
  Table& table = PickTable(rng);
  if (config_.columnar && rng->OneIn(10)) return WriteColumns(&table, rng);
  std::vector<WriteRow> written;
  // In a round-robin split equal keys would be rows of two partitions.
  const bool may_repeat =
      config_.repeats && table.random->schema().split.kind != SplitKind::kRoundRobin;
  if (may_repeat && rng->OneIn(6)) written = table.recent;
  const bool comes_again = !written.empty();
  const size_t rows = comes_again                         ? written.size()
                      : config_.batches && rng->OneIn(4) ? 1 + rng->Below(kBatchRowsMax)
                                                          : 1;
  MakeRoom(rows);
  RowBatch batch(table.model->shared_schema());
  for (size_t i = 0; i < rows; ++i) {
    if (!comes_again) written.push_back(table.random->NextRow(config_.mix, NowSeconds(), rng));
    if (const Status s = AddRow(written[i], &batch); !s.ok()) return "AddRow: " + s.ToString();
  }
  const int64_t now_s = NowSeconds();
  if (std::string problem = Submit(batch, rng); !problem.empty()) return problem;
  for (const WriteRow& row : written) table.model->Write(row, now_s);
  table.recent = std::move(written);
  versions_written_ += rows;
  clock_->AdvanceMicros(static_cast<int64_t>(rows));
  return "";
}

std::string ModelRun::Submit(const RowBatch& batch, Rng* rng) {
  const WriteOptions options{RandomDurability(rng), BackPressure::kWait};
  switch (rng->Below(4)) {
    case 0: return Answered(engine_->Append(batch, options), options.durability);
    case 1: {
      const auto ticket = producer_->Submit(batch, options);
      if (!ticket.ok()) return "Submit: " + ticket.status().ToString();
      return Answered(producer_->Wait(*ticket), options.durability);
    }
    default: return Answered(producer_->Append(batch, options), options.durability);
  }
}

std::string ModelRun::WriteColumns(Table* table, Rng* rng) {
  const TableSchema& schema = table->random->schema();
  const size_t rows = 1 + rng->Below(kBatchRowsMax);
  const RowKind kind = config_.mix.updates && rng->OneIn(4) ? RowKind::kUpdate : RowKind::kInsert;
  MakeRoom(rows);
  std::vector<size_t> columns;
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const ColumnRole role = schema.columns[c].role;
    const bool key = role == ColumnRole::kEntity || role == ColumnRole::kClustering;
    if (key || (role == ColumnRole::kRegular &&
                (c == schema.regular_columns.front() || !config_.mix.absent || rng->OneIn(2)))) {
      columns.push_back(c);
    }
  }
  std::vector<ColumnData> data(columns.size());
  for (size_t k = 0; k < columns.size(); ++k) data[k].lane = schema.columns[columns[k]].type.lane();
  RowMix mix = config_.mix;
  mix.row_deletes = false;
  std::vector<WriteRow> written;
  while (written.size() < rows) {
    WriteRow row = table->random->NextRow(mix, NowSeconds(), rng);
    row.kind = kind;
    row.ttl_s.reset();
    if (kind == RowKind::kUpdate) {  // an UPDATE sets something
      const size_t c = schema.regular_columns.front();
      row.cells[c] = RandomValue(schema.columns[c].type, rng);
    }
    std::vector<Cell> cells(row.cells.size());
    for (size_t k = 0; k < columns.size(); ++k) {
      const Cell& cell = cells[columns[k]] = row.cells[columns[k]];
      if (cell.state != CellState::kValue) data[k].AppendMissing(cell.state);
      else if (data[k].lane == Lane::kFixed) data[k].AppendFixed(cell.fixed);
      else data[k].AppendBytes(cell.bytes);
    }
    row.cells = std::move(cells);
    written.push_back(std::move(row));
  }
  std::vector<const ColumnData*> pointers;
  for (const ColumnData& d : data) pointers.push_back(&d);
  RowBatch batch(table->model->shared_schema());
  if (const Status s = batch.AppendColumns(columns, pointers, kind); !s.ok()) {
    return "AppendColumns: " + s.ToString();
  }
  const int64_t now_s = NowSeconds();
  if (std::string problem = Submit(batch, rng); !problem.empty()) return problem;
  for (const WriteRow& row : written) table->model->Write(row, now_s);
  versions_written_ += rows;
  clock_->AdvanceMicros(static_cast<int64_t>(rows));
  return "";
}

std::string ModelRun::DeleteRange(Rng* rng) {
  Table& table = PickTable(rng);
  const TableSchema& schema = table.random->schema();
  return DeleteRangeOf(&table, EntityBytes(schema, table.random->RandomEntity(rng)), rng);
}

std::string ModelRun::DeleteRangeOf(Table* of, const std::string& entity, Rng* rng) {
  Table& table = *of;
  int64_t from = table.random->RandomTime(NowSeconds(), rng);
  int64_t to = table.random->RandomTime(NowSeconds(), rng);
  if (from == to) ++to;
  if (from > to) std::swap(from, to);
  MakeRoom(kDeleteTimestampsMax);
  const WriteOptions options{RandomDurability(rng), BackPressure::kWait};
  const std::string problem = Answered(
      engine_->DeleteRange(table.name, EntityKey{entity}, {from, to}, options), options.durability);
  clock_->AdvanceMicros(kDeleteTimestampsMax);
  if (!problem.empty()) {
    return "DeleteRange " + std::to_string(from) + ".." + std::to_string(to) + ": " + problem;
  }
  table.model->DeleteRange(entity, from, to);
  const uint64_t counted = engine_->GetMetrics().versions_written;
  if (counted <= versions_written_) return "DeleteRange counted no row version";
  versions_written_ = counted;
  return "";
}

// Leaves a rotation, or the gathering of many, between two of its steps, mostly behind a
// delete, and looks at what the delete covers there.
std::string ModelRun::RotatePartly(Rng* rng) {
  Table& table = PickTable(rng);
  const std::string entity =
      EntityBytes(table.random->schema(), table.random->RandomEntity(rng));
  std::string problem;
  if (config_.range_deletes && !rng->OneIn(3)) problem = DeleteRangeOf(&table, entity, rng);
  for (uint64_t left = rng->OneIn(4) ? rng->Below(16) : 0; left > 0 && problem.empty(); --left) {
    const Status s = engine_->Rotate();
    problem = s.ok() ? Write(rng) : "Rotate: " + s.ToString();
  }
  if (!problem.empty()) return problem;
  (void)(*EngineImpl::Of(engine_.get())->core())->committer().Freeze();
  for (uint64_t left = rng->Below(4); left > 0; --left) {
    if (problem = ScanWhole(table, entity); !problem.empty()) return problem;
    const auto report = engine_->Tick({1});
    if (!report.ok()) return "Tick: " + report.status().ToString();
  }
  return ScanWhole(table, entity);
}

std::string ModelRun::DeleteBucket(Rng* rng) {
  Table& table = PickTable(rng);
  const TableSchema& schema = table.random->schema();
  const std::string entity = EntityBytes(schema, table.random->RandomEntity(rng));
  const int64_t time = table.random->RandomTime(NowSeconds(), rng);
  MakeRoom(kDeleteTimestampsMax);
  const WriteOptions options{RandomDurability(rng), BackPressure::kWait};
  const std::string problem = Answered(
      engine_->DeleteBucket(table.name, EntityKey{entity}, time, options), options.durability);
  clock_->AdvanceMicros(kDeleteTimestampsMax);
  if (!problem.empty()) return "DeleteBucket " + std::to_string(time) + ": " + problem;
  table.model->DeleteBucket(entity, time);
  const uint64_t counted = engine_->GetMetrics().versions_written;
  if (counted <= versions_written_) return "DeleteBucket counted no row version";
  versions_written_ = counted;
  return "";
}

std::string ModelRun::Alter(Rng* rng) {
  Table& table = PickTable(rng);
  const std::string cql = table.random->RandomAlteration(rng);
  if (const Status s = engine_->AlterTable(cql); !s.ok()) return "AlterTable: " + s.ToString();
  const auto schema = engine_->FindTable(table.name);
  if (!schema.ok()) return "FindTable: " + schema.status().ToString();
  if ((*schema)->ToCql() != cql) return "the table is not as it was altered: " + (*schema)->ToCql();
  table.random->Alter(*schema);
  table.model->Alter(*schema);
  table.recent.clear();
  return "";
}

void Shrink(uint64_t seed, const std::string& directory, size_t count, size_t tries,
            std::vector<bool>* skip) {
  const auto fails = [&](const std::vector<bool>& candidate) {
    std::filesystem::remove_all(directory);
    size_t failed = 0;
    ModelRun run(seed, directory);
    return !run.Run(count, candidate, &failed).empty();
  };
  skip->assign(count, false);
  for (size_t chunk = count / 2; chunk > 0 && tries > 0; chunk /= 2) {
    for (size_t first = 0; first < count && tries > 0; first += chunk) {
      std::vector<bool> candidate = *skip;
      const size_t end = std::min(count, first + chunk);
      if (std::all_of(candidate.begin() + static_cast<ptrdiff_t>(first),
                      candidate.begin() + static_cast<ptrdiff_t>(end), [](bool b) { return b; })) {
        continue;
      }
      std::fill(candidate.begin() + static_cast<ptrdiff_t>(first),
                candidate.begin() + static_cast<ptrdiff_t>(end), true);
      --tries;
      if (fails(candidate)) *skip = std::move(candidate);
    }
  }
}

}  // namespace cistern::testing
