#include "engine/replicate/seal_content.h"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "engine/replicate/page_shadow.h"
#include "lib/base/concat.h"
#include "lib/row/reconcile.h"
#include "storage/seal_reader.h"
#include "storage/version_source.h"

namespace cistern::replicate {
namespace {

// Rows are resolved before they are sealed; nobody knows any more what these were written at.
Status NotResolved(const SegmentRef& segment) {
  return Status::Corruption(Concat({"segment ", segment.id, " in ", segment.family->Name(),
      ": a seal with rows of an unknown time"}));
}

bool IsResolved(const VersionColumns& rows) {
  return std::all_of(rows.boot.begin(), rows.boot.end(), [](uint32_t boot) { return boot == 0; });
}

bool IsResolved(const std::vector<RangeDelete>& deletes) {
  return std::all_of(deletes.begin(), deletes.end(),
                     [](const RangeDelete& d) { return d.boot == 0; });
}

size_t MemoryOf(const SegmentHeader& header) {
  return header.pages.capacity() * sizeof(PageInfo) +
         header.deletes.capacity() * sizeof(RangeDelete);
}

bool Overlap(const PageInfo& a, const PageInfo& b) {
  return a.first_time <= b.last_time && a.last_time >= b.first_time;
}

// The pages of one seal, and of others of its bucket that may have deleted rows of it.
class SealPages {
 public:
  // `table` knows the versions of all segments.
  SealPages(TablePtr table, const TablePtr& shown, TimestampMode mode, SegmentRef own,
            std::shared_ptr<PushMemory> memory)
      : table_(std::move(table)),
        shown_(shown),
        mode_(mode),
        keys_alone_(shown_->schema->columns.size(), false),
        own_(table_, shown_->schema_version, std::make_shared<const SegmentRef>(std::move(own)),
             nullptr),
        charge_(std::move(memory), PushCharge::Kind::kPages) {}
  SealPages(const SealPages&) = delete;
  SealPages& operator=(const SealPages&) = delete;

  // One that waits is sent after this one and deletes then. It is looked at so that nothing shows
  // in between, and passed over where it is damaged.
  void AddOther(SegmentRef segment, bool waits);
  // Once all others were added.
  [[nodiscard]] Status ChargeHeaders();

  // Charges the rows instead of those of the last page.
  [[nodiscard]] Result<SealPage> Read(uint32_t page, std::optional<int64_t> now_s);
  [[nodiscard]] const SegmentHeader& header() const { return own_.segment().header; }

 private:
  struct Other {
    SegmentPages pages;
    bool waits = false;
  };
  [[nodiscard]] Status AddOthersTo(PageShadow* shadow, const PageInfo& info, size_t own_bytes);

