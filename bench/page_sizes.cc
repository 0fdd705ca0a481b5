#include "bench/page_sizes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "bench/workload.h"
#include "lib/base/check.h"
#include "lib/segment/page_builder.h"
#include "lib/segment/segment_header.h"
#include "tests/support/rng.h"

namespace cistern::bench {

namespace {

constexpr size_t kBucketCount = 100;

TableSchema SchemaOf(const std::vector<CqlType>& regular) {
  TableSchema schema;
  const auto add = [&schema](CqlType type, ColumnRole role) {
    ColumnSpec spec;
    spec.name.push_back(static_cast<char>('a' + schema.columns.size()));
    spec.type.kind = type;
    spec.role = role;
    schema.columns.push_back(std::move(spec));
    return schema.columns.size() - 1;
  };
  schema.entity_columns.push_back(add(CqlType::kInt, ColumnRole::kEntity));
  schema.bucket_column = add(CqlType::kBigint, ColumnRole::kBucket);
  schema.clustering_columns.push_back(add(CqlType::kTimestamp, ColumnRole::kClustering));
  for (const CqlType type : regular) {
    schema.regular_columns.push_back(add(type, ColumnRole::kRegular));
  }
  return schema;
}

// Rows one after the other into buckets of a page each.
class Buckets {
 public:
  Buckets(const TableSchema& schema, const PageRun& run)
      : schema_(schema), run_(run), rows_(VersionColumns::For(schema)) {}

  ColumnData* regular(size_t i) { return &rows_.columns[schema_.regular_columns[i]]; }
  void EndRow(int64_t time_ms) {
    rows_.columns[schema_.time_column()].AppendFixed(time_ms);
    rows_.write_us.push_back(time_ms * 1000 + 1500 +
                             static_cast<int64_t>(random_.Below(run_.jitter_us)));
    rows_.flags.push_back(kVersionLiveness);
    if (++rows_.row_count == run_.page_rows) Seal();
  }
  [[nodiscard]] double BytesPerRow() const {
    return static_cast<double>(bytes_) / static_cast<double>(bucket_count_ * run_.page_rows);
  }

 private:
  void Seal() {
    const std::string page = EncodePage(schema_, rows_, 0, rows_.row_count, &cache_);
    const std::vector<int64_t>& times = rows_.columns[schema_.time_column()].fixed;
    SegmentHeader header;
    header.schema_version = 1;
    header.journal_first = 7000 + bucket_count_;
    header.journal_last = header.journal_first + rows_.row_count - 1;
    header.row_count = rows_.row_count;
    header.first_time = times.front();
    header.last_time = times.back();
    header.pages.push_back({static_cast<uint32_t>(rows_.row_count),
                            static_cast<uint32_t>(page.size()), times.front(), times.back()});
    bytes_ += page.size() + EncodeSegmentHeader(header).size();
    ++bucket_count_;
    rows_ = VersionColumns::For(schema_);
  }

  const TableSchema& schema_;
  const PageRun run_;
  VersionColumns rows_;
  CodecCache cache_;
  testing::Rng random_{11};
  size_t bytes_ = 0;
  size_t bucket_count_ = 0;
};

// TSBS's readings: where each value starts and ends, how far a step goes, digits that are kept.
struct Walk {
  double min, max, step, power;
};
constexpr std::array<Walk, 7> kTruck = {{{-90, 90, 0.01, 1e5},
                                         {-180, 180, 0.01, 1e5},
                                         {0, 5000, 10, 1},
                                         {0, 100, 10, 1},
                                         {0, 360, 5, 1},
                                         {0, 100, 5, 1},
                                         {0, 50, 5, 10}}};

double Unit(testing::Rng* random) {
  return static_cast<double>(random->Next() >> 11) / 9007199254740992.0;
}

}  // namespace

double GatewayBytesPerRow(const PageRun& run) {
  const TableSchema schema = SchemaOf({CqlType::kDouble, CqlType::kDouble, CqlType::kDouble,
                                       CqlType::kDouble, CqlType::kInt, CqlType::kBoolean,
                                       CqlType::kText});
  Buckets buckets(schema, run);
  GatewayWorkload workload(1, 1);
  for (size_t i = 0; i < kBucketCount * run.page_rows; ++i) {
    const GatewayRow row = workload.Next();
    for (size_t v = 0; v < row.values.size(); ++v) {
      buckets.regular(v)->AppendFixed(std::bit_cast<int64_t>(row.values[v]));
    }
    buckets.regular(4)->AppendFixed(row.status);
    buckets.regular(5)->AppendFixed(row.ok ? 1 : 0);
    buckets.regular(6)->AppendBytes(row.mode);
    buckets.EndRow(row.time_ms);
  }
  return buckets.BytesPerRow();
}

double TruckBytesPerRow(const PageRun& run) {
  const TableSchema schema = SchemaOf(std::vector<CqlType>(kTruck.size(), CqlType::kDouble));
  Buckets buckets(schema, run);
  testing::Rng random(12);
  std::array<double, kTruck.size()> values;
  for (size_t v = 0; v < values.size(); ++v) {
    values[v] = kTruck[v].min + (kTruck[v].max - kTruck[v].min) * Unit(&random);
  }
  for (size_t i = 0; i < kBucketCount * run.page_rows; ++i) {
    for (size_t v = 0; v < values.size(); ++v) {
      const Walk& walk = kTruck[v];
      values[v] = std::clamp(values[v] + walk.step * (2 * Unit(&random) - 1), walk.min, walk.max);
      const auto cut = static_cast<double>(static_cast<int64_t>(values[v] * walk.power));
      buckets.regular(v)->AppendFixed(std::bit_cast<int64_t>(cut / walk.power));
    }
    buckets.EndRow(kFirstTimeMs + 10'000 * static_cast<int64_t>(i));
  }
  return buckets.BytesPerRow();
}

}  // namespace cistern::bench
