#include "storage/window_copy.h"

#include <algorithm>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/crash_point.h"
#include "storage/keyspace.h"
#include "storage/rocksdb_options.h"
#include "storage/rocksdb_status.h"
#include "storage/seal_reader.h"
#include "storage/spill_reader.h"

namespace cistern {

namespace {

constexpr uint64_t kStepBytes = 128 * 1024;  // copied or compared, after which a step ends
constexpr uint64_t kStepEntries = 1024;      // of the outbox

std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// The smallest key behind `key`.
std::string Behind(const std::string& key) {
  return key + '\0';
}

Result<std::string> Read(const FamilyPtr& family, const std::string& key,
                         const std::string& where) {
  std::string value;
  const rocksdb::Status s =
      family->db()->Get(rocksdb::ReadOptions(), family->handle(), key, &value);
  if (s.IsNotFound()) return Status::Corruption(where + " is missing");
  if (!s.ok()) return ToReadStatus(s, where);
  return value;
}

// Reads one seal's header and pages as they are stored, header first.
using ValueVisitor = std::function<Status(const std::string& key, const std::string& value)>;
Status VisitValues(const WindowFamily& source, const ManifestName& name,
                   const ValueVisitor& visit) {
  const std::string where = "seal " + std::to_string(name.seal) + " in " + source.Name();
  const uint64_t round = RotationOf(name.seal);
  const std::string header_key = HeaderKey(round, name.bucket);
  CISTERN_ASSIGN_OR_RETURN(const std::string header,
                           Read(source.family, header_key, "the header of " + where));
  const auto family = std::make_shared<const SegmentFamily>(source);
  CISTERN_ASSIGN_OR_RETURN(const SegmentRef segment, MakeSegmentRef(family, round, header));
  if (segment.id != name.seal) {
    return Status::Corruption(where + ": its segment has another number");
  }
  CISTERN_RETURN_IF_ERROR(visit(header_key, header));
  for (uint32_t page = 0; page < segment.header.pages.size(); ++page) {
    CISTERN_ASSIGN_OR_RETURN(const std::string bytes, ReadPage(segment, page));
    CISTERN_RETURN_IF_ERROR(visit(PageKey(name.seal, page), bytes));
  }
  return Status::Ok();
}

}  // namespace

WindowCopy::WindowCopy(std::shared_ptr<const SpillView> view, WindowMerge merge)
    : view_(std::move(view)),
      merge_(std::move(merge)),
      pages_(merge_.target),
      records_(view_->meta) {
  for (const auto& source : merge_.sources) {
    merge_.sums.confirmed_count += source->record.confirmed_count;
    merge_.sums.confirmed_us_last =
        std::max(merge_.sums.confirmed_us_last, source->record.confirmed_us_last);
  }
}

// Goes on where the last step ended, up to kStepBytes; false: everything was visited, and the
// next call begins anew.
Result<bool> WindowCopy::VisitSeals(const SealVisitor& visit) {
  const auto it = NewManifestIterator(*view_);
  for (step_bytes_ = 0; source_ < merge_.sources.size(); ++source_, last_key_.clear()) {
    const WindowFamily& source = *merge_.sources[source_];
    const std::string prefix = ManifestKeyFrom(source.id, "");
    it->Seek(last_key_.empty() ? prefix : Behind(last_key_));
    for (; it->Valid() && View(it->key()).starts_with(prefix); it->Next()) {
      if (step_bytes_ >= kStepBytes) return true;
      CISTERN_RETURN_IF_ERROR(visit({&source, View(it->key()), View(it->value())}));
      last_key_ = it->key().ToString();
    }
    if (!it->status().ok()) return ToStatus(it->status(), "reading manifests");
  }
  source_ = 0;
  return false;
}

Result<bool> WindowCopy::CopySegments() {
  CISTERN_ASSIGN_OR_RETURN(const bool more,
                           VisitSeals([this](const Seal& seal) { return CopySeal(seal); }));
  if (!more) CISTERN_RETURN_IF_ERROR(CheckSums());
  return more;
}

Status WindowCopy::CopySeal(const Seal& seal) {
  const std::optional<ManifestName> name = ParseManifestKey(seal.key);
  if (!name) return Status::Corruption(seal.source->Name() + ": a manifest key does not parse");
  CISTERN_ASSIGN_OR_RETURN(const Manifest manifest, DecodeManifest(seal.manifest));
  AddSeal(manifest, &merge_.sums);
  CISTERN_RETURN_IF_ERROR(
      VisitValues(*seal.source, *name, [this](const std::string& key, const std::string& value) {
        pages_.Put(key, value);
        byte_count_ += value.size();
        step_bytes_ += value.size();
        return pages_.WriteOut();
      }));
  records_.Put(ManifestKey(merge_.target_id, name->bucket, name->seal),
               std::string(seal.manifest));
  return FlushRecordsIfMany(seal.key.size() + seal.manifest.size());
}

// As many as rotations would flush: they are not to fill the memtable of meta.
Status WindowCopy::FlushRecordsIfMany(uint64_t bytes) {
  byte_count_ += bytes;
  step_bytes_ += bytes;
  record_bytes_ += bytes;
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
    should.endless_count += source->record.endless_count;
  }
  const WindowRecord& is = merge_.sums;
  if (is.version_count == should.version_count && is.byte_count == should.byte_count &&
      is.seal_count == should.seal_count && is.endless_count == should.endless_count) {
    return Status::Ok();
  }
  return Status::Corruption("the manifests of the windows do not add up to their records");
}

