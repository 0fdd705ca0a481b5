// What to do where a file system takes no more: for want of bytes, or of inodes.
#ifndef CISTERN_STORAGE_FULL_DISK_ADVICE_H_
#define CISTERN_STORAGE_FULL_DISK_ADVICE_H_

#include <sys/statvfs.h>

#include <string_view>

namespace cistern {

// A budget that is used up says so by these words, and no free space of the disk mends it.
inline constexpr std::string_view kDiskBudgetWords = "the disk budget of ";
inline constexpr std::string_view kDiskBudgetAdvice =
    "raise disk_budget_bytes (cistern --disk-budget), or let windows go sooner (keep_confirmed_s, "
    "cistern --keep-confirmed)";

// By what the file system says of itself.
[[nodiscard]] std::string_view FullDiskAdvice(const struct statvfs& file_system);

// Of RocksDB's words of a call that met it, which end with the path and the reason: "While open a
// file for appending: /data/store/000012.log: No space left on device".
[[nodiscard]] std::string_view FullDiskAdvice(std::string_view words);

}  // namespace cistern

#endif  // CISTERN_STORAGE_FULL_DISK_ADVICE_H_
