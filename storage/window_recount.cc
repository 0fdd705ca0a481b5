#include "storage/window_recount.h"

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>

#include "lib/base/coding.h"
#include "storage/keyspace.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"

namespace cistern {

Result<std::vector<uint64_t>> ListLoggedWindows(const FamilyPtr& meta) {
  rocksdb::ReadOptions options = MetaIteratorOptions();
  options.read_tier = rocksdb::kMemtableTier;
  std::vector<uint64_t> windows;
  const std::unique_ptr<rocksdb::Iterator> it(meta->db()->NewIterator(options, meta->handle()));
  const std::string first = WindowKey(0);
  for (it->Seek(first); it->Valid() && it->key()[0] == first[0]; it->Next()) {
    if (it->key().size() != first.size()) return Status::Corruption("a window's key is too long");
    windows.push_back(GetBig<uint64_t>(it->key().data() + 1));
  }
  if (!it->status().ok()) return ToReadStatus(it->status(), "reading the records of windows");
  return windows;
}

Result<std::vector<uint64_t>> ListWaiting(const FamilyPtr& meta, uint64_t window_id) {
  std::vector<uint64_t> waiting;
  const std::unique_ptr<rocksdb::Iterator> it(
      meta->db()->NewIterator(MetaIteratorOptions(), meta->handle()));
  const std::string prefix = OutboxKeyFrom(window_id);
  for (it->Seek(prefix); it->Valid() && it->key().starts_with(prefix); it->Next()) {
    if (it->key().size() != prefix.size() + sizeof(uint64_t)) continue;
    waiting.push_back(GetBig<uint64_t>(it->key().data() + prefix.size()));
  }
  if (!it->status().ok()) return ToReadStatus(it->status(), "reading the outbox");
  return waiting;
}

Result<WindowCount> CountWindow(const FamilyPtr& meta, uint64_t window_id) {
  CISTERN_ASSIGN_OR_RETURN(const std::vector<uint64_t> waiting, ListWaiting(meta, window_id));
  rocksdb::ReadOptions options = MetaIteratorOptions();
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(meta->db()->NewIterator(options, meta->handle()));
  WindowCount count;
  count.sums.emplace();
  Manifest manifest;
  for (it->Seek(ManifestKeyFrom(window_id, "")); it->Valid(); it->Next()) {
    const auto name = ParseManifestKey(it->key().ToStringView());
    if (!name || name->window_id != window_id) break;
    const bool waits = std::binary_search(waiting.begin(), waiting.end(), name->seal);
    ++count.manifest_count;
    count.confirmed_count += waits ? 0 : 1;
    if (!DecodeManifest(it->value().ToStringView(), &manifest).ok()) count.sums.reset();
    if (!count.sums) continue;
    AddSeal(manifest, &*count.sums);
    if (!waits) AddConfirmed(manifest, &*count.sums);
  }
  if (!it->status().ok()) return ToReadStatus(it->status(), "reading manifests");
  count.stray_count = waiting.size() - (count.manifest_count - count.confirmed_count);
  return count;
}

bool CountsSealsOf(const WindowRecord& record, const WindowCount& found) {
  if (found.manifest_count != record.seal_count || found.stray_count > 0) return false;
  const auto sums = [](const WindowRecord& r) {
    return std::tuple(r.version_count, r.byte_count, r.endless_row_seals, r.delete_seals);
  };
  return !found.sums || sums(*found.sums) == sums(record);
}

bool CallsMoreConfirmed(const WindowRecord& record, const WindowCount& found) {
  if (found.confirmed_count != record.confirmed_count) {
    return found.confirmed_count < record.confirmed_count;
  }
  const auto sums = [](const WindowRecord& r) {
    return std::tuple(r.confirmed_versions, r.counted_versions, r.read_back_versions);
  };
  return found.sums && sums(*found.sums) != sums(record);
}

}  // namespace cistern
