// SyncWatch: says once what stands in the way of a replicator, with what to do.
#ifndef CISTERN_TOOLS_SYNC_WATCH_H_
#define CISTERN_TOOLS_SYNC_WATCH_H_

#include <functional>
#include <map>
#include <set>
#include <string>

#include "cistern/replication.h"

namespace cistern::tool {

// One thread at a time. What it remembers is bounded by the tables, and by the seals that cannot be
// read.
class SyncWatch {
 public:
  // `complain` prints one line for people.
  explicit SyncWatch(std::function<void(const std::string&)> complain)
      : complain_(std::move(complain)) {}

  // Says what is new in it: warnings of the cluster's schema, tables that are held or not any more,
  // seals that cannot be read, or are refused again and again.
  void Note(const ReplicationStatus& status);

 private:
  void NoteHeld(const std::vector<HeldTable>& held);

  const std::function<void(const std::string&)> complain_;
  std::set<std::string> warned_;
  std::set<std::string> damaged_;
  bool is_refused_ = false;  // it was told
  std::string store_;        // the same, of what cannot be noted
  std::map<std::string, std::string> held_;  // table to why, of those that are held now
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_SYNC_WATCH_H_
