// VersionSource: row versions of one bucket from one place, in row order, by chunks.
#ifndef CISTERN_STORAGE_VERSION_SOURCE_H_
#define CISTERN_STORAGE_VERSION_SOURCE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "cistern/result.h"
#include "lib/row/reconcile.h"
#include "lib/row/version_columns.h"
#include "lib/segment/page_reader.h"
#include "storage/segment_stream.h"
#include "storage/spill_reader.h"
#include "storage/table_set.h"

namespace cistern {

// A stretch of event times, from <= time < to, and the direction to read it.
struct TimeSpan {
  int64_t from = INT64_MIN;
  int64_t to = INT64_MAX;
  bool unbounded_to = true;  // `to` itself belongs to the span
  bool descending = false;
  [[nodiscard]] bool Holds(int64_t time) const {
    return time >= from && (unbounded_to || time < to);
  }
  // Whether it has a time of first..last.
  [[nodiscard]] bool Meets(int64_t first, int64_t last) const {
    return last >= from && (unbounded_to || first < to);
  }
};

// Chunks come in reading direction; inside a chunk rows are always ascending, so a
// descending reader walks a chunk from its end. Chunks may hold rows outside of the
// span. Versions are resolved (no boots). One thread at a time.
class VersionSource {
 public:
  virtual ~VersionSource() = default;
  // Event time that no row of the source comes before, in reading direction: the
  // source need not be opened until the reader is there.
  [[nodiscard]] virtual int64_t bound_time() const = 0;
  // The next chunk with at least one row; null at the end.
  [[nodiscard]] virtual Result<std::shared_ptr<const VersionColumns>> NextChunk() = 0;
};

// The rows of one segment's pages, as version `shown` of the table shows them. Immutable.
class SegmentPages {
 public:
  // `table` must know the segment's version too; one that it does not know is kCorruption when
  // a page is read. `wanted` as in DecodePage, by columns of `shown`; it must outlive this, and so
  // must `stream`, by which pages are read then.
  SegmentPages(TablePtr table, uint32_t shown, std::shared_ptr<const SegmentRef> segment,
               const std::vector<bool>* wanted, SegmentStream* stream = nullptr);
  // Boots are not resolved. kCorruption names the segment and the page.
  [[nodiscard]] Result<VersionColumns> Read(uint32_t page) const;
  // As DecodePageValues, the wanted columns alone; of a page with statistics. `choose`, of a
  // segment of the version that is shown alone, may be null.
  [[nodiscard]] Result<VersionColumns> ReadValues(uint32_t page,
                                                  const ChooseRows* choose = nullptr) const;
  [[nodiscard]] bool IsAsShown() const { return !map_; }
  [[nodiscard]] const SegmentRef& segment() const { return *segment_; }

 private:
  [[nodiscard]] Result<VersionColumns> Read(uint32_t page, bool values_alone,
                                            const ChooseRows* choose) const;
  [[nodiscard]] Result<VersionColumns> Decode(std::string_view bytes, uint32_t page,
                                              bool values_alone, const ChooseRows* choose) const;
  const TablePtr table_;
  const std::shared_ptr<const SegmentRef> segment_;
  std::optional<ColumnMap> map_;  // none: the segment is of the version that is shown
  std::optional<std::vector<bool>> sources_;  // what is wanted, of the segment's version
  const std::vector<bool>* const wanted_;
  SegmentStream* const stream_;
};

// Told of a page that cannot be read. False: the source fails with that status; true: it goes
// on behind the page.
using OnDamagedPage =
    std::function<bool(const SegmentRef& segment, uint32_t page, const Status& status)>;

// The pages of one segment that meet the span, as version `shown` of the table, which must
// know the segment's version too. `wanted` as in DecodePage, by columns of `shown`; wanted and
// bases must outlive the source, and whatever `on_damage` uses; it may be empty. `skipped`, by
// page, are passed over; none if it is empty.
class SegmentSource final : public VersionSource {
 public:
  SegmentSource(TablePtr table, uint32_t shown, SegmentRef segment, TimeSpan span,
                const std::vector<bool>* wanted, const BootBases& bases,
                OnDamagedPage on_damage = {}, std::vector<bool> skipped = {});
  [[nodiscard]] int64_t bound_time() const override;
  [[nodiscard]] Result<std::shared_ptr<const VersionColumns>> NextChunk() override;

 private:
  const SegmentPages pages_;
  TimeSpan span_;
  const BootBases& bases_;
  const OnDamagedPage on_damage_;
  const std::vector<bool> skipped_;
  size_t next_page_ = 0;  // counts from the reading side
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_VERSION_SOURCE_H_
