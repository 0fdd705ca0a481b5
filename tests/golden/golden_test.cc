// What format 1 is in bytes. Today's writer still writes every golden segment from its recipe, byte
// for byte; today's reader gives exactly the rows of its text; and a difference does not go by.
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "lib/base/checksum.h"
#include "lib/base/coding.h"
#include "storage/seal_records.h"
#include "tests/golden/recipe.h"
#include "tests/golden/segment_file.h"

namespace cistern::testing {
namespace {

namespace fs = std::filesystem;

// The libzstd whose frames the golden ones are.
constexpr unsigned kZstdVersion = 10504;

fs::path Folder() {
  const char* source = std::getenv("CISTERN_SOURCE_DIR");
  return fs::path(source != nullptr ? source : ".") / "tests" / "golden" / "segments";
}

std::string Read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> FilesOf(const char* extension) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(Folder())) {
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// The CREATE TABLE text of a golden text: what stands behind "table " on its first line.
std::string TableOf(const std::string& text) {
  constexpr std::string_view kTable = "table ";
  EXPECT_TRUE(text.starts_with(kTable));
  return text.substr(kTable.size(), text.find('\n') - kTable.size());
}

// The first line in which two texts differ, for messages; nothing if they are equal.
std::string Difference(const std::string& got, const std::string& want) {
  const auto [g, w] = std::mismatch(got.begin(), got.end(), want.begin(), want.end());
  if (g == got.end() && w == want.end()) return {};
  const auto line = [](const std::string& text, size_t at) {
    const size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  const auto at = static_cast<size_t>(g - got.begin());
  return "got  " + line(got, at) + "\nwant " + line(want, at);
}

TEST(Golden, TodaysWriterWritesTheseBytes) {
  std::set<std::string> names;
  for (const GoldenRecipe& recipe : GoldenRecipes()) {
    SCOPED_TRACE(recipe.name);
    EXPECT_TRUE(names.insert(recipe.name).second);
    if (recipe.has_zstd && ZSTD_versionNumber() != kZstdVersion) continue;
    const std::string want = Read(Folder() / (std::string(recipe.name) + ".segment"));
    const std::string got = MakeSegment(recipe);
    const auto differs = std::mismatch(got.begin(), got.end(), want.begin(), want.end()).first;
    EXPECT_TRUE(got == want) << got.size() << " bytes, golden " << want.size()
                             << ", the first that differs is number " << differs - got.begin();
  }
  EXPECT_GE(names.size(), 20u);
}

TEST(Golden, TodaysReaderGivesTheseRows) {
  const std::vector<fs::path> files = FilesOf(".segment");
  EXPECT_GE(files.size(), GoldenRecipes().size());
  for (const fs::path& path : files) {
    SCOPED_TRACE(path.filename());
    const std::string want = Read(fs::path(path).replace_extension(".txt"));
    const Result<std::string> got = SegmentText(TableOf(want), Read(path));
    ASSERT_TRUE(got.ok()) << got.status().ToString();
    EXPECT_EQ(Difference(*got, want), "");
  }
}

// The texts were made by the reader; the rows of the recipes were not.
TEST(Golden, TheRowsAreThoseOfTheRecipes) {
  for (const GoldenRecipe& recipe : GoldenRecipes()) {
    SCOPED_TRACE(recipe.name);
    const std::string text = Read(Folder() / (std::string(recipe.name) + ".txt"));
    std::string rows;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at) + 1;
      if (text.compare(at, 4, "row|") == 0) rows.append(text, at, end - at);
      at = end;
    }
    const GoldenRows golden = FilledRows(recipe);
    EXPECT_EQ(Difference(rows, RowsText(golden.schema(), golden.rows())), "");
  }
}

TEST(Golden, TheManifestIsTheSame) {
  const std::string want = Read(Folder() / "pages.manifest");
  EXPECT_TRUE(MakeManifest() == want);
  const std::string text = Read(Folder() / "pages.manifest.txt");
  const Result<std::string> got = ManifestText(TableOf(text), want);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_EQ(Difference(*got, text), "");
}

// --- that the tests above can fail

// Every bit of a file, under a right checksum: where it is not refused the rows are others.
TEST(Golden, NoBitOfAPageGoesByUnnoticed) {
  const std::string text = Read(Folder() / "worked-example.txt");
  const std::string file = Read(Folder() / "worked-example.segment");
  const size_t page_begin = sizeof(uint32_t) + GetLittle<uint32_t>(file.data());
  const size_t body_end = file.size() - sizeof(uint64_t);
  size_t read = 0;
  for (size_t bit = page_begin * 8; bit < body_end * 8; ++bit) {
    std::string planted = file.substr(0, body_end);
    planted[bit / 8] = static_cast<char>(planted[bit / 8] ^ (1 << (bit % 8)));
    PutLittle<uint64_t>(&planted, Checksum(std::string_view(planted).substr(page_begin)));
    const Result<std::string> got = SegmentText(TableOf(text), planted);
    if (got.ok()) ++read;
    EXPECT_TRUE(!got.ok() || Difference(*got, text) != "") << "bit " << bit;
  }
  EXPECT_GT(read, 10u) << "some are rows too, but others";
}

TEST(Golden, AnotherRowIsAnotherSegmentAndAnotherText) {
  const GoldenRecipe recipe = VersionRecipes().front();
  const std::string text = Read(Folder() / (std::string(recipe.name) + ".txt"));
  const std::string file = Read(Folder() / (std::string(recipe.name) + ".segment"));
  GoldenRecipe planted = recipe;
  planted.fill = [](GoldenRows* rows) {
    VersionRecipes().front().fill(rows);
    rows->Begin(1'721'900'004'000'250);
    rows->Number(1'721'900'004'000).Double(21.5).Text("OK");
  };
  const std::string made = MakeSegment(planted);
  EXPECT_FALSE(made == file);
  const Result<std::string> got = SegmentText(recipe.cql, made);
  ASSERT_TRUE(got.ok()) << got.status().ToString();
  EXPECT_NE(Difference(*got, text), "");
}

}  // namespace
}  // namespace cistern::testing
