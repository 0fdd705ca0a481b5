#include "tools/sync_watch.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "tools/sync_status.h"

namespace cistern::tool {
namespace {

// What to do where the words do not say it. It is looked at again by itself.
std::string_view AdviceOf(HeldReason reason) {
  switch (reason) {
    case HeldReason::kDiffers: return "";
    case HeldReason::kNoKeyspace:
      return ", by --keyspace NAME, or keyspace in the file of --config";
    case HeldReason::kNotPermitted:
      return "; grant this user MODIFY on the table, and SELECT where --proof reads";
    case HeldReason::kParked: return "; `cistern sync status` names them";
    case HeldReason::kNotCompared: break;
  }
  return "; `cistern schema diff` compares it with the cluster's";
}

std::string HeldText(const HeldTable& held) {
  const bool has_table =
      held.reason == HeldReason::kDiffers || held.reason == HeldReason::kNoKeyspace;
  return OneLine(fmt::format("{}{}{}", has_table ? "" : held.table + " is held back: ",
                             held.why.message(), AdviceOf(held.reason)));
}

}  // namespace

void SyncWatch::Note(const ReplicationStatus& status) {
  for (const std::string& warning : status.warnings) {
    if (warned_.insert(warning).second) complain_(OneLine(warning));
  }
  for (const std::string& damaged : status.damaged) {
    if (!damaged_.insert(damaged).second) continue;
    complain_(OneLine(damaged) + "; `cistern verify` tells more");
  }
  // Once: its words name now this host, now that one.
  if (!status.refused.ok() && !is_refused_) {
    complain_("refused again and again, and tried on: " + OneLine(status.refused.message()));
  }
  is_refused_ = !status.refused.ok();
  const std::string store = OneLine(status.store.message());
  if (!store.empty() && store != store_) {
    complain_("what the cluster answered cannot be noted in the store: " + store);
  }
  store_ = store;
  NoteHeld(status.held);
}

void SyncWatch::NoteHeld(const std::vector<HeldTable>& held) {
  std::map<std::string, std::string> now;
  for (const HeldTable& one : held) {
    std::string text = HeldText(one);
    const auto before = held_.find(one.table);
    if (before == held_.end() || before->second != text) complain_(text);
    now[one.table] = std::move(text);
  }
  for (const auto& [table, text] : held_) {
    if (!now.contains(table)) complain_(table + " is not held back any more");
  }
  held_ = std::move(now);
}

}  // namespace cistern::tool
