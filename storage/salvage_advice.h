// What to do about a store that cannot be opened, in the words of every message of that kind.
#ifndef CISTERN_STORAGE_SALVAGE_ADVICE_H_
#define CISTERN_STORAGE_SALVAGE_ADVICE_H_

#include <string>
#include <string_view>

namespace cistern {

// Salvage reads the rows of a store by its files of segments, its logs and a copy of its catalog,
// of which one is enough. So a store that cannot be opened is not to be given up. This follows what
// is wrong.
inline constexpr std::string_view kSalvageAdvice =
    "; `cistern salvage --store S --to NEW` (Salvage in the library) reads the rows by CATALOG-1 "
    "or -2, or restore the directory from a backup";

// `message` without that advice: for salvage itself, which is what it advises.
[[nodiscard]] inline std::string WithoutSalvageAdvice(std::string message) {
  const size_t at = message.find(kSalvageAdvice);
  if (at != std::string::npos) message.erase(at, kSalvageAdvice.size());
  return message;
}

}  // namespace cistern

#endif  // CISTERN_STORAGE_SALVAGE_ADVICE_H_
