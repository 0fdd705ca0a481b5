// The examples of docs/schema.md are valid.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cistern/schema.h"

namespace cistern {
namespace {

TEST(SchemaDoc, EveryExampleParses) {
  const char* const root = std::getenv("CISTERN_SOURCE_DIR");
  ASSERT_NE(root, nullptr) << "run by meson test, which sets CISTERN_SOURCE_DIR";
  std::ifstream file(std::string(root) + "/docs/schema.md");
  ASSERT_TRUE(file.is_open());
  std::stringstream text;
  text << file.rdbuf();
  const std::string doc = text.str();
  const std::string open = "```cql\n";
  size_t examples = 0;
  for (size_t at = doc.find(open); at != std::string::npos; at = doc.find(open, at)) {
    at += open.size();
    const std::string cql = doc.substr(at, doc.find("```", at) - at);
    const auto parsed = ParseCreateTable(cql);
    EXPECT_TRUE(parsed.ok()) << parsed.status().ToString() << "\n" << cql;
    ++examples;
  }
  EXPECT_EQ(examples, 6u);
}

}  // namespace
}  // namespace cistern
