#include "bench/peers/peer_life.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <utility>

#include "bench/peers/process_usage.h"

namespace cistern::bench {

namespace {

constexpr uint32_t kSampledEntities = 10;
constexpr double kTimedCpuS = 0.1;      // a scan is repeated until it has taken so much
constexpr double kSumTolerance = 1e-9;  // relative: engines add in orders of their own
constexpr uint64_t kMemorySamples = 100;

template <typename Target>
class FoldInto : public RowVisitor {
 public:
  FoldInto(const PeerTable& table, Target* target) : table_(table), target_(target) {}
  void Visit(const RowView& row) override { target_->Add(table_, row); }

 private:
  const PeerTable& table_;
  Target* target_;
};

bool IsSampled(const PeerTable& table, uint32_t entity) {
  return entity % std::max(1u, table.entity_count / kSampledEntities) == 0;
}

int64_t FirstBucketEndMs(const PeerTable& table) {
  return table.first_time_ms + int64_t{table.bucket_seconds} * 1000;
}

// One engine through one life, in the process that is measured.
class Life {
 public:
  Life(const PeerKind& kind, const PeerWorkload& workload, const Truth& truth,
       const LifeOptions& options)
      : kind_(kind),
        workload_(workload),
        table_(workload.table),
        truth_(truth),
        options_(options) {}

  Status Open() {
    CISTERN_ASSIGN_OR_RETURN(peer_, kind_.open({table_, options_.directory}));
    return Status::Ok();
  }

  Status AppendAll() {
    const auto source = workload_.make(options_.rows);
    RowBlock block(table_.columns.size());
    const uint64_t sample_every =
        std::max<uint64_t>(1, options_.rows / options_.batch_rows / kMemorySamples);
    bool more = true;
    for (uint64_t batch = 0; more && rows_ < options_.rows; ++batch) {
      block.Clear();
      while (more && block.size() < options_.batch_rows) more = source->Next(&block);
      if (block.size() != 0) CISTERN_RETURN_IF_ERROR(peer_->Append(block));
      rows_ += block.size();
      if (batch % sample_every == 0) SampleMemory();
    }
    return Status::Ok();
  }

  Status AppendAndSettle() {
    ForgetPeakMemory();
    const uint64_t start_rss_kib = StatusKib("VmRSS");
    const uint64_t start_anonymous_kib = StatusKib("RssAnon");
    const ProcessUsage start = ProcessUsage::Now();
    CISTERN_RETURN_IF_ERROR(AppendAll());
    const ProcessUsage append = ProcessUsage::Now() - start;
    CISTERN_RETURN_IF_ERROR(peer_->Settle());
    SampleMemory();
    const ProcessUsage rest = ProcessUsage::Now() - start;
    figures_[figure::kAppendRate] = static_cast<double>(rows_) / append.wall_s;
    figures_[figure::kAppendCpu] = PerRow(append.cpu_s * 1e9);
    figures_[figure::kRestCpu] = PerRow(rest.cpu_s * 1e9);
    figures_[figure::kKernelBytes] = PerRow(static_cast<double>(rest.kernel_bytes));
    figures_[figure::kDeviceBytes] = PerRow(static_cast<double>(rest.device_bytes));
    figures_[figure::kDiskBytes] = PerRow(static_cast<double>(BytesOnDisk(options_.directory)));
    figures_[figure::kLogicalBytes] = truth_.logical_bytes_per_row;
    figures_[figure::kPeakRss] = Mib(StatusKib("VmHWM"), start_rss_kib);
    figures_[figure::kPeakAnonymous] = Mib(peak_anonymous_kib_, start_anonymous_kib);
    return Status::Ok();
  }

  Status CompareAll() {
    RowDigest digest;
    FoldInto<RowDigest> fold(table_, &digest);
    CISTERN_RETURN_IF_ERROR(peer_->ScanRows(&fold));
    if (digest != truth_.digest) {
      return Status::Corruption(fmt::format(
          "{} gives {} rows with digest {:016x} instead of {} with {:016x}", kind_.name,
          digest.rows, digest.sum, truth_.digest.rows, truth_.digest.sum));
    }
    return Status::Ok();
  }

