#include "storage/damage_advice.h"

#include <string_view>

#include "lib/base/concat.h"
#include "lib/base/shell_text.h"

namespace cistern {
namespace {

// How an advice begins and ends; what lies between names the store.
struct Frame {
  std::string_view begin;
  std::string_view end;
};

constexpr Frame kSalvage = {
    "; `cistern salvage --store ",
    " --to NEW` (Salvage in the library) reads the rows by CATALOG-1 or -2, or restore the "
    "directory from a backup"};

// A backup is the one command that opens a store for writing and changes nothing else in it.
constexpr Frame kRepair = {"; opening the store for writing repairs it",
                           " --to BACKUPS` does that and changes nothing else"};

constexpr Frame kQuarantine = {
    "; put the files back from a backup of this store, or save what is left by `cistern salvage "
    "--store ",
    " --to NEW`. Where these rows do not matter nothing has to be done"};

void Remove(const Frame& frame, std::string* message) {
  for (size_t at = message->find(frame.begin); at != std::string::npos;
       at = message->find(frame.begin, at)) {
    const size_t end = message->find(frame.end, at + frame.begin.size());
    if (end == std::string::npos) return;
    message->erase(at, end + frame.end.size() - at);
  }
}

}  // namespace

std::string SalvageAdvice(const std::string& directory) {
  return Concat({kSalvage.begin, ShellWord(directory), kSalvage.end});
}

std::string RepairAdvice(const std::string& directory, const std::string& cost) {
  return Concat({kRepair.begin, cost, ": `cistern backup --store ", ShellWord(directory),
      kRepair.end});
}

std::string QuarantineAdvice(const std::string& directory) {
  return Concat({kQuarantine.begin, ShellWord(directory), kQuarantine.end});
}

std::string WithoutDamageAdvice(std::string message) {
  Remove(kSalvage, &message);
  Remove(kRepair, &message);
  Remove(kQuarantine, &message);
  return message;
}

}  // namespace cistern
