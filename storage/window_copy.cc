#include "storage/window_copy.h"

#include <algorithm>
#include <utility>

#include "lib/base/concat.h"
#include "lib/base/crash_point.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"

namespace cistern {

namespace {
// Copied or compared, after which a step ends: by pages, and outbox entries are small.
constexpr uint64_t kStepBytes = 128 * 1024;
constexpr uint64_t kStepValues = 1024;
}  // namespace

WindowCopy::WindowCopy(std::shared_ptr<const SpillView> view, WindowMerge merge)
    : meta_(view->meta),
      merge_(std::move(merge)),
      walk_(std::move(view), merge_.sources, merge_.target_id),
      pages_(merge_.target),
      records_(meta_) {
  for (const auto& source : merge_.sources) {
    merge_.sums.confirmed_count += source->record.confirmed_count;
    merge_.sums.confirmed_versions += source->record.confirmed_versions;
    merge_.sums.counted_versions += source->record.counted_versions;
    merge_.sums.read_back_versions += source->record.read_back_versions;
    merge_.sums.dictionaries.insert(merge_.sums.dictionaries.end(),
                                    source->record.dictionaries.begin(),
                                    source->record.dictionaries.end());
    merge_.sums.confirmed_us_last =
        std::max(merge_.sums.confirmed_us_last, source->record.confirmed_us_last);
  }
  std::sort(merge_.sums.dictionaries.begin(), merge_.sums.dictionaries.end(),
            [](const auto& a, const auto& b) { return a.number < b.number; });
}

// Goes on where the last step ended; false: everything was visited, and the next call begins anew.
Result<bool> WindowCopy::VisitSome(const Visitor& visit) {
  uint64_t bytes = 0;
  for (uint64_t values = 0; values < kStepValues && bytes < kStepBytes; ++values) {
    CISTERN_ASSIGN_OR_RETURN(const std::optional<WindowWalk::Value> value, walk_.Next());
    if (!value) {
      walk_.Rest();
      return false;
    }
    CISTERN_RETURN_IF_ERROR(visit(*value));
    bytes += value->key.size() + value->bytes.size();
  }
  walk_.Rest();  // what an iterator holds is not freed while other steps flush
  return true;
}

Result<bool> WindowCopy::Copy() {
  CISTERN_ASSIGN_OR_RETURN(
      const bool more, VisitSome([this](const WindowWalk::Value& value) { return Put(value); }));
  if (!more) CISTERN_RETURN_IF_ERROR(CheckSums());
  return more;
}

Status WindowCopy::Put(const WindowWalk::Value& value) {
  if (value.kind == WindowWalk::Kind::kSegment) {
    pages_.Put(value.key, value.bytes);
    byte_count_ += value.bytes.size();
    return pages_.WriteOut();
  }
  if (value.kind == WindowWalk::Kind::kManifest) {
    CISTERN_ASSIGN_OR_RETURN(const Manifest manifest, DecodeManifest(value.bytes));
    AddSeal(manifest, &merge_.sums);
  }
  records_.Put(value.key, value.bytes);
  byte_count_ += value.key.size() + value.bytes.size();
  record_bytes_ += value.key.size() + value.bytes.size();
  // As many as rotations would flush: they are not to fill the memtable of meta.
  if (record_bytes_ < kMetaFlushBytes) return records_.WriteOut();
  record_bytes_ = 0;
  return records_.Flush();
}

// What is to be dropped was copied as a whole.
Status WindowCopy::CheckSums() const {
  WindowRecord should;
  for (const auto& source : merge_.sources) {
    should.version_count += source->record.version_count;
    should.byte_count += source->record.byte_count;
    should.seal_count += source->record.seal_count;
    should.endless_row_seals += source->record.endless_row_seals;
    should.delete_seals += source->record.delete_seals;
  }
  const WindowRecord& is = merge_.sums;
  if (is.version_count == should.version_count && is.byte_count == should.byte_count &&
      is.seal_count == should.seal_count && is.endless_row_seals == should.endless_row_seals &&
      is.delete_seals == should.delete_seals) {
    return Status::Ok();
  }
  return Status::Corruption("the manifests of the windows do not add up to their records");
}

Status WindowCopy::Flush() {
  CISTERN_RETURN_IF_ERROR(pages_.Flush());
  return records_.Flush();
}

Result<bool> WindowCopy::ReadBack() {
  CrashPoint("merge:before_read_back");
  return VisitSome([this](const WindowWalk::Value& value) { return Check(value); });
}

Status WindowCopy::Check(const WindowWalk::Value& value) const {
  const FamilyPtr& family = value.kind == WindowWalk::Kind::kSegment ? merge_.target : meta_;
  std::string copy;
  const rocksdb::Status s =
      family->db()->Get(rocksdb::ReadOptions(), family->handle(), value.key, &copy);
  if (s.ok() && copy == value.bytes) return Status::Ok();
  const std::string what = Concat({walk_.Place(), ", copied into window ", merge_.target_id});
  if (!s.ok() && !s.IsNotFound()) return ToReadStatus(s, what);
  return Status::Corruption(Concat({what, ": what was read back is not what was written"}));
}

}  // namespace cistern
