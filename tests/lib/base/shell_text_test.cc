// Words of commands that messages tell are taken by a shell as they are meant.
#include "lib/base/shell_text.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <string>

namespace cistern {
namespace {

// What a shell makes of the word.
std::string TakenByShell(const std::string& word) {
  const std::string command = "printf '%s' " + word;
  FILE* const shell = popen(command.c_str(), "r");
  if (shell == nullptr) return "no shell";
  std::array<char, 256> text{};
  const size_t length = fread(text.data(), 1, text.size(), shell);
  EXPECT_EQ(pclose(shell), 0) << command;
  return {text.data(), length};
}

TEST(ShellText, AShellTakesEveryWordAsItIs) {
  for (const std::string& word :
       {std::string("/data/cistern"), std::string("a b's.csv"), std::string("it's"),
        std::string("'"), std::string("$HOME `id` \\ \"x\" * ? ~ # ; & | < > ( ) { } !"),
        std::string("two\nlines"), std::string("plant.pumps.flow@2027-01-15T08:00:00.123Z")}) {
    EXPECT_EQ(TakenByShell(ShellWord(word)), word);
    EXPECT_EQ(TakenByShell(ShellQuoted(word)), word);
  }
  EXPECT_EQ(TakenByShell(ShellWord("")), "");
}

TEST(ShellText, QuotesStandWhereTheyHaveTo) {
  EXPECT_EQ(ShellWord("plant.pumps.flow@2027-01-15T08:00:00.123Z"),
            "plant.pumps.flow@2027-01-15T08:00:00.123Z");
  EXPECT_EQ(ShellWord("it's"), "'it'\\''s'");
  EXPECT_EQ(ShellWord(""), "''");
  EXPECT_EQ(ShellQuoted("temp"), "'temp'");
}

}  // namespace
}  // namespace cistern
