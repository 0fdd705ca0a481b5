// The golden trained dictionary: tests/golden/segments/trained.dictionary, which was made once.
#ifndef CISTERN_TESTS_GOLDEN_GOLDEN_DICTIONARY_H_
#define CISTERN_TESTS_GOLDEN_GOLDEN_DICTIONARY_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cistern/result.h"
#include "lib/codec/zstd_dictionary.h"

namespace cistern::testing {

// As a seal round would number it.
inline constexpr uint64_t kGoldenDictionary = 7001ull << 24 | 3;
inline constexpr const char* kGoldenDictionaryFile = "trained.dictionary";

// The folder of golden files in $CISTERN_SOURCE_DIR; without that, of the working directory.
[[nodiscard]] std::string GoldenFolder();

// The store of the golden pages. Ends the program if the file is not there.
class GoldenDictionaries final : public DictionarySource {
 public:
  [[nodiscard]] Result<std::shared_ptr<const ZstdDictionary>> Find(uint64_t number) const override;
  [[nodiscard]] NumberedDictionary Only() const;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_GOLDEN_GOLDEN_DICTIONARY_H_
