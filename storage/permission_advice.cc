#include "storage/permission_advice.h"

#include <sys/stat.h>
#include <unistd.h>

#include <optional>

#include "lib/base/concat.h"
#include "lib/base/shell_text.h"
#include "storage/refusal_words.h"

namespace cistern {
namespace {

std::optional<struct stat> LookAt(const std::string& path) {
  struct stat found {};
  if (path.empty() || ::stat(path.c_str(), &found) != 0) return std::nullopt;
  return found;
}

// The rights that its owner, who this user is, lacks, as chmod has them; empty: none, or the owner
// is another user.
std::string ClosedToOwner(const struct stat& found) {
  if (found.st_uid != ::geteuid()) return {};
  std::string letters;
  if ((found.st_mode & S_IRUSR) == 0) letters += 'r';
  if ((found.st_mode & S_IWUSR) == 0) letters += 'w';
  if (S_ISDIR(found.st_mode) && (found.st_mode & S_IXUSR) == 0) letters += 'x';
  return letters;
}

}  // namespace

// A path that is not there, or that its owner alone can see, is refused by its directory.
std::string PermissionAdvice(std::string_view words) {
  const std::string path = PathIn(words);
  std::string seen;
  for (const std::string& at : {path, DirectoryOf(path)}) {
    const auto found = LookAt(at);
    if (!found) continue;
    if (seen.empty()) seen = at;
    const std::string letters = ClosedToOwner(*found);
    if (letters.empty()) continue;
    return Concat({at, " is this user's, and closed to it: `chmod u+", letters, " ", ShellWord(at),
        "` opens it"});
  }
  return Concat({"this user has no right to it: run as the owner of the store, as `ls -ld ",
      (seen.empty() ? "DIRECTORY" : ShellWord(seen)), "` names it"});
}

std::string ReadOnlyMountAdvice(std::string_view words) {
  const std::string directory = DirectoryOf(PathIn(words));
  return Concat({"its file system is mounted for reading alone: `findmnt -T ",
      (directory.empty() ? "DIRECTORY" : ShellWord(directory)), "` names where, and `mount -o "
      "remount,rw` of that takes writes again, unless `dmesg` tells of a device that fails"});
}

}  // namespace cistern
