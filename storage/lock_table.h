// The kernel's table of locked files, as /proc/locks has it.
#ifndef CISTERN_STORAGE_LOCK_TABLE_H_
#define CISTERN_STORAGE_LOCK_TABLE_H_

#include <istream>
#include <string>

namespace cistern {

// The process that holds a lock of fcntl(2) on the file at `path`, by its number; 0: none, or it
// cannot be told, as of a process in another container. The file is not opened: to close it again
// would free a lock of this very process.
[[nodiscard]] int LockHolderOf(const std::string& path);

// The same of a table's text. `place` is "MAJOR:MINOR:INODE", the two numbers of the device in two
// hexadecimal digits or more. Processes that wait for the lock hold none, and neither does one with
// a lock of flock(2), which stands beside those of fcntl(2). A line of another form is passed over.
[[nodiscard]] int LockHolderIn(std::istream& table, const std::string& place);

}  // namespace cistern

#endif  // CISTERN_STORAGE_LOCK_TABLE_H_
