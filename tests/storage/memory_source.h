// MemorySource: row versions in memory as a source of merges, and versions told from columns.
#ifndef CISTERN_TESTS_STORAGE_MEMORY_SOURCE_H_
#define CISTERN_TESTS_STORAGE_MEMORY_SOURCE_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "storage/version_source.h"
#include "tests/lib/row/reconcile_model.h"

namespace cistern {

using row_test::Version;

// Versions in memory, cut into chunks; counts how often it was asked.
class MemorySource final : public VersionSource {
 public:
  MemorySource(const TableSchema& schema, const std::vector<Version>& ascending, size_t chunk_rows,
               bool descending)
      : bound_time_(descending ? ascending.back().ts : ascending.front().ts) {
    for (size_t begin = 0; begin < ascending.size(); begin += chunk_rows) {
      auto chunk = std::make_shared<VersionColumns>(VersionColumns::For(schema));
      const size_t end = std::min(begin + chunk_rows, ascending.size());
      for (size_t i = begin; i < end; ++i) row_test::Append(schema, ascending[i], chunk.get());
      chunks_.push_back(std::move(chunk));
    }
    if (!descending) std::reverse(chunks_.begin(), chunks_.end());
  }
  void FailAfter(size_t chunks) { fail_after_ = chunks; }
  void CountAsks(int* asks) { asks_ = asks; }

  [[nodiscard]] int64_t bound_time() const override { return bound_time_; }
  [[nodiscard]] Result<std::shared_ptr<const VersionColumns>> NextChunk() override {
    if (asks_ != nullptr) ++*asks_;
    if (fail_after_-- == 0) return Status::Corruption("page 7 is damaged");
    if (chunks_.empty()) return std::shared_ptr<const VersionColumns>();
    auto chunk = std::move(chunks_.back());
    chunks_.pop_back();
    return chunk;
  }

 private:
  const int64_t bound_time_;
  std::vector<std::shared_ptr<const VersionColumns>> chunks_;  // the next one last
  size_t fail_after_ = SIZE_MAX;
  int* asks_ = nullptr;
};

// One version again, from the columns it was appended to.
inline Version At(const TableSchema& schema, const VersionRef& ref) {
  const VersionColumns& rows = *ref.rows;
  const auto column = [&](const char* name) -> const ColumnData& {
    return rows.columns[*schema.FindColumn(name)];
  };
  Version v;
  v.ts = column("ts").fixed[ref.index];
  v.write_us = rows.write_us[ref.index];
  v.expiry_s = rows.expiry_of(ref.index);
  v.flags = rows.flags[ref.index];
  v.a_state = column("a").state(ref.index);
  if (v.a_state == CellState::kValue) v.a = column("a").fixed[ref.index];
  v.b_state = column("b").state(ref.index);
  if (v.b_state == CellState::kValue) v.b = column("b").bytes(ref.index);
  return v;
}

inline bool Less(const Version& x, const Version& y) {
  return std::tuple(x.write_us, x.expiry_s, x.flags, x.a_state, x.a, x.b_state, x.b) <
         std::tuple(y.write_us, y.expiry_s, y.flags, y.a_state, y.a, y.b_state, y.b);
}

}  // namespace cistern

#endif  // CISTERN_TESTS_STORAGE_MEMORY_SOURCE_H_