Result<bool> WindowCopy::CopyOutbox() {
  const std::unique_ptr<rocksdb::Iterator> it = NewManifestIterator(*view_);
  uint64_t entries = 0;
  for (; source_ < merge_.sources.size(); ++source_, last_key_.clear()) {
    const std::string prefix = OutboxKeyFrom(merge_.sources[source_]->id);
    it->Seek(last_key_.empty() ? prefix : Behind(last_key_));
    for (; it->Valid() && View(it->key()).starts_with(prefix); it->Next()) {
      if (++entries > kStepEntries) return true;
      last_key_ = it->key().ToString();
      const std::string key =
          OutboxKeyFrom(merge_.target_id) + last_key_.substr(prefix.size());
      records_.Put(key, it->value().ToString());
      CISTERN_RETURN_IF_ERROR(FlushRecordsIfMany(key.size() + it->value().size()));
    }
    if (!it->status().ok()) return ToStatus(it->status(), "reading the outbox");
  }
  source_ = 0;
  return false;
}

Status WindowCopy::Flush() {
  CISTERN_RETURN_IF_ERROR(pages_.Flush());
  return records_.Flush();
}

Result<bool> WindowCopy::ReadBack() {
  CrashPoint("merge:before_read_back");
  return VisitSeals([this](const Seal& seal) { return CheckSeal(seal); });
}

Status WindowCopy::CheckSeal(const Seal& seal) {
  const std::optional<ManifestName> name = ParseManifestKey(seal.key);
  if (!name) return Status::Corruption(seal.source->Name() + ": a manifest key does not parse");
  const std::string what = "seal " + std::to_string(name->seal) + ", copied from " +
                           seal.source->Name() + " into window " +
                           std::to_string(merge_.target_id);
  const auto check = [&](const FamilyPtr& family, const std::string& key,
                         std::string_view value) -> Status {
    step_bytes_ += value.size();
    CISTERN_ASSIGN_OR_RETURN(const std::string copy, Read(family, key, what));
    if (copy == value) return Status::Ok();
    return Status::Corruption(what + ": what was read back is not what was written");
  };
  CISTERN_RETURN_IF_ERROR(
      VisitValues(*seal.source, *name, [&](const std::string& key, const std::string& value) {
        return check(merge_.target, key, value);
      }));
  return check(view_->meta, ManifestKey(merge_.target_id, name->bucket, name->seal),
               seal.manifest);
}

}  // namespace cistern
