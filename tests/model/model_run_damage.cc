// ModelRun: a flipped bit in a file of segments. Only what is named may be missing.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "tests/model/model_run.h"

namespace cistern::testing {

namespace {

namespace fs = std::filesystem;

constexpr size_t kFilesMax = 3;  // damaged one after the other

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> TablesIn(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::error_code error;
    const bool has_bytes = entry.file_size(error) > 0 && !error;
    if (entry.path().extension() == ".sst" && has_bytes) files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

bool IsInGap(const std::vector<ScanGap>& gaps, int64_t time) {
  return std::any_of(gaps.begin(), gaps.end(), [time](const ScanGap& gap) {
    return time >= gap.first_time && time <= gap.last_time;
  });
}

bool AllLocated(const std::vector<ScanGap>& gaps) {
  return std::all_of(gaps.begin(), gaps.end(), [](const ScanGap& gap) { return gap.located; });
}

}  // namespace

std::string ModelRun::CheckDamage(Rng* rng) {
  producer_.reset();
  if (const Status s = engine_->Close(); !s.ok()) return "Close: " + s.ToString();
  engine_.reset();
  for (size_t n = 0; n < kFilesMax; ++n) {
    const std::vector<std::string> files = TablesIn(directory_);  // an opening may remove some
    if (files.empty()) break;
    const std::string path = files[rng->Below(files.size())];
    const std::string whole = ReadFile(path);
    std::string damaged = whole;
    const size_t at = rng->Below(whole.size());
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << rng->Below(8)));
    WriteFile(path, damaged);
    std::string problem = Open();
    const bool is_catalog = problem.find("catalog") != std::string::npos ||
                            problem.find("meta: ") != std::string::npos;
    if (engine_ == nullptr && is_catalog) problem.clear();
    if (engine_ != nullptr && problem.empty()) problem = CheckDamaged();
    if (engine_ != nullptr && problem.empty() && rng->OneIn(8)) problem = SealDamaged();
    if (!problem.empty()) return path + " damaged at " + std::to_string(at) + ": " + problem;
    producer_.reset();
    engine_.reset();
    WriteFile(path, whole);
  }
  return Open();
}

// What is damaged stays open, and is there again with the file. RocksDB may meet the damage
// itself and write no more: then the store is opened anew, which takes it out of the way.
std::string ModelRun::SealDamaged() {
  Status s;
  for (int tries = 0; tries < 3; ++tries) {
    s = engine_->Seal({.due_only = false}).status();
    if (s.ok()) s = engine_->Expire().status();
    if (s.ok() || s.code() == StatusCode::kCorruption) return "";
    clock_->AdvanceSeconds(61);  // beyond the pause before it is opened
    if (const auto report = engine_->Tick(); !report.ok()) s = report.status();
  }
  return "Seal: " + s.ToString();
}

std::string ModelRun::CheckDamaged() {
  for (const Table& table : tables_) {
    for (const auto& [entity, visible] : table.model->Entities(NowSeconds())) {
      std::string problem = CheckGaps(table, entity);
      if (!problem.empty()) return problem;
    }
  }
  const Metrics m = engine_->GetMetrics();
  if (m.versions_written != m.versions_open + m.versions_sealed + m.versions_superseded +
                                m.versions_expired + m.versions_quarantined) {
    return "the counters do not add up: " + std::to_string(m.versions_quarantined) +
           " versions are quarantined";
  }
  return "";
}

// Outside of the gaps that a scan names it gives what the model has. Where it is not known
// whose rows are lost older versions may show, and the scan says so.
std::string ModelRun::CheckGaps(const Table& table, const std::string& entity) {
  ScanRequest request;
  request.table = table.name;
  request.entity.bytes = entity;
  request.limit = 1'000'000;
  auto cursor = engine_->Scan(request);
  if (!cursor.ok()) return "Scan: " + cursor.status().ToString();
  std::vector<VisibleRow> actual;
  ResultBatch batch;
  while ((*cursor)->Next(&batch)) {
    for (size_t i = 0; i < batch.row_count; ++i) {
      actual.push_back(RowOfBatch(table.random->schema(), (*cursor)->columns(), batch, i));
    }
  }
  const std::vector<ScanGap>& gaps = (*cursor)->gaps();
  const StatusCode code = (*cursor)->status().code();
  if (code == StatusCode::kCorruption && gaps.empty()) {
    // A manifest or a block of headers: the scan names it and goes no further.
    return (*cursor)->status().message().find("manifest") != std::string::npos
               ? ""
               : "a scan ends early: " + (*cursor)->status().ToString();
  }
  if (code != (gaps.empty() ? StatusCode::kOk : StatusCode::kCorruption)) {
    return "a scan with " + std::to_string(gaps.size()) +
           " gaps ends with " + (*cursor)->status().ToString();
  }
  if (!AllLocated(gaps)) return "";
  std::vector<VisibleRow> expected =
      table.model->Scan(entity, request.from, request.to, NowSeconds());
  const auto is_in_gap = [&](const VisibleRow& row) {
    return IsInGap(gaps, table.model->TimeOf(table.model->KeyOf(row)));
  };
  std::erase_if(expected, is_in_gap);
  std::erase_if(actual, is_in_gap);  // of other splits, which are other partitions
  std::string diff = DiffRows(table.random->schema(), (*cursor)->columns(), expected, actual);
  if (diff.empty()) return "";
  for (const ScanGap& gap : gaps) {
    diff += "\ngap from " + std::to_string(gap.first_time) + " to " +
            std::to_string(gap.last_time) + ": " + gap.what;
  }
  return diff;
}

}  // namespace cistern::testing
