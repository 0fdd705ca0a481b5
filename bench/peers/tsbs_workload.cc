#include "bench/peers/tsbs_workload.h"

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

#include "bench/workload.h"
#include "lib/base/check.h"

namespace cistern::bench {

namespace {

constexpr uint32_t kTrucks = 1000;
constexpr uint64_t kSeed = 123;

constexpr double kBatchMissing = 0.01;
constexpr double kBatchLate = 0.05;
constexpr double kEntryMissing = 0.1;
constexpr double kEntryLate = 0.3;
constexpr double kFieldEmpty = 0.1;
constexpr double kLateComes = 0.5;
constexpr double kLoadChanges = 0.05;
constexpr double kLoadMax = 5000;

constexpr size_t kStatusColumn = 2;  // of diagnostics
// By column, what a value is multiplied by before it is cut to a whole number.
constexpr std::array<double, 7> kReadingScales = {1e5, 1e5, 1, 1, 1, 1, 10};
constexpr std::array<double, 3> kDiagnosticScales = {10, 1, 1};

double Cut(double value, double scale) {
  return static_cast<double>(static_cast<int64_t>(value * scale)) / scale;
}

PeerTable TableOf(TruckMeasurement measurement) {
  PeerTable table;
  table.entity_count = kTrucks;
  table.first_time_ms = kFirstTimeMs;
  table.bucket_seconds = 3600;
  table.has_nulls = true;
  if (measurement == TruckMeasurement::kReadings) {
    table.name = "peers.truck_readings";
    for (const char* name : {"latitude", "longitude", "elevation", "velocity", "heading", "grade",
                             "fuel_consumption"}) {
      table.columns.push_back({name, CellType::kDouble});
    }
  } else {
    table.name = "peers.truck_diagnostics";
    table.columns = {{"fuel_state", CellType::kDouble},
                     {"current_load", CellType::kDouble},
                     {"status", CellType::kInt}};
  }
  return table;
}

}  // namespace

TruckFleet::TruckFleet(TruckMeasurement measurement, uint64_t seed, uint32_t trucks)
    : measurement_(measurement), rng_(seed), trucks_(trucks) {
  for (std::vector<TruckWalk>& walks : trucks_) {
    if (measurement == TruckMeasurement::kReadings) {
      walks = {{Uniform(0, 90), -90, 90, -0.005, 0.005},
               {Uniform(0, 180), -180, 180, -0.005, 0.005},
               {Uniform(0, 500), 0, 5000, -10, 10},
               {0, 0, 100, -10, 10},
               {Uniform(0, 360), 0, 360, -5, 5},
               {0, 0, 100, -5, 5},
               {25, 0, 50, -5, 5}};
    } else {
      walks = {{1, 0, 1, -0.001, 0}, {Uniform(0, 1), 0, kLoadMax, 0, 0}, {0, 0, 5, 0, 0}};
    }
  }
}

double TruckFleet::Uniform(double min, double max) {
  constexpr double kUnit = 0x1p-53;
  return min + static_cast<double>(rng_.Next() >> 11) * kUnit * (max - min);
}

// Twelve uniform ones: near enough, and the same on every machine.
double TruckFleet::Normal() {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += Uniform(0, 1);
  return sum;
}

std::vector<double> TruckFleet::Advance(std::vector<TruckWalk>* walks) {
  const bool is_readings = measurement_ == TruckMeasurement::kReadings;
  std::vector<double> values;
  values.reserve(walks->size());
  for (size_t i = 0; i < walks->size(); ++i) {
    TruckWalk& walk = (*walks)[i];
    double step = 0;
    if (is_readings || i == 0) {
      step = Uniform(walk.step_min, walk.step_max);
    } else if (i == kStatusColumn) {
      step = Normal();
    } else if (Uniform(0, 1) < kLoadChanges) {
      step = Uniform(0, kLoadMax) - walk.value;
    }
    walk.value = std::clamp(walk.value + step, walk.min, walk.max);
    if (!is_readings && i == 0 && walk.value == walk.min) walk.value = walk.max;  // filled up
    values.push_back(Cut(walk.value, is_readings ? kReadingScales[i] : kDiagnosticScales[i]));
  }
  return values;
}

TruckEntry TruckFleet::Next() {
  TruckEntry entry;
  entry.truck = static_cast<uint32_t>(made_ % trucks_.size());
  entry.time_ms = kFirstTimeMs + static_cast<int64_t>(made_ / trucks_.size()) * kIntervalMs;
  ++made_;
  entry.values = Advance(&trucks_[entry.truck]);
  return entry;
}

DisorderedTrucks::DisorderedTrucks(TruckMeasurement measurement, uint64_t seed, uint32_t trucks,
                                   uint64_t rows)
    : measurement_(measurement),
      fleet_(measurement, seed, trucks),
      rng_(seed + 1),
      rows_(rows) {}

bool DisorderedTrucks::Happens(double chance) {
  return static_cast<double>(rng_.Next() >> 11) * 0x1p-53 < chance;
}

bool DisorderedTrucks::Next(RowBlock* block) {
  if (given_ == rows_) return false;
  while (batch_.empty()) FillBatch();
  const TruckEntry entry = std::move(batch_.front());
  batch_.pop_front();
  ++given_;
  block->BeginRow(entry.truck, entry.time_ms);
  for (size_t i = 0; i < entry.values.size(); ++i) {
    if (static_cast<int>(i) == entry.empty_field) {
      block->SetNull(i);
    } else if (measurement_ == TruckMeasurement::kDiagnostics && i == kStatusColumn) {
      block->SetInt(i, static_cast<int64_t>(entry.values[i]));
    } else {
      block->SetDouble(i, entry.values[i]);
    }
  }
  return true;
}

void DisorderedTrucks::FillBatch() {
  if (Happens(kBatchMissing)) {
    for (size_t i = 0; i < kBatchEntries; ++i) (void)fleet_.Next();
    return;
  }
  const bool is_late = Happens(kBatchLate);
  if (!late_batches_.empty() && Happens(kLateComes)) {
    batch_ = std::move(late_batches_.front());
    late_batches_.pop_front();
  } else if (is_late) {
    late_batches_.push_back(MakeBatch());
  } else {
    batch_ = MakeBatch();
  }
}

DisorderedTrucks::BatchPlan DisorderedTrucks::PlanBatch() {
  BatchPlan plan;
  size_t waiting = late_entries_.size();
  for (size_t i = 0; i < kBatchEntries; ++i) {
    plan.takes_late[i] = waiting > 0 && Happens(kLateComes);
    if (plan.takes_late[i]) --waiting;
    plan.is_missing[i] = Happens(kEntryMissing);
    if (plan.is_missing[i]) continue;
    plan.has_empty_field[i] = Happens(kFieldEmpty);
    plan.is_late[i] = Happens(kEntryLate);
  }
  return plan;
}

DisorderedTrucks::Batch DisorderedTrucks::MakeBatch() {
  const BatchPlan plan = PlanBatch();
  Batch batch;
  for (size_t look = 0; batch.size() < kBatchEntries; ++look) {
    const bool is_planned = look < kBatchEntries;
    TruckEntry entry;
    if (is_planned && plan.takes_late[look]) {
      entry = std::move(late_entries_.front());
      late_entries_.pop_front();
    } else {
      entry = fleet_.Next();
    }
    if (is_planned && plan.is_missing[look]) continue;
    if (is_planned && plan.is_late[look]) {
      late_entries_.push_back(std::move(entry));
      continue;
    }
    if (plan.has_empty_field[batch.size()]) {
      entry.empty_field = static_cast<int>(rng_.Below(entry.values.size()));
    }
    batch.push_back(std::move(entry));
  }
  return batch;
}

// The rows that wait, the first of them on top.
class SortedRows::Held {
 public:
  explicit Held(std::vector<PeerColumn> columns) : columns_(std::move(columns)) {}

