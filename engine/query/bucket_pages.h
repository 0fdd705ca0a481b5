// BucketPages: what one bucket consists of at one moment, page by page.
#ifndef CISTERN_ENGINE_QUERY_BUCKET_PAGES_H_
#define CISTERN_ENGINE_QUERY_BUCKET_PAGES_H_

#include <memory>
#include <vector>

#include "cistern/result.h"
#include "engine/query/query_context.h"
#include "engine/query/stretches.h"
#include "storage/entity_buckets.h"
#include "storage/segment_stream.h"
#include "storage/table_set.h"

namespace cistern {

struct BucketPages {
  std::vector<std::shared_ptr<const SegmentRef>> segments;
  std::vector<RangeDelete> deletes;   // of all sources, resolved
  std::vector<Stretch> stretches;     // segments by their index here
  std::shared_ptr<const BootBases> bases;
  bool is_damaged = false;            // some of it cannot be read: the rest is as if it were not
};

// The segments of a bucket in a view, of which no head has rows: of its only seal, which is in the
// window, or, if that is null, all that there are. `stream` is where the bucket before was read.
[[nodiscard]] Result<BucketPages> OpenSealedBucket(
    const QueryContext& context, const SpillView& view, const BucketKey& bucket,
    const std::shared_ptr<const WindowFamily>& window, uint64_t seal, SegmentStream* stream);

// Segments and heads as they are now.
[[nodiscard]] Result<BucketPages> OpenHeadBucket(const QueryContext& context,
                                                 const BucketKey& bucket);

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_BUCKET_PAGES_H_
