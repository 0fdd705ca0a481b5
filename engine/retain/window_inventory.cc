#include "engine/retain/window_inventory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/bucketing/bucketer.h"
#include "engine/retain/window_outlook.h"
#include "lib/base/concat.h"
#include "storage/seal_reader.h"
#include "storage/segment_walker.h"

namespace cistern {

namespace {

// What segments say of the family that they are in. They come in the order of their buckets.
class Content {
 public:
  void Add(const BucketKey& bucket) {
    ++segments_;
    if (last_ == bucket) return;
    ++buckets_;
    if (!last_ || last_->table_id != bucket.table_id) tables_.insert(bucket.table_id);
    last_ = bucket;
  }
  // Widens the times by those of a bucket.
  void Reach(int64_t start_s, int64_t end_s) {
    from_s_ = std::min(from_s_.value_or(start_s), start_s);
    to_s_ = std::max(to_s_.value_or(end_s), end_s);
  }

  // The counts, and the names of the tables.
  void Fill(const TableSet& tables, WindowInfo* info) const {
    info->buckets = buckets_;
    info->segments = segments_;
    for (const uint32_t id : tables_) {
      const TablePtr table = tables.FindById(id);
      info->tables.push_back(table ? table->schema->QualifiedName()
                                   : Concat({"table ", id}));
    }
  }
  void FillTimes(WindowInfo* info) const {
    info->from_s = from_s_;
    info->to_s = to_s_;
  }

 private:
  uint64_t buckets_ = 0;
  uint64_t segments_ = 0;
  std::set<uint32_t> tables_;
  std::optional<BucketKey> last_;
  std::optional<int64_t> from_s_;
  std::optional<int64_t> to_s_;
};

using Contents = std::map<uint64_t, Content>;  // by family

Status AddSealed(const std::shared_ptr<const SpillView>& view, Contents* contents) {
  ManifestWalker walker(view, "");
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(const auto item, walker.Next());
    if (!item) return Status::Ok();
    (*contents)[item->window->id].Add(item->bucket);
  }
}

Status AddSpilled(const std::shared_ptr<const SpillView>& view, const TableSet& tables,
                  Contents* contents) {
  SegmentWalker walker(view, "");
  while (true) {
    CISTERN_ASSIGN_OR_RETURN(const auto item, walker.Next());
    if (!item) return Status::Ok();
    Content& content = (*contents)[item->segment.family->id];
    content.Add(item->bucket);
    const TablePtr table = tables.FindById(item->bucket.table_id);
    if (!table) continue;
    const int64_t start_s = item->bucket.start_s;
    const Bucketer bucketer(*table->schema);
    if (bucketer.IsStart(start_s)) content.Reach(start_s, bucketer.Next(start_s));
  }
}

}  // namespace

Result<std::vector<WindowInfo>> ListWindowsOf(const std::shared_ptr<const SpillView>& view,
                                              const TableSet& tables,
                                              const RetentionTime& time,
                                              const RetentionLimits& limits) {
  Contents contents;
  CISTERN_RETURN_IF_ERROR(AddSealed(view, &contents));
  CISTERN_RETURN_IF_ERROR(AddSpilled(view, tables, &contents));
  std::vector<WindowInfo> out;
  for (const auto& window : WindowsInOrder(*view)) {
    const bool awaits_files = AwaitsFiles(*view, window->record);
    WindowInfo info{OutlookOf(*window, time, limits, awaits_files)};
    info.kind = info.from_s ? "window" : "old";
    info.class_width_s = window->record.span.class_width_s;
    info.bytes = window->record.byte_count;
    contents[window->id].Fill(tables, &info);
    out.push_back(std::move(info));
  }
  for (const auto& family : view->families) {
    WindowInfo info{OutlookOf(*family)};
    info.kind = "spill";
    info.bytes = family->record.byte_count;
    contents[family->id].Fill(tables, &info);
    contents[family->id].FillTimes(&info);
    out.push_back(std::move(info));
  }
  return out;
}

}  // namespace cistern
