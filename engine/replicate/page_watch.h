// PageWatch: whether the pages of an answer lead on to an end.
#ifndef CISTERN_ENGINE_REPLICATE_PAGE_WATCH_H_
#define CISTERN_ENGINE_REPLICATE_PAGE_WATCH_H_

#include <cstddef>
#include <string>

#include "cistern/limits.h"
#include "cistern/status.h"
#include "engine/cql/rows.h"

namespace cistern::replicate {

// Rows have limits of their own; this is for pages that bring none of use: a server may skip over
// many deleted rows, not for ever. One answer, page by page.
class PageWatch {
 public:
  void Clear() { *this = {}; }
  // The next page came. kCorruption: it leads nowhere.
  [[nodiscard]] Status Take(const cql::RowsMetadata& page) {
    if (!page.has_more_pages) return Status::Ok();
    if (page.paging_state.empty() || page.paging_state == paging_state_) {
      return Status::Corruption("the cluster says that there are more pages, and leads to none");
    }
    if (++empty_count_ > limits::kCqlEmptyPagesMax) {
      return Status::Corruption("the cluster answered with " +
                                std::to_string(limits::kCqlEmptyPagesMax) +
                                " pages without a row, one behind another");
    }
    paging_state_ = page.paging_state;
    return Status::Ok();
  }
  // The page has a row of use.
  void NoteRow() { empty_count_ = 0; }

 private:
  std::string paging_state_;
  size_t empty_count_ = 0;
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_PAGE_WATCH_H_
