// Which seals of a window upstream has, as the copy of the catalog keeps it (catalog_copy.h).
#ifndef CISTERN_STORAGE_CONFIRMED_SEALS_H_
#define CISTERN_STORAGE_CONFIRMED_SEALS_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cistern/replication_options.h"
#include "cistern/result.h"

namespace cistern {

// By the number of the seal, with how its arrival was proved. What is not in it waits. It takes
// memory by how often neighbours differ, and not by how many seals there are.
class ConfirmedSeals {
 public:
  ConfirmedSeals() = default;
  ConfirmedSeals(std::initializer_list<std::pair<uint64_t, ProofLevel>> seals) {
    for (const auto& [seal, proof] : seals) Confirm(seal, 1, proof);
  }

  // Of seals first .. first + length - 1: the last word of a seal counts. REQUIRES: length > 0, and
  // the sum is no more than UINT64_MAX.
  void Confirm(uint64_t first, uint64_t length, ProofLevel proof);
  void Wait(uint64_t first, uint64_t length);

  // Nothing: the seal waits.
  [[nodiscard]] std::optional<ProofLevel> ProofOf(uint64_t seal) const;
  [[nodiscard]] bool empty() const { return spans_.empty(); }
  friend bool operator==(const ConfirmedSeals&, const ConfirmedSeals&) = default;

  // Seals beside each other with the same proof.
  struct Span {
    uint64_t end = 0;  // behind the last one
    ProofLevel proof = ProofLevel::kAck;
    friend bool operator==(const Span&, const Span&) = default;
  };
  // By the first one.
  [[nodiscard]] const std::map<uint64_t, Span>& spans() const { return spans_; }

 private:
  std::map<uint64_t, Span> spans_;  // apart from each other, or of different proofs
};

// Of a live window: its value is any number of changes, one behind the other.
[[nodiscard]] std::string CatalogConfirmedKey(uint64_t window_id);

// Appends what makes these seals confirmed.
void PutConfirmed(const ConfirmedSeals& seals, std::string* out);
// Appends what makes these seals wait again.
void PutWaiting(std::vector<uint64_t> seals, std::string* out);

// What all changes together say. kCorruption: these are no such changes.
[[nodiscard]] Result<ConfirmedSeals> DecodeConfirmed(std::string_view bytes);
// The shortest changes that say the same; what cannot be read stays as it is.
[[nodiscard]] std::string CompactConfirmed(std::string bytes);

}  // namespace cistern

#endif  // CISTERN_STORAGE_CONFIRMED_SEALS_H_