  [[nodiscard]] size_t size() const { return order_.size(); }
  [[nodiscard]] RowBlock* NewRow() {
    if (free_.empty()) {
      rows_.emplace_back(columns_.size());
      free_.push_back(rows_.size() - 1);
    }
    rows_[free_.back()].Clear();
    return &rows_[free_.back()];
  }
  void KeepNewRow() {
    const RowView row = rows_[free_.back()].Row(0);
    order_.push({{row.time_ms, row.entity}, free_.back()});
    free_.pop_back();
  }
  void GiveFirst(RowBlock* block) {
    const auto [key, slot] = order_.top();
    order_.pop();
    CISTERN_CHECK(key >= last_);
    last_ = key;
    block->AppendRow(rows_[slot].Row(0), columns_);
    free_.push_back(slot);
  }

 private:
  using Key = std::pair<int64_t, uint32_t>;  // time, entity
  using Place = std::pair<Key, size_t>;
  const std::vector<PeerColumn> columns_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> order_;
  std::deque<RowBlock> rows_;
  std::vector<size_t> free_;
  Key last_ = {0, 0};
};

SortedRows::SortedRows(std::unique_ptr<RowSource> source, std::vector<PeerColumn> columns)
    : source_(std::move(source)), held_(std::make_unique<Held>(std::move(columns))) {}

SortedRows::~SortedRows() = default;

bool SortedRows::Next(RowBlock* block) {
  while (held_->size() < kHeldRows && source_->Next(held_->NewRow())) held_->KeepNewRow();
  if (held_->size() == 0) return false;
  held_->GiveFirst(block);
  return true;
}

std::vector<PeerWorkload> TsbsWorkloads() {
  PeerWorkload readings;
  readings.name = "tsbs-readings";
  readings.what = "TSBS iot, readings of 1,000 trucks, seven doubles, with its disorder";
  readings.rows = 940'000;  // three hours of what comes: their buckets are as full as they get
  readings.table = TableOf(TruckMeasurement::kReadings);
  readings.aggregated_column = 3;  // velocity
  readings.make = [](uint64_t rows) {
    return std::make_unique<DisorderedTrucks>(TruckMeasurement::kReadings, kSeed, kTrucks, rows);
  };
  PeerWorkload sorted = readings;
  sorted.name = "tsbs-readings-sorted";
  sorted.what = "the same rows in order of time";
  sorted.make = [make = readings.make, columns = readings.table.columns](uint64_t rows) {
    return std::make_unique<SortedRows>(make(rows), columns);
  };
  PeerWorkload diagnostics = readings;
  diagnostics.name = "tsbs-diagnostics";
  diagnostics.what = "TSBS iot, diagnostics of 1,000 trucks, two doubles and an int, disordered";
  diagnostics.table = TableOf(TruckMeasurement::kDiagnostics);
  diagnostics.aggregated_column = 1;  // current_load
  diagnostics.make = [](uint64_t rows) {
    return std::make_unique<DisorderedTrucks>(TruckMeasurement::kDiagnostics, kSeed, kTrucks,
                                              rows);
  };
  return {readings, sorted, diagnostics};
}

}  // namespace cistern::bench
