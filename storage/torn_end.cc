#include "storage/torn_end.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "lib/base/concat.h"
#include "storage/file_kind.h"
#include "storage/log_end.h"
#include "storage/quarantine.h"
#include "storage/rocksdb_status.h"
#include "storage/small_file.h"

namespace cistern {
namespace {

using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr size_t kCurrentBytesMax = 64;

struct NumberedLog {
  uint64_t number = 0;
  std::string name;
};

// The write-ahead logs, in the order in which they were written.
Result<std::vector<NumberedLog>> ListWriteAheadLogs(rocksdb::FileSystem* fs,
                                                    const std::string& directory) {
  std::vector<std::string> names;
  const IOStatus listed = fs->GetChildren(directory, IOOptions(), &names, nullptr);
  if (!listed.ok()) return ToStatus(listed, "listing " + directory);
  std::vector<NumberedLog> logs;
  for (std::string& name : names) {
    if (FileKindOf(name) == FileKind::kWal) logs.push_back({FileNumberOf(name), std::move(name)});
  }
  std::sort(logs.begin(), logs.end(),
            [](const NumberedLog& a, const NumberedLog& b) { return a.number < b.number; });
  return logs;
}

// Looks for a hole behind byte `synced_bytes` of a file.
Result<std::vector<TornEnd>> FindTornEnd(rocksdb::FileSystem* fs, const std::string& directory,
                                         const std::string& name, uint64_t synced_bytes) {
  CISTERN_ASSIGN_OR_RETURN(const LogEnd end,
                           FindLogEnd(fs, Concat({directory, "/", name}), synced_bytes));
  if (!end.torn || end.whole_bytes < synced_bytes) return std::vector<TornEnd>();
  return std::vector<TornEnd>{{name, end.whole_bytes, end.size_bytes, end.zeros_follow}};
}

}  // namespace

std::string CurrentManifest(rocksdb::FileSystem* fs, const std::string& directory) {
  auto current = ReadSmallFile(fs, directory + "/CURRENT", kCurrentBytesMax);
  if (!current.ok() || !current->ends_with('\n')) return {};
  current->pop_back();
  return FileKindOf(*current) == FileKind::kManifest ? *std::move(current) : std::string();
}

Result<std::vector<TornEnd>> FindTornEnds(rocksdb::FileSystem* fs, const std::string& directory,
                                          const SyncedEnds& ends) {
  std::vector<TornEnd> torn;
  const std::string manifest = CurrentManifest(fs, directory);
  if (ends.manifest_number != 0 && FileNumberOf(manifest) == ends.manifest_number) {
    CISTERN_ASSIGN_OR_RETURN(torn, FindTornEnd(fs, directory, manifest, ends.manifest_bytes));
  }
  // A note that knows of no log is older than the first opening's end (Store::EndDoubt).
  if (ends.manifest_number == 0 && ends.log_number == 0) return torn;
  CISTERN_ASSIGN_OR_RETURN(const auto logs, ListWriteAheadLogs(fs, directory));
  bool is_behind_hole = false;
  for (const NumberedLog& log : logs) {
    if (log.number < ends.log_number) continue;
    if (is_behind_hole) {
      torn.push_back({.name = log.name, .whole_bytes = 0});
      const IOStatus looked = fs->GetFileSize(Concat({directory, "/", log.name}), IOOptions(),
                                              &torn.back().size_bytes, nullptr);
      if (!looked.ok()) return ToStatus(looked, "looking at " + log.name);
      if (torn.back().size_bytes == 0) torn.pop_back();  // an opening that ended has cut it
      continue;
    }
    const uint64_t synced_bytes = log.number == ends.log_number ? ends.log_bytes : 0;
    CISTERN_ASSIGN_OR_RETURN(const auto found,
                             FindTornEnd(fs, directory, log.name, synced_bytes));
    torn.insert(torn.end(), found.begin(), found.end());
    is_behind_hole = !found.empty();
  }
  return torn;
}

Result<std::vector<TornEnd>> FindBrokenLogs(rocksdb::FileSystem* fs,
                                            const std::string& directory) {
  CISTERN_ASSIGN_OR_RETURN(const auto logs, ListWriteAheadLogs(fs, directory));
  std::vector<TornEnd> damaged;  // the last ones may have no log behind them
  size_t broken = 0;
  for (const NumberedLog& log : logs) {
    CISTERN_ASSIGN_OR_RETURN(const LogEnd end, FindLogEnd(fs, Concat({directory, "/",
        log.name}), 0));
    if (end.size_bytes > 0) broken = damaged.size();
    // A record that runs past the end may be damage of its length.
    if (end.torn || end.record_bytes < end.size_bytes) {
      damaged.push_back({log.name, end.record_bytes, end.size_bytes, false});
    }
  }
  damaged.resize(broken);
  return damaged;
}

Result<bool> HasLogWithHole(rocksdb::FileSystem* fs, const std::string& directory) {
  CISTERN_ASSIGN_OR_RETURN(const auto logs, ListWriteAheadLogs(fs, directory));
  for (const NumberedLog& log : logs) {
    CISTERN_ASSIGN_OR_RETURN(const LogEnd end, FindLogEnd(fs, Concat({directory, "/",
        log.name}), 0));
    if (end.torn) return true;
  }
  return false;
}

Result<std::vector<std::string>> CutTornEnds(rocksdb::FileSystem* fs, const std::string& directory,
                                             const std::vector<TornEnd>& torn) {
  std::vector<std::string> notes;
  if (torn.empty()) return notes;
  std::vector<FileEnd> to_keep;
  for (const TornEnd& end : torn) {
    if (!end.only_zeros && end.size_bytes > end.whole_bytes) {
      to_keep.push_back({end.name, end.whole_bytes});
    }
  }
  const Status kept = QuarantineEnds(fs, directory, to_keep);
  // The newest first: a log is replayed once the one before it is whole, and where the next cut
  // fails, its rows would stand behind a gap.
  for (auto at = torn.rbegin(); at != torn.rend(); ++at) {
    const TornEnd& end = *at;
    const std::string path = Concat({directory, "/", end.name});
    CISTERN_RETURN_IF_ERROR(CutFile(fs, path, end.whole_bytes));
    notes.push_back(Concat({"the end of ", end.name, ", torn by a cut of the power, was cut off: ",
        end.size_bytes - end.whole_bytes, " bytes behind byte ", end.whole_bytes,
        ", which were never synced",
        (kept.ok() ? "" : "; they could not be kept: " + kept.message())}));
  }
  return notes;
}

}  // namespace cistern
