#include "storage/journal.h"

#include <memory>
#include <string>

#include "lib/base/check.h"
#include "lib/base/crash_point.h"
#include "storage/create_family.h"
#include "storage/family_kind.h"
#include "storage/keyspace.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {

std::unique_ptr<rocksdb::Iterator> Records(const Family& family) {
  rocksdb::ReadOptions options;
  options.total_order_seek = true;
  return std::unique_ptr<rocksdb::Iterator>(family.db()->NewIterator(options, family.handle()));
}

}  // namespace

Status Journal::Adopt(std::vector<NumberedFamily> found, bool may_drop) {
  std::vector<NumberedFamily> empty;
  for (NumberedFamily& f : found) {
    auto it = Records(*f.family);
    it->SeekToFirst();
    const bool has_records = it->Valid();
    if (!it->status().ok()) return ToStatus(it->status(), "reading a journal family");
    (has_records ? active_ : empty).push_back(std::move(f));
  }
  // The coder's state begins anew with each family, so only an empty one can be written;
  // and replay follows the numbers, so it must be above every one with records.
  const uint64_t newest = active_.empty() ? 0 : active_.back().id;
  for (NumberedFamily& f : empty) {
    if (f.id > newest && !fresh_) {
      active_.push_back(std::move(f));
      fresh_ = true;
    } else if (f.id > newest && !next_.family) {
      next_ = std::move(f);
    } else if (may_drop) {
      const rocksdb::Status s = store_->db()->DropColumnFamily(f.family->handle());
      if (!s.ok()) return ToStatus(s, "dropping an empty journal family");
    }
  }
  return Status::Ok();
}

Status Journal::Replay(const Visitor& visit) const {
  std::vector<NumberedFamily> families;
  {
    const std::lock_guard lock(mutex_);
    families = frozen_;
    families.insert(families.end(), active_.begin(), active_.end());
  }
  for (const NumberedFamily& f : families) {
    auto it = Records(*f.family);
    bool new_family = true;
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      const auto sequence = ParseJournalKey({it->key().data(), it->key().size()});
      if (!sequence) return Status::Corruption("journal: a key is not a sequence number");
      CISTERN_RETURN_IF_ERROR(
          visit(*sequence, {it->value().data(), it->value().size()}, new_family));
      new_family = false;
    }
    if (!it->status().ok()) return ToStatus(it->status(), "replaying the journal");
  }
  return Status::Ok();
}

Status Journal::Append(uint64_t sequence, std::string_view record, bool sync) {
  rocksdb::WriteOptions options;
  options.sync = sync;
  // RocksDB lets nobody write while two memtables of a family wait for their flush, which pages of
  // 0.5 MB are enough for. That is over in a moment; to be refused for it would end the opening.
  options.no_slowdown = false;
  const std::string key = JournalKey(sequence);
  CrashPoint("journal:before_append");
  const rocksdb::Status s = store_->db()->Put(options, active_.back().family->handle(), key,
                                              rocksdb::Slice(record.data(), record.size()));
  CrashPoint("journal:after_append");
  if (!s.ok()) return ToStatus(s, "writing the journal");
  active_bytes_ += record.size() + key.size();
  return Status::Ok();
}

Status Journal::Sync() {
  const rocksdb::Status s = store_->db()->SyncWAL();
  return s.ok() ? Status::Ok() : ToStatus(s, "syncing the journal");
}

bool Journal::writable() const {
  const std::lock_guard lock(mutex_);
  return fresh_;
}

bool Journal::next_ready() const {
  const std::lock_guard lock(mutex_);
  return next_.family != nullptr;
}

Status Journal::PrepareNext(uint64_t family_id) {
  CrashPoint("journal:before_create");
  CISTERN_ASSIGN_OR_RETURN(FamilyPtr family,
                           CreateFamily(store_, FamilyKind::kJournal, JournalFamilyName(family_id),
                                        "the next journal family"));
  CrashPoint("journal:after_create");
  NumberedFamily made{family_id, std::move(family)};
  const std::lock_guard lock(mutex_);
  CISTERN_CHECK(!next_.family);
  if (!fresh_) {
    active_.push_back(std::move(made));
    fresh_ = true;
  } else {
    next_ = std::move(made);
  }
  return Status::Ok();
}

void Journal::Switch() {
  const std::lock_guard lock(mutex_);
  CISTERN_CHECK(next_.family && frozen_.empty() && fresh_);
  frozen_ = std::move(active_);
  active_.clear();
  active_.push_back(std::move(next_));
  next_ = {};
  active_bytes_ = 0;
}

Status Journal::DropFrozen() {
  std::vector<NumberedFamily> frozen;
  {
    const std::lock_guard lock(mutex_);
    frozen = frozen_;
  }
  for (const NumberedFamily& f : frozen) {
    CrashPoint("journal:before_drop");
    const rocksdb::Status s = store_->db()->DropColumnFamily(f.family->handle());
    if (!s.ok()) return ToStatus(s, "dropping a journal family");
    CrashPoint("journal:after_drop");
  }
  const std::lock_guard lock(mutex_);
  frozen_.clear();
  return Status::Ok();
}

size_t Journal::family_count() const {
  const std::lock_guard lock(mutex_);
  return active_.size() + frozen_.size() + (next_.family ? 1 : 0);
}

size_t Journal::active_count() const {
  const std::lock_guard lock(mutex_);
  return active_.size();
}

bool Journal::has_frozen() const {
  const std::lock_guard lock(mutex_);
  return !frozen_.empty();
}

}  // namespace cistern
