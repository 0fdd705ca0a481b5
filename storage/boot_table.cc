#include "storage/boot_table.h"

#include <algorithm>

#include "lib/base/check.h"

namespace cistern {

BootTable::BootTable(std::vector<BootRecord> records) : records_(std::move(records)) {
  if (records_.empty()) records_.resize(1);
  Rebuild();
}

std::shared_ptr<const BootBases> BootTable::bases() const {
  const std::lock_guard lock(mutex_);
  return bases_;
}

bool BootTable::complete() const {
  const std::lock_guard lock(mutex_);
  return std::find(bases_->begin() + 1, bases_->end(), 0) == bases_->end();
}

uint32_t BootTable::next_number() const {
  const std::lock_guard lock(mutex_);
  return static_cast<uint32_t>(records_.size());
}

BootRecord BootTable::record(uint32_t boot) const {
  const std::lock_guard lock(mutex_);
  CISTERN_CHECK(boot > 0 && boot < records_.size());
  return records_[boot];
}

void BootTable::Set(uint32_t boot, const BootRecord& record) {
  const std::lock_guard lock(mutex_);
  CISTERN_CHECK(boot > 0 && boot <= records_.size());
  if (boot == records_.size()) {
    records_.push_back(record);
  } else {
    records_[boot] = record;
  }
  Rebuild();
}

void BootTable::Rebuild() {
  auto bases = std::make_shared<BootBases>();
  bases->reserve(records_.size());
  for (const BootRecord& r : records_) bases->push_back(r.base_us);
  bases_ = std::move(bases);
}

}  // namespace cistern
