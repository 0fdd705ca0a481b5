// ProofLevel: how upstream has shown that it has a seal.
#ifndef CISTERN_STORAGE_PROOF_LEVEL_H_
#define CISTERN_STORAGE_PROOF_LEVEL_H_

#include <cstdint>

namespace cistern {

// Each asks for more than the one before.
enum class ProofLevel : uint8_t {
  kAck,    // every batch was acknowledged at the asked consistency
  kCount,  // and the server counts at least the rows and cells of the seal
  kRows,   // and its rows were read back and compared
};

}  // namespace cistern

#endif  // CISTERN_STORAGE_PROOF_LEVEL_H_