  const TablePtr table_;
  const TablePtr shown_;
  const TimestampMode mode_;
  const std::vector<bool> keys_alone_;  // wanted of others, with the states of all cells
  const SegmentPages own_;
  std::vector<Other> others_;
  std::vector<RangeDelete> ranges_;  // of all others
  size_t header_bytes_ = 0;
  PushCharge charge_;
};

void SealPages::AddOther(SegmentRef segment, bool waits) {
  const SegmentHeader& theirs = segment.header;
  ranges_.insert(ranges_.end(), theirs.deletes.begin(), theirs.deletes.end());
  FoldDeletes(&ranges_);
  if (theirs.pages.empty() || theirs.first_time > header().last_time ||
      theirs.last_time < header().first_time) {
    return;
  }
  others_.push_back({{table_, shown_->schema_version,
                      std::make_shared<const SegmentRef>(std::move(segment)), &keys_alone_},
                     waits});
}

Status SealPages::ChargeHeaders() {
  header_bytes_ = MemoryOf(header()) + ranges_.capacity() * sizeof(RangeDelete);
  for (const Other& other : others_) {
    header_bytes_ += sizeof(other) + MemoryOf(other.pages.segment().header);
  }
  if (charge_.TrySet(header_bytes_)) return Status::Ok();
  return Status::OutOfMemory("the memory budget has no room for the headers of a bucket's seals");
}

Result<SealPage> SealPages::Read(uint32_t page, std::optional<int64_t> now_s) {
  SealPage read;
  charge_.Set(header_bytes_);  // the page before is over
  CISTERN_ASSIGN_OR_RETURN(read.rows, own_.Read(page));
  if (!IsResolved(read.rows)) return NotResolved(own_.segment());
  const size_t bytes = header_bytes_ + read.rows.MemoryBytes();
  if (!charge_.TrySet(bytes)) {
    return Status::OutOfMemory("the memory budget has no room for a page of a seal");
  }
  PageShadow shadow(*shown_->schema, mode_, now_s, &read.rows);
  shadow.AddRanges(ranges_);
  CISTERN_RETURN_IF_ERROR(AddOthersTo(&shadow, header().pages[page], bytes));
  read.shadowed = shadow.Take();
  charge_.Set(header_bytes_ + read.rows.MemoryBytes());
  return read;
}

// What of the others lies at the times of the page, one page at a time.
Status SealPages::AddOthersTo(PageShadow* shadow, const PageInfo& info, size_t own_bytes) {
  for (const Other& other : others_) {
    const std::vector<PageInfo>& pages = other.pages.segment().header.pages;
    for (uint32_t page = 0; page < pages.size(); ++page) {
      if (!Overlap(pages[page], info)) continue;
      const Result<VersionColumns> rows = other.pages.Read(page);
      if (rows.status().code() == StatusCode::kCorruption && other.waits) continue;
      CISTERN_RETURN_IF_ERROR(rows.status());
      if (!IsResolved(*rows)) return NotResolved(other.pages.segment());
      if (!charge_.TrySet(own_bytes + rows->MemoryBytes())) {
        return Status::OutOfMemory("the memory budget has no room for a page of another seal");
      }
      shadow->AddRows(*rows);
    }
  }
  return Status::Ok();
}

Status DamagedManifest(uint64_t number, const SealOfBucket& seal) {
  return Status(seal.manifest.status().code(), Concat({"seal ", number, " in ",
      seal.window->Name(), ": ", seal.manifest.status().message()}));
}

// Whether rows of the seal may lie under what the other one has. Later ones that wait and delete
// nothing are left alone, so that most seals are read without any other.
bool MayShadow(const Manifest& other, bool waits, TimestampMode mode, const Manifest& own) {
  const bool is_older =
      mode == TimestampMode::kWriteTime && other.write_us_last < own.write_us_first;
  return !is_older && (!waits || other.has_deletes);
}

Status AddOthers(const SpillView& view, const SealName& name, TimestampMode mode,
                 const std::map<uint64_t, SealOfBucket>& seals, SealPages* pages) {
  const Manifest& own = *seals.at(name.seal).manifest;
  for (const auto& [number, other] : seals) {
    if (number == name.seal) continue;
    CISTERN_ASSIGN_OR_RETURN(const bool waits,
                             IsInOutbox(view.meta, other.window->id, {name.bucket, number}));
    if (!other.manifest.ok() && waits) continue;
    if (!other.manifest.ok()) return DamagedManifest(number, other);
    if (!MayShadow(*other.manifest, waits, mode, own)) continue;
    Result<SegmentRef> segment = ReadSealedSegment(other.window, name.bucket, number);
    if (segment.status().code() == StatusCode::kCorruption && waits) continue;
    CISTERN_RETURN_IF_ERROR(segment.status());
    if (!IsResolved(segment->header.deletes)) return NotResolved(*segment);
    pages->AddOther(*std::move(segment), waits);
  }
  return Status::Ok();
}

Status NotLive(const SealName& name) {
  return Status::NotFound(Concat({"seal ", name.seal, " is in no live window"}));
}

}  // namespace

// What a window had that ended, and whether it was sent, nobody knows once it is forgotten: from
// the first such end on any bucket may have had older seals. The counters tell that there was one.
// What is sent too much then is little: whole windows of expired rows end here and are not sent.
Result<OpenedSeal> OpenSeal(const SealReading& from, const TablePtr& shown, TimestampMode mode,
                            const SealName& name) {
  const std::shared_ptr<const SpillView> view = from.store->spills().view();
  CISTERN_ASSIGN_OR_RETURN(const auto seals, ListSeals(*view, name.bucket));
  const auto found = seals.find(name.seal);
  if (found == seals.end()) return NotLive(name);
  const SealOfBucket& own = found->second;
  if (!own.manifest.ok()) return DamagedManifest(name.seal, own);
  TablePtr table = from.tables->FindById(name.bucket.table_id);
  if (table == nullptr) {
    return Status::Corruption(Concat({"seal ", name.seal, ": there is no table of number ",
        name.bucket.table_id}));
  }
  CISTERN_ASSIGN_OR_RETURN(SegmentRef segment,
                           ReadSealedSegment(own.window, name.bucket, name.seal));
  if (!IsResolved(segment.header.deletes)) return NotResolved(segment);
  const auto pages =
      std::make_shared<SealPages>(std::move(table), shown, mode, std::move(segment), from.memory);
  CISTERN_RETURN_IF_ERROR(AddOthers(*view, name, mode, seals, pages.get()));
  CISTERN_RETURN_IF_ERROR(pages->ChargeHeaders());
  OpenedSeal opened;
  opened.manifest = *own.manifest;
  opened.content.deletes = pages->header().deletes;
  opened.content.page_count = static_cast<uint32_t>(pages->header().pages.size());
  opened.content.read_page = [pages](uint32_t page, std::optional<int64_t> now_s) {
    return pages->Read(page, now_s);
  };
  opened.older_may_exist =
      seals.size() > 1 || view->versions_expired > 0 || view->versions_shed > 0;
  // With the timestamps of events an earlier seal may win a tie.
  opened.is_newest = mode == TimestampMode::kWriteTime ? seals.rbegin()->first == name.seal
                                                       : seals.size() == 1;
  return opened;
}

Result<int64_t> ReadFirstWrite(const SealReading& from, const TableSchema& shown,
                               const SealName& name) {
  const std::shared_ptr<const SpillView> view = from.store->spills().view();
  for (const auto& window : view->windows) {
    if (!window->record.span.Holds(name.bucket.start_s)) continue;
    const Result<Manifest> manifest = ReadManifest(view->meta, window->id, name.bucket, name.seal);
    if (manifest.status().code() == StatusCode::kNotFound) continue;
    CISTERN_RETURN_IF_ERROR(manifest.status());
    if (manifest->row_count == 0) return std::numeric_limits<int64_t>::max();
    return shown.timestamps == TimestampMode::kEventTime
               ? MicrosOfTicks(shown.time_unit, manifest->first_time)
               : manifest->write_us_first;
  }
  return NotLive(name);
}

}  // namespace cistern::replicate
