// The seals in the outbox, for tests that confirm them as a replicator does.
#ifndef CISTERN_TESTS_SUPPORT_OUTBOX_NAMES_H_
#define CISTERN_TESTS_SUPPORT_OUTBOX_NAMES_H_

#include <algorithm>
#include <memory>
#include <vector>

#include "cistern/result.h"
#include "storage/outbox.h"

namespace cistern::testing {

// In the order of their numbers.
inline Result<std::vector<SealName>> NamesInOutbox(const std::shared_ptr<const SpillView>& view) {
  std::vector<SealName> names;
  for (const auto& window : view->windows) {
    OutboxWalker walker(view, window->id);
    while (true) {
      CISTERN_ASSIGN_OR_RETURN(const auto entry, walker.Next());
      if (!entry) break;
      if (!entry->has_manifest) return Status::Internal("an entry without a manifest");
      names.push_back(*entry);
    }
  }
  std::sort(names.begin(), names.end(),
            [](const SealName& a, const SealName& b) { return a.seal < b.seal; });
  return names;
}

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_OUTBOX_NAMES_H_
