// Aggregator: the public AggregateCursor, from statistics where they answer, else from rows.
#ifndef CISTERN_ENGINE_QUERY_AGGREGATE_CURSOR_H_
#define CISTERN_ENGINE_QUERY_AGGREGATE_CURSOR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cistern/aggregate.h"
#include "engine/bucketing/bucketer.h"
#include "engine/query/aggregate_groups.h"
#include "engine/query/aggregate_plan.h"
#include "engine/query/bucket_group.h"
#include "engine/query/bucket_pages.h"
#include "engine/query/entity_feed.h"
#include "engine/query/sealed_pages.h"
#include "engine/query/statistics_lookup.h"
#include "storage/entity_buckets.h"

namespace cistern {

// Checks the request; reads nothing yet. `table` as it is declared now.
//   kInvalidArgument, kTooLarge  as Engine::Aggregate has them
[[nodiscard]] Result<std::unique_ptr<AggregateCursor>> OpenAggregate(
    const QueryContext* context, TablePtr table, const AggregateRequest& request);

// Goes from entity to entity, from bucket to bucket, and in a bucket from stretch to stretch. All
// that it adds up comes in order of time, so one step is open at a time, with all of its groups.
class Aggregator final : public AggregateCursor {
 public:
  Aggregator(const QueryContext* context, TablePtr table, AggregatePlan plan, RowFilter filter,
             const AggregateRequest& request);

  [[nodiscard]] bool Next(AggregateBatch* batch) override;
  [[nodiscard]] const Status& status() const override { return status_; }
  [[nodiscard]] const std::vector<ScanGap>& gaps() const override { return gaps_; }
  [[nodiscard]] const std::vector<ColumnType>& types() const override { return plan_.types(); }
  [[nodiscard]] AggregateWork work() const override { return work_; }

 private:
  void ClearBatch();
  [[nodiscard]] Result<bool> Advance();
  [[nodiscard]] Result<bool> BeginEntity();
  [[nodiscard]] Status LookAhead(int64_t from_s);
  [[nodiscard]] Result<bool> NextBucket();
  [[nodiscard]] Status BeginHeadBucket(int64_t start_s);
  [[nodiscard]] Status BeginSealedBucket();
  [[nodiscard]] Result<bool> AddManifest(const BucketParts& parts);
  [[nodiscard]] Result<bool> AddOnlyPage(const BucketParts& parts);
  [[nodiscard]] Status BeginPages(Result<BucketPages> pages);
  [[nodiscard]] Status AddStretch(const Stretch& stretch);
  [[nodiscard]] Result<bool> AddPageStatistics(const Stretch& stretch);
  [[nodiscard]] Result<bool> AddPageRows(const Stretch& stretch);
  [[nodiscard]] Result<bool> AddPage();
  [[nodiscard]] Result<bool> AddStatistics(const StatisticsSource& source,
                                           const AggregateStep& step);
  [[nodiscard]] Status BeginMerge(const TimeExtent& times, std::optional<uint32_t> split);
  [[nodiscard]] Status Merge();
  [[nodiscard]] bool MayPass(const Stretch& stretch) const;
  [[nodiscard]] Status AddRows(const VersionColumns& rows, bool is_filtered);
  [[nodiscard]] Status AddStepRows(const AggregateStep& step, const VersionColumns& rows,
                                   size_t begin, size_t end, bool is_filtered);
  [[nodiscard]] Status AddPassing(const VersionColumns& rows);
  [[nodiscard]] Status MoveTo(const AggregateStep& step);
  [[nodiscard]] Status EmitStep();
  [[nodiscard]] Status Charge(size_t bytes);
  [[nodiscard]] bool IsFull() const;
  void NoteGaps(const std::vector<ScanGap>& gaps);
  void Conclude();

  const QueryContext* const context_;
  const TablePtr table_;
  const AggregatePlan plan_;
  const Bucketer bucketer_;
  const size_t batch_steps_max_;
  const int64_t first_at_s_;  // starts of the first and last bucket that may have rows
  const int64_t last_at_s_;
  ScanShape shape_;           // of what is merged
  const bool by_statistics_;  // whether they may answer: not where rows are chosen or told apart

  EntityFeed feed_;
  bool in_entity_ = false;
  std::string entity_;
  std::optional<EntityBuckets> buckets_;
  BucketParts parts_;                    // the next bucket in segments
  bool has_parts_ = false;
  std::optional<int64_t> head_start_s_;  // of the next bucket in heads

  SealedPages sealed_;
  BucketKey bucket_;
  BucketPages pages_;
  size_t next_stretch_ = 0;
  std::unique_ptr<BucketGroup> group_;   // what is being merged

  StatisticsLookup lookup_;
  AggregateGroups groups_;
  std::optional<AggregateStep> step_;    // of groups_
  AggregateBatch out_;
  VersionColumns page_rows_;             // scratch, as are
  std::vector<int64_t> times_;
  std::vector<uint32_t> passing_;
  MemoryCharge charge_;
  AggregateWork work_;
  std::vector<ScanGap> gaps_;
  bool ended_ = false;
  Status status_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_QUERY_AGGREGATE_CURSOR_H_
