#include "bench/workload.h"

namespace cistern::bench {

namespace {

constexpr std::array<double, 4> kScales = {100.0, 10.0, 1000.0, 10.0};
constexpr std::array<int32_t, 4> kStarts = {2150, 480, 1'013'250, 2300};
constexpr std::array<std::string_view, 4> kModes = {"run", "idl", "srv", "off"};

}  // namespace

std::string GatewayTableOf(uint32_t bucket_seconds, const std::string& name,
                           const std::string& options) {
  std::string cql = kGatewayTable;
  cql.replace(cql.find("readings"), 8, name);
  cql.replace(cql.find("day date"), 8, "part bigint");
  cql.replace(cql.find("(sensor, day)"), 13, "(sensor, part)");
  return cql + " WITH comment = 'cistern: bucket part = " + std::to_string(bucket_seconds) +
         " seconds as epoch'" + options;
}

GatewayWorkload::GatewayWorkload(uint64_t seed, uint32_t sensor_count)
    : sensors_(sensor_count), state_(seed * 0x9e3779b97f4a7c15ull + 1) {
  for (Sensor& sensor : sensors_) {
    for (size_t i = 0; i < 4; ++i) {
      sensor.walk[i] = kStarts[i] + static_cast<int32_t>(NextRandom() % 200);
    }
  }
}

uint64_t GatewayWorkload::NextRandom() {
  state_ ^= state_ << 13;
  state_ ^= state_ >> 7;
  state_ ^= state_ << 17;
  return state_;
}

GatewayRow GatewayWorkload::Next() {
  GatewayRow row;
  const uint64_t number = rows_made_++;
  row.sensor = static_cast<uint32_t>(number % sensors_.size());
  row.time_ms = kFirstTimeMs + static_cast<int64_t>(number / sensors_.size()) * 1000;
  Sensor& sensor = sensors_[row.sensor];
  uint64_t random = NextRandom();
  for (size_t i = 0; i < 4; ++i) {
    sensor.walk[i] += static_cast<int32_t>(random & 15) - 7 - (random & 16 ? 1 : 0);
    random >>= 5;
    row.values[i] = sensor.walk[i] / kScales[i];
  }
  if ((random & 63) == 0) sensor.status = static_cast<int32_t>(random >> 6 & 7);
  if ((random >> 9 & 255) == 0) sensor.mode = static_cast<uint8_t>(random >> 17 & 3);
  row.status = sensor.status;
  row.ok = (random >> 20 & 127) != 0;
  row.mode = kModes[sensor.mode];
  return row;
}

Status GatewayWorkload::Fill(size_t rows, RowBatch* batch) {
  batch->Clear();
  for (size_t i = 0; i < rows; ++i) {
    const GatewayRow row = Next();
    batch->BeginRow();
    CISTERN_RETURN_IF_ERROR(batch->SetInt(0, int64_t{row.sensor}));
    CISTERN_RETURN_IF_ERROR(batch->SetInt(2, row.time_ms));
    for (size_t v = 0; v < 4; ++v) CISTERN_RETURN_IF_ERROR(batch->SetDouble(3 + v, row.values[v]));
    CISTERN_RETURN_IF_ERROR(batch->SetInt(7, row.status));
    CISTERN_RETURN_IF_ERROR(batch->SetInt(8, row.ok ? 1 : 0));
    CISTERN_RETURN_IF_ERROR(batch->SetBytes(9, row.mode));
    CISTERN_RETURN_IF_ERROR(batch->EndRow());
  }
  return Status::Ok();
}

}  // namespace cistern::bench
