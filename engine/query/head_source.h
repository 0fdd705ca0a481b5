// HeadSource: the rows that one head generation has of a bucket, copied by chunks.
#ifndef CISTERN_ENGINE_QUERY_HEAD_SOURCE_H_
#define CISTERN_ENGINE_QUERY_HEAD_SOURCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "storage/head_set.h"
#include "storage/keyspace.h"
#include "storage/table_set.h"
#include "storage/version_source.h"

namespace cistern {

// Copies under the heads' shared lock. Once the generations have moved (another epoch) a
// chunk is kBusy: the reader must open its sources anew.
class HeadSource final : public VersionSource {
 public:
  // Shows rows as version `shown` of the table, which must know the version of the head's rows
  // too. Begins at or behind `after` (row 0), if it has a row. Pointers and references must
  // outlive the source.
  HeadSource(const HeadSet* heads, bool frozen, uint64_t epoch, BucketKey bucket, TablePtr table,
             uint32_t shown, TimeSpan span, const std::vector<bool>* wanted,
             const BootBases& bases, const VersionColumns& after);
  // Copies the first chunk; under the lock that the epoch was read under, so that a reader
  // gets forward however often heads rotate.
  void Prime(const Head& head);
  [[nodiscard]] int64_t bound_time() const override;
  [[nodiscard]] Result<std::shared_ptr<const VersionColumns>> NextChunk() override;

 private:
  [[nodiscard]] std::shared_ptr<VersionColumns> Copy(const Head& head);
  [[nodiscard]] VersionColumns CopyMapped(const Head& head, const HeadBucket& bucket,
                                          CopyRequest request) const;
  const HeadSet* const heads_;
  const bool frozen_;
  const uint64_t epoch_;
  const BucketKey bucket_;
  const TablePtr table_;
  const uint32_t shown_;
  const TableSchema& schema_;  // shown
  const TimeSpan span_;
  const std::vector<bool>* const wanted_;
  const BootBases& bases_;
  VersionColumns position_;  // row 0: where to go on
  std::shared_ptr<const VersionColumns> primed_;
  bool exhausted_ = false;  // the last chunk was not full
  bool position_included_;  // rows of that very key belong to the next chunk
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_HEAD_SOURCE_H_
