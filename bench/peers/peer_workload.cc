#include "bench/peers/peer_workload.h"

#include <algorithm>
#include <array>
#include <queue>
#include <utility>

#include "bench/workload.h"
#include "tests/support/rng.h"

namespace cistern::bench {

namespace {

using testing::Rng;

constexpr uint32_t kGatewaySensors = 1000;

class GatewaySource : public RowSource {
 public:
  explicit GatewaySource(uint32_t sensor_count) : workload_(1, sensor_count) {}

  bool Next(RowBlock* block) override {
    const GatewayRow row = workload_.Next();
    block->BeginRow(row.sensor, row.time_ms);
    for (size_t i = 0; i < row.values.size(); ++i) block->SetDouble(i, row.values[i]);
    block->SetInt(4, row.status);
    block->SetInt(5, row.ok ? 1 : 0);
    block->SetText(6, row.mode);
    return true;
  }

 private:
  GatewayWorkload workload_;
};

// Holds some rows of another source back, each for a random number of rows.
class LateSource : public RowSource {
 public:
  static constexpr uint64_t kLateOneIn = 10;
  static constexpr uint64_t kDelayRowsMax = 60'000;

  LateSource(std::unique_ptr<RowSource> source, std::vector<PeerColumn> columns)
      : source_(std::move(source)), columns_(std::move(columns)) {}

  bool Next(RowBlock* block) override {
    for (;; ++turn_) {
      if (!late_.empty() && late_.top().due <= turn_) {
        const RowBlock& row = held_[late_.top().slot];
        block->AppendRow(row.Row(0), columns_);
        free_.push_back(late_.top().slot);
        late_.pop();
        return true;
      }
      RowBlock* const target = rng_.OneIn(kLateOneIn) ? FreeRow() : nullptr;
      if (!source_->Next(target == nullptr ? block : target)) return false;
      if (target == nullptr) return ++turn_ != 0;
      late_.push({turn_ + 1 + rng_.Below(kDelayRowsMax), free_slot_});
    }
  }

 private:
  struct Late {
    uint64_t due = 0;
    size_t slot = 0;
    bool operator<(const Late& other) const { return due > other.due; }  // the first on top
  };
  RowBlock* FreeRow() {
    if (free_.empty()) {
      held_.emplace_back(columns_.size());
      free_.push_back(held_.size() - 1);
    }
    free_slot_ = free_.back();
    free_.pop_back();
    held_[free_slot_].Clear();
    return &held_[free_slot_];
  }

  const std::unique_ptr<RowSource> source_;
  const std::vector<PeerColumn> columns_;
  Rng rng_{7};
  uint64_t turn_ = 0;
  std::priority_queue<Late> late_;
  std::vector<RowBlock> held_;
  std::vector<size_t> free_;
  size_t free_slot_ = 0;
};

// A vibration: a triangle wave for each axis, its own for each sensor, and noise.
class AccelerometerSource : public RowSource {
 public:
  static constexpr uint32_t kSensors = 16;
  static constexpr double kStepG = 1.0 / 2048;

  bool Next(RowBlock* block) override {
    const auto sensor = static_cast<uint32_t>(made_ % kSensors);
    const auto tick = static_cast<int64_t>(made_ / kSensors);
    ++made_;
    block->BeginRow(sensor, kFirstTimeMs + tick);
    for (size_t axis = 0; axis < 3; ++axis) {
      const int64_t period = 18 + 7 * static_cast<int64_t>(axis) + sensor;
      const int64_t phase = tick % period;
      const int64_t wave = 40 * std::min(phase, period - phase) - 10 * period;
      const int64_t gravity = axis == 2 ? 2048 : 0;
      const int64_t noise = rng_.Between(-6, 6);
      block->SetDouble(axis, static_cast<double>(gravity + wave + noise) * kStepG);
    }
    return true;
  }

 private:
  Rng rng_{11};
  uint64_t made_ = 0;
};

PeerTable GatewayPeerTable(uint32_t bucket_seconds) {
  PeerTable table;
  table.name = "peers.gateway";
  table.columns = {{"temperature", CellType::kDouble}, {"humidity", CellType::kDouble},
                   {"pressure", CellType::kDouble},    {"voltage", CellType::kDouble},
                   {"status", CellType::kInt},         {"ok", CellType::kBool},
                   {"mode", CellType::kText}};
  table.entity_count = kGatewaySensors;
  table.first_time_ms = kFirstTimeMs;
  table.bucket_seconds = bucket_seconds;
  return table;
}

}  // namespace

PeerWorkload GatewayRows(const std::string& name, uint32_t bucket_seconds) {
  PeerWorkload workload;
  workload.name = name;
  if (name == "gateway") {
    workload.is_killed = true;
    workload.rows = 3600 * kGatewaySensors;  // an hour: its buckets are full
  }
  workload.what = "1,000 sensors, one row a second each, buckets of " +
                  std::to_string(bucket_seconds) + " rows";
  workload.table = GatewayPeerTable(bucket_seconds);
  workload.make = [](uint64_t) { return std::make_unique<GatewaySource>(kGatewaySensors); };
  return workload;
}

PeerWorkload LongGatewayRows() {
  static constexpr uint32_t kSensors = 20;
  PeerWorkload workload = GatewayRows("gateway-long", 360);
  workload.what = "20 of those sensors, buckets of 360 rows";
  workload.table.entity_count = kSensors;
  workload.make = [](uint64_t) { return std::make_unique<GatewaySource>(kSensors); };
  return workload;
}

PeerWorkload LateGatewayRows() {
  PeerWorkload workload = GatewayRows("gateway-late", 3600);
  workload.what += ", every tenth row up to a minute late";
  workload.make = [columns = workload.table.columns](uint64_t) {
    return std::make_unique<LateSource>(std::make_unique<GatewaySource>(kGatewaySensors), columns);
  };
  return workload;
}

PeerWorkload EndingGatewayRows() {
  constexpr uint32_t kBucketSeconds = 360;
  PeerWorkload workload = GatewayRows("gateway-window", kBucketSeconds);
  workload.what += ", which live for 24 buckets; the first bucket of each ends";
  workload.table.life_seconds = 24 * kBucketSeconds;
  workload.ends_window = true;
  return workload;
}

PeerWorkload AccelerometerRows() {
  PeerWorkload workload;
  workload.name = "accelerometers";
  workload.what = "16 accelerometers at 1 kHz, three doubles, buckets of 10,000 rows";
  workload.table.name = "peers.vibration";
  workload.table.columns = {
      {"x", CellType::kDouble}, {"y", CellType::kDouble}, {"z", CellType::kDouble}};
  workload.table.entity_count = AccelerometerSource::kSensors;
  workload.table.first_time_ms = kFirstTimeMs;
  workload.table.bucket_seconds = 10;
  workload.make = [](uint64_t) { return std::make_unique<AccelerometerSource>(); };
  return workload;
}

}  // namespace cistern::bench
