// Which seals of a window upstream has, as the copy of the catalog keeps it (catalog_copy.h).
#ifndef CISTERN_STORAGE_CONFIRMED_SEALS_H_
#define CISTERN_STORAGE_CONFIRMED_SEALS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/replication_options.h"
#include "cistern/result.h"

namespace cistern {

// By the number of the seal, with how its arrival was proved. What is not in it waits.
using ConfirmedSeals = std::map<uint64_t, ProofLevel>;

// Of a live window: its value is any number of changes, one behind the other.
[[nodiscard]] std::string CatalogConfirmedKey(uint64_t window_id);

// Appends what makes these seals confirmed.
void PutConfirmed(const ConfirmedSeals& seals, std::string* out);
// Appends what makes these seals wait again.
void PutWaiting(std::vector<uint64_t> seals, std::string* out);

// What all changes together say. kCorruption: these are no such changes.
[[nodiscard]] Result<ConfirmedSeals> DecodeConfirmed(std::string_view bytes);

}  // namespace cistern

#endif  // CISTERN_STORAGE_CONFIRMED_SEALS_H_
