// libFuzzer target; see README.md here.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/decoder_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cistern::FuzzTimePattern({reinterpret_cast<const char*>(data), size});
  return 0;
}
