#include "tests/golden/golden_dictionary.h"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "lib/base/check.h"
#include "lib/segment/dictionary_value.h"

namespace cistern::testing {

namespace {

std::shared_ptr<const ZstdDictionary> Load() {
  std::ifstream in(GoldenFolder() + "/" + kGoldenDictionaryFile, std::ios::binary);
  const std::string value{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  auto dictionary = DecodeDictionary(kGoldenDictionary, value);
  CISTERN_CHECK(dictionary.ok());  // set CISTERN_SOURCE_DIR
  return *std::move(dictionary);
}

}  // namespace

std::string GoldenFolder() {
  const char* source = std::getenv("CISTERN_SOURCE_DIR");
  return std::string(source != nullptr ? source : ".") + "/tests/golden/segments";
}

NumberedDictionary GoldenDictionaries::Only() const {
  static const std::shared_ptr<const ZstdDictionary> loaded = Load();
  return {kGoldenDictionary, loaded};
}

Result<std::shared_ptr<const ZstdDictionary>> GoldenDictionaries::Find(uint64_t number) const {
  if (number == kGoldenDictionary) return Only().dictionary;
  return Status::Corruption("dictionary " + std::to_string(number) + " is missing");
}

}  // namespace cistern::testing