  Status TimeReads() {
    CISTERN_RETURN_IF_ERROR(Time(figure::kScanRows, [&](uint64_t* rows) -> Status {
      RowSums sums;
      FoldInto<RowSums> fold(table_, &sums);
      CISTERN_RETURN_IF_ERROR(peer_->ScanRows(&fold));
      *rows += sums.rows;
      return CompareSums(sums);
    }));
    CISTERN_RETURN_IF_ERROR(Time(figure::kScanColumns, [&](uint64_t* rows) -> Status {
      RowSums sums;
      CISTERN_RETURN_IF_ERROR(peer_->ScanColumns(&sums));
      *rows += sums.rows;
      return CompareSums(sums);
    }));
    auto next = truth_.aggregates.begin();
    CISTERN_RETURN_IF_ERROR(Time(figure::kAggregate, [&](uint64_t* values) -> Status {
      if (next == truth_.aggregates.end()) next = truth_.aggregates.begin();
      CISTERN_RETURN_IF_ERROR(CompareAggregate(next->first, next->second));
      *values += next++->second.count;
      return Status::Ok();
    }));
    for (const auto& [entity, right] : truth_.aggregates) {
      CISTERN_RETURN_IF_ERROR(CompareAggregate(entity, right));
    }
    return Status::Ok();
  }

  Status DropWindow() {
    const auto before = static_cast<double>(BytesOnDisk(options_.directory));
    const ProcessUsage start = ProcessUsage::Now();
    CISTERN_RETURN_IF_ERROR(peer_->DropBefore(FirstBucketEndMs(table_)));
    const ProcessUsage drop = ProcessUsage::Now() - start;
    const auto after = static_cast<double>(BytesOnDisk(options_.directory));
    figures_[figure::kDropMs] = drop.wall_s * 1e3;
    figures_[figure::kDropKib] = static_cast<double>(drop.kernel_bytes) / 1024;
    figures_[figure::kDropReturned] =
        (before - after) / static_cast<double>(truth_.rows_of_first_bucket);
    return Status::Ok();
  }

  void AddOwnFigures() {
    for (const auto& [name, value] : peer_->OwnFigures(rows_)) figures_[name] = value;
  }

  Status TimeReopen() {
    const ProcessUsage start = ProcessUsage::Now();
    CISTERN_RETURN_IF_ERROR(Open());
    const ProcessUsage reopen = ProcessUsage::Now() - start;
    figures_[figure::kReopenMs] = reopen.wall_s * 1e3;
    figures_[figure::kReopenCpu] = reopen.cpu_s * 1e3;
    return CompareAll();
  }

  Status Tell(int answer_fd) {
    std::string text;
    for (const auto& [name, value] : figures_) text += fmt::format("{}\t{}\n", name, value);
    if (write(answer_fd, text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
      return Status::Ok();
    }
    return Status::IoError("the figures could not be handed over");
  }

 private:
  [[nodiscard]] double PerRow(double value) const { return value / static_cast<double>(rows_); }
  static double Mib(uint64_t peak_kib, uint64_t start_kib) {
    return static_cast<double>(std::max(peak_kib, start_kib) - start_kib) / 1024;
  }
  void SampleMemory() {
    peak_anonymous_kib_ = std::max(peak_anonymous_kib_, StatusKib("RssAnon"));
  }

  // CPU for each of what `pass` counts.
  template <typename Pass>
  Status Time(const char* name, const Pass& pass) {
    uint64_t count = 0;
    double cpu_s = 0;
    for (const double start = ProcessUsage::Now().cpu_s; cpu_s < kTimedCpuS;
         cpu_s = ProcessUsage::Now().cpu_s - start) {
      CISTERN_RETURN_IF_ERROR(pass(&count));
    }
    figures_[name] = cpu_s * 1e9 / static_cast<double>(count);
    return Status::Ok();
  }

  Status CompareSums(const RowSums& sums) const {
    if (sums == truth_.sums) return Status::Ok();
    return Status::Corruption(kind_.name + " scans other rows than were appended");
  }

  Status CompareAggregate(uint32_t entity, const PeerAggregate& right) {
    CISTERN_ASSIGN_OR_RETURN(const PeerAggregate found,
                             peer_->Aggregate(entity, workload_.aggregated_column));
    const bool is_equal = found.count == right.count && found.min == right.min &&
                          found.max == right.max &&
                          std::abs(found.sum - right.sum) <= kSumTolerance * std::abs(right.sum);
    if (is_equal) return Status::Ok();
    return Status::Corruption(fmt::format(
        "{} aggregates entity {} to {} values, {} to {}, sum {} instead of {}, {} to {}, sum {}",
        kind_.name, entity, found.count, found.min, found.max, found.sum, right.count, right.min,
        right.max, right.sum));
  }

  const PeerKind& kind_;
  const PeerWorkload& workload_;
  const PeerTable& table_;
  const Truth& truth_;
  const LifeOptions& options_;
  std::unique_ptr<Peer> peer_;
  uint64_t rows_ = 0;
  uint64_t peak_anonymous_kib_ = 0;
  Figures figures_;
};

Figures ParseFigures(const std::string& text) {
  Figures figures;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    if (tab != std::string::npos) figures[line.substr(0, tab)] = std::stod(line.substr(tab + 1));
  }
  return figures;
}

// The directory, new and empty; gone again with this.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ScratchDirectory() { std::filesystem::remove_all(path_); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

