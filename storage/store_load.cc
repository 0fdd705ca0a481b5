// Opening: what meta says of the store, which of its records are damaged, and which
// families count.
#include <algorithm>
#include <utility>

#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "storage/damage_advice.h"
#include "storage/keyspace.h"
#include "storage/repair_mark.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"
#include "storage/store.h"

namespace cistern {

namespace {

constexpr uint64_t kDropHeadroomBytes = 512 * 1024;  // records of dropped families
constexpr size_t kMissingBootsMax = 1024;            // more is no boot number

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// Manifests and outbox entries are as many as there are sealed buckets: opening does not look at
// them. What is remembered of pushes is read when the windows are known.
bool IsReadElsewhere(std::string_view key) {
  return key.starts_with('M') || key.starts_with('O') || key.starts_with(kPushKeyPrefix);
}

}  // namespace

// The numbered families of the database, ascending, each owned by whoever uses it.
struct Store::FoundFamilies {
  std::vector<Journal::NumberedFamily> journals;
  std::vector<Journal::NumberedFamily> spills;
  std::vector<Journal::NumberedFamily> windows;
};

Status Store::Load(bool read_only, RecoveryReport* report) {
  auto& families = db_->opened().families;
  const auto meta = families.find(std::string(kMetaFamilyName));
  if (meta == families.end()) {
    return Status::Corruption(Concat({"the store has no family 'meta'",
        SalvageAdvice(directory())}));
  }
  meta_ = std::make_shared<Family>(db_, meta->second);
  families.erase(meta);
  journal_ = std::make_unique<Journal>(db_);
  CISTERN_RETURN_IF_ERROR(LoadMeta());
  CISTERN_RETURN_IF_ERROR(LoadPushes(read_only, report));
  // Before any family is dropped.
  bool may_drop = false;
  if (read_only) {
    CISTERN_RETURN_IF_ERROR(CheckAgainstCopy());
  } else {
    CISTERN_ASSIGN_OR_RETURN(may_drop, OpenCopy());
    FlushLoggedMeta();
    CISTERN_RETURN_IF_ERROR(EndRepair(db_->opened().fs.get(), db_->opened().config.directory));
  }
  may_drop = may_drop && CheckDevice(kDropHeadroomBytes).ok();
  FoundFamilies found = TakeFamilies();
  CISTERN_RETURN_IF_ERROR(LoadSpillFamilies(&found, may_drop));
  for (DamagedRecord& damaged : damaged_) {
    damaged.what += SalvageAdvice(directory());  // which has the record of the copy
    NoteDamage(damaged.what, report);
  }
  report->records_damaged += damaged_.size();
  report->versions_quarantined = versions_quarantined_;
  if (!damaged_.empty() || !db_->opened().lost_tables.empty()) {
    FindDamage(report);
  }
  if (!read_only) KeepEndedSeals(may_drop);
  return journal_->Adopt(std::move(found.journals), may_drop);
}

Status Store::LoadMeta() {
  boots_.resize(1);
  std::unique_ptr<rocksdb::Iterator> it(
      db_->db()->NewIterator(MetaIteratorOptions(), meta_->handle()));
  for (it->SeekToFirst(); it->Valid();) {
    if (IsReadElsewhere(View(it->key()))) {
      it->Seek(std::string(1, static_cast<char>(it->key()[0] + 1)));
      continue;
    }
    CISTERN_RETURN_IF_ERROR(LoadRecord(View(it->key()), View(it->value())));
    it->Next();
  }
  if (!it->status().ok()) return Essential(ToReadStatus(it->status(), "reading it"));
  next_sequence_ = state_.sequence_reserved;
  return Status::Ok();
}

// Damage to what nothing can be read without; what a newer version wrote stays kTooNew.
Status Store::Essential(const Status& status, const std::string& prefix) const {
  if (status.code() != StatusCode::kCorruption) return status;
  return Status::Corruption(Concat({"meta: ", prefix, status.message(),
      SalvageAdvice(directory())}));
}

// Whether every family that counts is there.
Status Store::CheckFamilies() const {
  const auto& families = db_->opened().families;
  for (const auto& [id, record] : spill_records_) {
    const bool is_needed = !record.superseded && record.version_count > 0;
    if (is_needed && !families.contains(SpillFamilyName(id))) {
      return Essential(Status::Corruption("spill family " + std::to_string(id) + " is missing"));
    }
  }
  for (const auto& [id, record] : window_records_) {
    if (!record.ended && !families.contains(WindowFamilyName(id))) {
      return Essential(Status::Corruption("a window that has a record has no family"));
    }
  }
  return Status::Ok();
}

Status Store::LoadRecord(std::string_view key, std::string_view value) {
  if (key == kStateKey) {
    auto state = DecodeState(value);
    if (!state.ok()) return Essential(state.status());
    state_ = *std::move(state);
    return Status::Ok();
  }
  if (key.size() == 9 && key[0] == 'T') {
    return LoadTableRecord(GetBig<uint32_t>(key.data() + 1), GetBig<uint32_t>(key.data() + 5),
                           value);
  }
  if (key.size() == 5 && key[0] == 'B') {
    return LoadBootRecord(GetBig<uint32_t>(key.data() + 1), value);
  }
  if (key.size() == 9 && key[0] == 'S') {
    return LoadSpillRecord(GetBig<uint64_t>(key.data() + 1), value);
  }
  if (key.size() == 9 && key[0] == 'W') {
    const auto id = GetBig<uint64_t>(key.data() + 1);
    auto window = DecodeWindow(value);
    if (!window.ok()) return Essential(window.status(), Concat({"window ", id, ", "}));
    window_records_[id] = *std::move(window);
    return Status::Ok();
  }
  return Essential(Status::Corruption("a key of unknown kind"));
}

// Every version is needed: it tells how older segments are laid out, and which columns were
// dropped since.
Status Store::LoadTableRecord(uint32_t table_id, uint32_t schema_version, std::string_view value) {
  const std::string where = Concat({"table ", table_id,
      (schema_version == 0 ? std::string() : ", version " + std::to_string(schema_version))});
  std::vector<TableRecord>& versions = tables_[table_id];
  if (versions.size() != schema_version) {
    return Essential(Status::Corruption(Concat({where, ": the version before it is missing"})));
  }
  auto record = DecodeTable(value);
  if (!record.ok()) return Essential(record.status(), where + ", ");
  versions.push_back(*std::move(record));
  return Status::Ok();
}

// Rows of a boot without a record keep their place in time by base 0 (lib/row/reconcile.h).
Status Store::LoadBootRecord(uint32_t boot, std::string_view value) {
  const auto give_up = [this](const std::string& why) {
    const std::string record = Concat({"boot record ", boots_.size(), " "});
    damaged_.push_back({Concat({record, why, ": its rows yield to all others and do not "
        "expire"}), 0, {}});
    boots_.push_back({.boot_id = {}, .resolved = true});
  };
  if (boot < boots_.size() || boot - boots_.size() > kMissingBootsMax) {
    return Essential(Status::Corruption(Concat({"boot record ", boot, " out of order"})));
  }
  while (boots_.size() < boot) give_up("is missing");
  auto record = DecodeBoot(value);
  if (record.ok()) {
    boots_.push_back(*std::move(record));
  } else if (record.status().code() == StatusCode::kCorruption) {
    give_up(Concat({"is damaged (", record.status().message(), ")"}));
  } else {
    return record.status();
  }
  return Status::Ok();
}

Status Store::LoadSpillRecord(uint64_t family_id, std::string_view value) {
  auto record = DecodeSpill(value);
  if (record.ok()) {
    spill_records_[family_id] = *std::move(record);
  } else if (record.status().code() == StatusCode::kCorruption) {
    damaged_.push_back({Concat({"the record of spill family ", family_id, " is damaged (",
        record.status().message(), ")"}),
                        family_id, nullptr});
  } else {
    return record.status();
  }
  return Status::Ok();
}

// Names sort as their numbers do.
Store::FoundFamilies Store::TakeFamilies() {
  FoundFamilies found;
  auto& families = db_->opened().families;
  for (auto it = families.begin(); it != families.end();) {
    const std::optional<FamilyKind> kind = FamilyKindOf(it->first);
    const std::optional<uint64_t> number = FamilyNumberOf(it->first);
    if (!kind || !number) {
      ++it;
      continue;
    }
    if (*number >= next_sequence_) next_sequence_ = *number + 1;
    auto& kin = *kind == FamilyKind::kJournal ? found.journals
                : *kind == FamilyKind::kSpill ? found.spills
                                              : found.windows;
    auto family = std::make_shared<Family>(db_, it->second);
    it = families.erase(it);  // it has one owner at any time
    kin.push_back({*number, std::move(family)});
  }
  return found;
}

// Spill families with a live record make the view. Superseded and unborn ones are dropped,
// unless row versions are missing that they may hold.
Status Store::LoadSpillFamilies(FoundFamilies* found, bool may_drop) {
  CountQuarantined();
  auto view = std::make_shared<SpillView>();
  view->round_last = next_sequence_ - 1;  // above every round that there was
  view->versions_superseded = state_.versions_superseded;
  view->versions_expired = state_.versions_expired;
  view->versions_shed = state_.versions_shed;
  view->versions_parked = VersionsParked();
  may_drop = may_drop && versions_quarantined_ == 0;
  for (auto& [id, family] : found->spills) {
    const auto record = spill_records_.find(id);
    const auto damaged = std::find_if(damaged_.begin(), damaged_.end(),
                                      [id = id](const auto& d) { return d.family_id == id; });
    if (damaged != damaged_.end()) {
      damaged->what += ": its segments are kept and not read";
      damaged->family = std::move(family);
      view->set_aside.push_back(id);
    } else if (record != spill_records_.end() && !record->second.superseded) {
      view->families.push_back(
          std::make_shared<const SpillFamily>(id, std::move(family), record->second));
    } else if (may_drop) {
      CISTERN_RETURN_IF_ERROR(DropSpill(id, family));
    } else if (record == spill_records_.end() && versions_quarantined_ > 0) {
      damaged_.push_back({Concat({"spill family ", id, " has no record, and row versions are "
          "missing: its segments are kept and not read"}),
                          id, std::move(family)});
    }
  }
  CISTERN_RETURN_IF_ERROR(LoadWindows(found, may_drop, view.get()));
  spills_.Publish(std::move(view));
  return Status::Ok();
}

// A window without a record was made for a round or a merge that did not end. The family of one
// that has ended is left to maintenance.
Status Store::LoadWindows(FoundFamilies* found, bool may_drop, SpillView* view) {
  view->meta = meta_;
  for (auto& [id, family] : found->windows) {
    const auto record = window_records_.find(id);
    if (record != window_records_.end() && record->second.ended) {
      ended_families_[id] = std::move(family);
    } else if (record != window_records_.end()) {
      view->windows.push_back(
          std::make_shared<const WindowFamily>(id, std::move(family), record->second));
    } else if (may_drop) {
      CISTERN_RETURN_IF_ERROR(AbandonWindow(id, family));
    }
  }
  for (const auto& [id, record] : window_records_) {
    if (record.ended) view->ended.push_back({id, record.span});
  }
  return Status::Ok();
}

// Every row version up to the journal floor was superseded, has expired or was shed, or is
// in a live spill family or a window: the same batches move all counts.
uint64_t Store::CountAccounted() const {
  uint64_t accounted =
      state_.versions_superseded + state_.versions_expired + state_.versions_shed;
  for (const auto& [id, record] : spill_records_) {
    if (!record.superseded) accounted += record.version_count - record.sealed_count;
  }
  for (const auto& [id, record] : window_records_) {
    if (!record.ended) accounted += record.version_count;
  }
  return accounted;
}

void Store::CountQuarantined() {
  versions_quarantined_ =
      state_.versions_written - std::min(CountAccounted(), state_.versions_written);
}

}  // namespace cistern
