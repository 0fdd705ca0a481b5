// The names of the files that keep the catalog a second time (KEYSPACE.md).
#ifndef CISTERN_STORAGE_CATALOG_NAMES_H_
#define CISTERN_STORAGE_CATALOG_NAMES_H_

#include <string_view>

namespace cistern {

// Two files with the same content; backups have the first one.
inline constexpr const char* kCatalogFileNames[] = {"CATALOG-1", "CATALOG-2"};
// Of an ended window; its number follows as 16 hexadecimal digits.
inline constexpr std::string_view kEndedFilePrefix = "ENDED-";

// Whether a bare name is one of them. A store can do without: opening writes them anew.
[[nodiscard]] inline bool IsCatalogCopyName(std::string_view name) {
  return name == kCatalogFileNames[0] || name == kCatalogFileNames[1] ||
         name.starts_with(kEndedFilePrefix);
}

}  // namespace cistern

#endif  // CISTERN_STORAGE_CATALOG_NAMES_H_
