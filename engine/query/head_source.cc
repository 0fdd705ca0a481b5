#include "engine/query/head_source.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "lib/base/check.h"
#include "lib/row/row_order.h"

namespace cistern {

namespace {
constexpr size_t kChunkRows = 512;          // copied under the lock at once
constexpr size_t kChunkBytes = 256 * 1024;  // or about so many bytes of wide rows

size_t ChunkRows(const Head& head) {
  const size_t row_bytes = head.memory_bytes() / std::max<uint64_t>(head.version_count(), 1);
  return std::clamp<size_t>(kChunkBytes / std::max<size_t>(row_bytes, 1), 1, kChunkRows);
}
}

HeadSource::HeadSource(const HeadSet* heads, bool frozen, uint64_t epoch, BucketKey bucket,
                       TablePtr table, uint32_t shown, TimeSpan span,
                       const std::vector<bool>* wanted, const BootBases& bases,
                       const VersionColumns& after)
    : heads_(heads),
      frozen_(frozen),
      epoch_(epoch),
      bucket_(std::move(bucket)),
      table_(std::move(table)),
      shown_(shown),
      schema_(*table_->versions[shown].schema),
      span_(span),
      wanted_(wanted),
      bases_(bases),
      position_(after),
      position_included_(true) {}

// A head's rows are in memory: opened at once.
int64_t HeadSource::bound_time() const {
  return span_.descending ? INT64_MAX : INT64_MIN;
}

void HeadSource::Prime(const Head& head) {
  primed_ = Copy(head);
}

Result<std::shared_ptr<const VersionColumns>> HeadSource::NextChunk() {
  if (primed_) return std::exchange(primed_, nullptr);
  if (exhausted_) return std::shared_ptr<const VersionColumns>();
  const std::shared_lock lock(heads_->mutex);
  if (heads_->epoch != epoch_) return Status::Busy("the head was rotated under the reader");
  return std::shared_ptr<const VersionColumns>(Copy(frozen_ ? *heads_->frozen : *heads_->active));
}

// The same of rows that were written under another version than the one that is shown: the
// table was altered since the scan began.
VersionColumns HeadSource::CopyMapped(const Head& head, const HeadBucket& bucket,
                                      CopyRequest request) const {
  const std::optional<uint32_t> own = table_->VersionOf(bucket.schema());
  CISTERN_CHECK(own.has_value());
  const ColumnMap map = table_->Map(*own, shown_);
  VersionColumns after;
  if (request.after != nullptr) {
    after = table_->Map(shown_, *own).Apply(*request.after);
    request.after = &after;
  }
  std::vector<bool> sources;
  if (request.wanted != nullptr) {
    sources = map.Sources(*request.wanted);
    request.wanted = &sources;
  }
  return map.Apply(head.CopyRows(bucket, request));
}

// REQUIRES: the heads' lock. The next chunk, or null.
std::shared_ptr<VersionColumns> HeadSource::Copy(const Head& head) {
  CopyRequest request;
  request.from = span_.from;
  request.to = span_.to;
  request.unbounded_to = span_.unbounded_to;
  request.descending = span_.descending;
  request.after = position_.row_count > 0 ? &position_ : nullptr;
  request.inclusive = position_included_;
  request.max_rows = ChunkRows(head);
  request.wanted = wanted_;
  auto rows = std::make_shared<VersionColumns>();
  const HeadBucket* bucket =
      head.FindBucket(bucket_.table_id, bucket_.entity, bucket_.start_s, bucket_.split);
  if (bucket != nullptr) {
    *rows = &bucket->schema() == &schema_ ? head.CopyRows(*bucket, request)
                                          : CopyMapped(head, *bucket, request);
  }
  exhausted_ = rows->row_count < request.max_rows;
  if (rows->row_count == 0) return nullptr;
  position_ = VersionColumns::For(schema_);
  const size_t last = span_.descending ? 0 : rows->row_count - 1;
  for (const size_t c : schema_.clustering_columns) {
    position_.columns[c].AppendFrom(rows->columns[c], last);
  }
  position_.row_count = 1;
  position_included_ = false;
  ResolveBoots(bases_, rows.get(), {});
  return rows;
}

}  // namespace cistern
