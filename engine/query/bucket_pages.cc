#include "engine/query/bucket_pages.h"

#include <mutex>
#include <shared_mutex>
#include <utility>

#include "lib/row/reconcile.h"
#include "storage/seal_reader.h"

namespace cistern {

namespace {

// What follows from segments and heads.
Result<BucketPages> Complete(BucketPages pages, const std::vector<TimeExtent>& heads) {
  std::vector<const SegmentHeader*> headers;
  for (const auto& segment : pages.segments) {
    const SegmentHeader& header = segment->header;
    headers.push_back(&header);
    pages.deletes.insert(pages.deletes.end(), header.deletes.begin(), header.deletes.end());
  }
  ResolveBoots(*pages.bases, nullptr, pages.deletes);
  pages.stretches = StretchesOf(headers, heads);
  return pages;
}

Status List(const SpillView& view, const BucketKey& bucket, BucketPages* pages) {
  std::vector<DamagedSegment> damaged;
  CISTERN_ASSIGN_OR_RETURN(std::vector<SegmentRef> segments, ListSegments(view, bucket, &damaged));
  for (SegmentRef& segment : segments) {
    pages->segments.push_back(std::make_shared<const SegmentRef>(std::move(segment)));
  }
  pages->is_damaged = !damaged.empty();
  return Status::Ok();
}

}  // namespace

Result<BucketPages> OpenSealedBucket(const QueryContext& context, const SpillView& view,
                                     const BucketKey& bucket,
                                     const std::shared_ptr<const WindowFamily>& window,
                                     uint64_t seal, SegmentStream* stream) {
  BucketPages pages;
  pages.bases = context.boots->bases();
  if (window == nullptr) {
    CISTERN_RETURN_IF_ERROR(List(view, bucket, &pages));
    return Complete(std::move(pages), {});
  }
  Result<SegmentRef> segment = stream->ReadSealed(window, bucket, seal);
  if (segment.ok()) {
    pages.segments.push_back(std::make_shared<const SegmentRef>(*std::move(segment)));
  } else if (segment.status().code() == StatusCode::kCorruption) {
    pages.is_damaged = true;
  } else {
    return segment.status();
  }
  return Complete(std::move(pages), {});
}

Result<BucketPages> OpenHeadBucket(const QueryContext& context, const BucketKey& bucket) {
  BucketPages pages;
  std::vector<TimeExtent> extents;
  std::shared_ptr<const SpillView> view;
  {
    const std::shared_lock lock(context.heads->mutex);
    view = context.store->spills().view();
    pages.bases = context.boots->bases();
    for (const Head* head : {context.heads->active.get(), context.heads->frozen.get()}) {
      if (head == nullptr) continue;
      const HeadBucket* found =
          head->FindBucket(bucket.table_id, bucket.entity, bucket.start_s, bucket.split);
      if (found == nullptr) continue;
      const auto& deletes = head->deletes(*found);
      pages.deletes.insert(pages.deletes.end(), deletes.begin(), deletes.end());
      if (found->row_count() > 0) extents.push_back({found->first_time(), found->last_time()});
    }
  }
  CISTERN_RETURN_IF_ERROR(List(*view, bucket, &pages));
  return Complete(std::move(pages), extents);
}

}  // namespace cistern
