// Advice for a person with a damaged store, in the words of every message of that kind. Commands
// name the store's own directory, as a shell takes it: another store may have any other name.
#ifndef CISTERN_STORAGE_DAMAGE_ADVICE_H_
#define CISTERN_STORAGE_DAMAGE_ADVICE_H_

#include <string>

namespace cistern {

// Advice for a store that cannot be opened; it follows what is wrong. Salvage reads the rows of a
// store by its files of segments, its logs and a copy of its catalog, of which one is enough. So
// the store is not to be given up.
[[nodiscard]] std::string SalvageAdvice(const std::string& directory);

// Advice for what an opening for writing repairs; it follows what is wrong. `cost` follows "repairs
// it", and says what that gives up: ", gives up ..."; empty: nothing.
[[nodiscard]] std::string RepairAdvice(const std::string& directory, const std::string& cost = {});

// Advice for files of rows that are quarantined while the store is open; it follows what is lost.
[[nodiscard]] std::string QuarantineAdvice(const std::string& directory);

// `message` without any such advice: for salvage itself, which is what they advise, or what has to
// come before a repair that gives records up.
[[nodiscard]] std::string WithoutDamageAdvice(std::string message);

}  // namespace cistern

#endif  // CISTERN_STORAGE_DAMAGE_ADVICE_H_
