// ProofLevel: how much upstream must show before a seal counts as confirmed.
#ifndef CISTERN_ENGINE_REPLICATE_PROOF_LEVEL_H_
#define CISTERN_ENGINE_REPLICATE_PROOF_LEVEL_H_

#include <cstdint>

namespace cistern::replicate {

// Each asks for more than the one before.
enum class ProofLevel : uint8_t {
  kAck,    // every batch was acknowledged at the asked consistency
  kCount,  // and the server counts at least the rows and cells of the seal
  kRows,   // and its rows were read back and compared
};

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_PROOF_LEVEL_H_
