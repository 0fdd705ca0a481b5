// Replays the corpus of each fuzz target, whole, cut and with flipped bits, without a
// fuzzer: what was found once stays fixed, and the targets cannot rot.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/decoder_targets.h"

namespace cistern {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Corpus(const char* target) {
  const char* source = std::getenv("CISTERN_SOURCE_DIR");
  const fs::path dir =
      fs::path(source != nullptr ? source : ".") / "tests" / "fuzz" / "corpus" / target;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir)) paths.push_back(entry);
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> inputs;
  for (const fs::path& path : paths) {
    std::ifstream in(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return inputs;
}

void Replay(const char* target, void (*fuzz)(std::string_view)) {
  const std::vector<std::string> inputs = Corpus(target);
  ASSERT_GE(inputs.size(), 10u);
  for (const std::string& input : inputs) {
    fuzz(input);
    fuzz(std::string_view(input).substr(0, input.size() / 2));
    std::string flipped = input;
    for (size_t i = 0; i < flipped.size(); i += 1 + flipped.size() / 64) {
      flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
      fuzz(flipped);
      flipped[i] = input[i];
    }
  }
}

TEST(FuzzReplay, Pages) { Replay("page", &FuzzPage); }
TEST(FuzzReplay, Codecs) { Replay("codec", &FuzzCodec); }
TEST(FuzzReplay, Dictionaries) { Replay("dictionary", &FuzzDictionary); }
TEST(FuzzReplay, Headers) { Replay("header", &FuzzHeader); }
TEST(FuzzReplay, CqlResponses) { Replay("cql_response", &FuzzCqlResponse); }
TEST(FuzzReplay, Lz4Blocks) { Replay("lz4", &FuzzLz4); }
TEST(FuzzReplay, TimePatterns) { Replay("time_pattern", &FuzzTimePattern); }

}  // namespace
}  // namespace cistern
