// Advice where this user may not do what a store needs, or its file system takes no writes.
// Commands name the path that was refused, as a shell takes it.
#ifndef CISTERN_STORAGE_PERMISSION_ADVICE_H_
#define CISTERN_STORAGE_PERMISSION_ADVICE_H_

#include <string>
#include <string_view>

namespace cistern {

// By RocksDB's words of a call that was refused, and by who owns the path that they name: a file or
// directory that this user closed to itself is opened by chmod, and all others are their owner's.
[[nodiscard]] std::string PermissionAdvice(std::string_view words);

// By RocksDB's words of a call that a file system refused which is mounted for reading alone.
[[nodiscard]] std::string ReadOnlyMountAdvice(std::string_view words);

}  // namespace cistern

#endif  // CISTERN_STORAGE_PERMISSION_ADVICE_H_
