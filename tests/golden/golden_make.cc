// Writes the golden files as today's writer makes them into a folder: for those that are new.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "tests/golden/recipe.h"
#include "tests/golden/segment_file.h"

namespace cistern::testing {
namespace {

bool Write(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << bytes;
  return out.good();
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
  std::fprintf(stderr, "usage: golden_make FOLDER\n");
  return 2;
}
