// Writes the golden files as today's writer makes them into a folder: for those that are new. With
// "dictionary" before the folder the trained dictionary, which the others need.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "lib/base/check.h"
#include "lib/segment/dictionary_value.h"
#include "tests/golden/golden_dictionary.h"
#include "tests/golden/recipe.h"
#include "tests/golden/segment_file.h"

namespace cistern::testing {
namespace {

bool Write(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  return out.good();
}

// Of lines as recipe "trained" has them.
std::string MakeGoldenDictionary() {
  std::string samples;
  std::vector<size_t> sizes;
  Steps steps;
  for (int page = 0; page < 60; ++page) {
    const size_t before = samples.size();
    for (int i = 0; i < 30; ++i) samples += GoldenLine(&steps);
    sizes.push_back(samples.size() - before);
  }
  auto dictionary = ZstdDictionary::Make(TrainDictionary(samples, sizes));
  CISTERN_CHECK(dictionary.ok());
  return EncodeDictionary(kGoldenDictionary, **dictionary);
}

int MakeDictionary(const std::string& folder) {
  return Write(folder + "/" + kGoldenDictionaryFile, MakeGoldenDictionary()) ? 0 : 1;
}

int Make(const std::string& folder) {
  for (const GoldenRecipe& recipe : GoldenRecipes()) {
    const std::string file = MakeSegment(recipe);
    const Result<std::string> text = SegmentText(recipe.cql, file);
    const std::string path = folder + "/" + recipe.name;
    if (!text.ok() || !Write(path + ".segment", file) || !Write(path + ".txt", *text)) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), text.status().ToString().c_str());
      return 1;
    }
  }
  const std::string manifest = MakeManifest();
  const GoldenRecipe recipe = *std::find_if(
      VersionRecipes().begin(), VersionRecipes().end(),
      [](const GoldenRecipe& r) { return std::string_view(r.name) == kManifestOf; });
  const Result<std::string> text = ManifestText(recipe.cql, manifest);
  const std::string path = folder + "/" + kManifestOf + ".manifest";
  return text.ok() && Write(path, manifest) && Write(path + ".txt", *text) ? 0 : 1;
}

}  // namespace
}  // namespace cistern::testing

int main(int argc, char** argv) {
  if (argc == 2) return cistern::testing::Make(argv[1]);
  if (argc == 3 && std::string_view(argv[1]) == "dictionary") {
    return cistern::testing::MakeDictionary(argv[2]);
  }
  std::fprintf(stderr, "usage: golden_make [dictionary] FOLDER\n");
  return 2;
}