 private:
  const std::string path_;
};

}  // namespace

Truth TruthOf(const PeerWorkload& workload, uint64_t rows) {
  Truth truth;
  const auto source = workload.make(rows);
  const PeerTable& table = workload.table;
  RowBlock block(table.columns.size());
  uint64_t heap_bytes = 0;
  while (truth.digest.rows < rows && source->Next(&block)) {
    const RowView row = block.Row(0);
    truth.digest.Add(table, row);
    truth.sums.Add(table, row);
    heap_bytes += block.heap_bytes();
    if (row.time_ms < FirstBucketEndMs(table)) ++truth.rows_of_first_bucket;
    const size_t column = workload.aggregated_column;
    if (IsSampled(table, row.entity) && !row.IsNull(column)) {
      const bool is_double = table.columns[column].type == CellType::kDouble;
      truth.aggregates[row.entity].Add(is_double ? row.Double(column)
                                                 : static_cast<double>(row.cells[column]));
    }
    block.Clear();
  }
  truth.logical_bytes_per_row =
      static_cast<double>(table.LogicalBytes({})) +
      static_cast<double>(heap_bytes) / static_cast<double>(truth.digest.rows);
  return truth;
}

Result<Figures> MeasureLife(const PeerKind& kind, const PeerWorkload& workload, const Truth& truth,
                            const LifeOptions& options) {
  const ScratchDirectory directory(options.directory);
  const bool is_generator = kind.name == kGenerator;
  CISTERN_ASSIGN_OR_RETURN(const ChildAnswer answer, RunChild([&](int answer_fd) -> Status {
    Life life(kind, workload, truth, options);
    CISTERN_RETURN_IF_ERROR(life.Open());
    CISTERN_RETURN_IF_ERROR(life.AppendAndSettle());
    if (!is_generator) CISTERN_RETURN_IF_ERROR(life.CompareAll());
    if (!is_generator && options.reads) CISTERN_RETURN_IF_ERROR(life.TimeReads());
    if (workload.ends_window && kind.can_drop) {
      CISTERN_RETURN_IF_ERROR(life.DropWindow());
    } else {
      life.AddOwnFigures();
    }
    return life.Tell(answer_fd);
  }));
  return ParseFigures(answer.text);
}

Result<Figures> MeasureReopen(const PeerKind& kind, const PeerWorkload& workload,
                              const Truth& truth, const LifeOptions& options) {
  const ScratchDirectory directory(options.directory);
  CISTERN_ASSIGN_OR_RETURN(const ChildAnswer killed, RunChild([&](int) -> Status {
    Life life(kind, workload, truth, options);
    CISTERN_RETURN_IF_ERROR(life.Open());
    CISTERN_RETURN_IF_ERROR(life.AppendAll());
    raise(SIGKILL);
    return Status::Internal("it lives on");
  }));
  if (!killed.was_killed) return Status::Internal("the process that appends was not killed");
  CISTERN_ASSIGN_OR_RETURN(const ChildAnswer answer, RunChild([&](int answer_fd) -> Status {
    Life life(kind, workload, truth, options);
    CISTERN_RETURN_IF_ERROR(life.TimeReopen());
    return life.Tell(answer_fd);
  }));
  return ParseFigures(answer.text);
}

}  // namespace cistern::bench
