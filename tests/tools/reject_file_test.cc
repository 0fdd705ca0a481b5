#include "tools/reject_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace cistern::tool {
namespace {

using ::testing::HasSubstr;

class RejectFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::temp_directory_path() /
                 ("reject_file_test." + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string Path(const std::string& name) const { return directory_ / name; }
  void Make(const std::string& name, std::string_view text) const {
    std::ofstream(Path(name), std::ios::binary) << text;
  }
  std::string TextOf(const std::string& name) const {
    std::ifstream file(Path(name), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  // One line under `header`, in a run of its own; where it is kept.
  std::string Keep(std::string_view header, std::string_view line,
                   const std::vector<std::string>& inputs = {}) const {
    RejectFile file(Path("x"), header, inputs);
    EXPECT_TRUE(file.Add(line).ok());
    EXPECT_TRUE(file.Sync().ok());
    EXPECT_EQ(file.kept(), 1u);
    return std::filesystem::path(file.path()).filename();
  }

  std::filesystem::path directory_;
};

TEST_F(RejectFileTest, AnotherHeaderGetsAFileOfItsOwn) {
  EXPECT_EQ(Keep("a,b\n", "1,2\n"), "x");
  EXPECT_EQ(Keep("b,a\r\n", "3,4\r\n"), "x.2");
  EXPECT_EQ(Keep("a,b\r\n", "5,6\n"), "x") << "the end of the line is no part of the header";
  EXPECT_EQ(Keep("a,b,c\n", "7,8,9\n"), "x.3") << "nor is one that begins another";
  EXPECT_EQ(Keep("b,a\n", "1,1\n"), "x.2");
  EXPECT_EQ(TextOf("x"), "a,b\n1,2\n5,6\n");
  EXPECT_EQ(TextOf("x.2"), "b,a\n3,4\r\n1,1\n");
  EXPECT_EQ(TextOf("x.3"), "a,b,c\n7,8,9\n");
}

TEST_F(RejectFileTest, WhatStandsBeforeTheHeaderIsPartOfIt) {
  EXPECT_EQ(Keep("made by x\na,b\n", "1,2\n"), "x");
  EXPECT_EQ(Keep("made by x\nb,a\n", "3,4\n"), "x.2");
  EXPECT_EQ(Keep("made by x\na,b\n", "5,6\n"), "x");
  EXPECT_EQ(TextOf("x"), "made by x\na,b\n1,2\n5,6\n");
}

TEST_F(RejectFileTest, LinesWithoutAHeaderFollowWhatIsThere) {
  Make("x", "{\"a\":1}");
  EXPECT_EQ(Keep("", "{\"a\":2}\n"), "x");
  EXPECT_EQ(TextOf("x"), "{\"a\":1}\n{\"a\":2}\n") << "the last line had no end";
}

TEST_F(RejectFileTest, ALineWithoutItsEndDoesNotGrowTogetherWithTheNext) {
  RejectFile file(Path("x"), "a,b");
  ASSERT_TRUE(file.Add("1,2").ok());
  ASSERT_TRUE(file.Flush().ok());
  EXPECT_EQ(TextOf("x"), "a,b\n1,2") << "word for word";
  ASSERT_TRUE(file.Add("3,4").ok());
  ASSERT_TRUE(file.Add("long,", true).ok());
  ASSERT_TRUE(file.Add("er,", true).ok());
  ASSERT_TRUE(file.Add("line\n").ok());
  ASSERT_TRUE(file.Add("5,6\n").ok());
  ASSERT_TRUE(file.Sync().ok());
  EXPECT_EQ(TextOf("x"), "a,b\n1,2\n3,4\nlong,er,line\n5,6\n");
  EXPECT_EQ(file.kept(), 4u);
  EXPECT_EQ(Keep("a,b\n", "7,8\n"), "x");
}

TEST_F(RejectFileTest, AnInputIsNotWrittenTo) {
  Make("x", "a,b\n1,2\n");
  std::filesystem::create_symlink(Path("x"), Path("link"));
  EXPECT_EQ(Keep("a,b\n", "1,2\n", {"-", Path("link"), Path("nowhere")}), "x.2");
  EXPECT_EQ(TextOf("x"), "a,b\n1,2\n");
}

TEST_F(RejectFileTest, APipeIsWrittenToAsItIs) {
  ASSERT_EQ(mkfifo(Path("x").c_str(), 0600), 0);
  const int reader = open(Path("x").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  EXPECT_EQ(Keep("a,b\n", "1,2\n"), "x");
  char text[16] = {};
  EXPECT_EQ(read(reader, text, sizeof text), 8);
  EXPECT_STREQ(text, "a,b\n1,2\n");
  close(reader);
}

// A device that is full in the middle of a line: no file may become larger than `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : old_handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    struct rlimit limit = old_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  struct rlimit old_ = {};
  void (*old_handler_)(int);
};

TEST_F(RejectFileTest, WhatDoesNotFitIsTakenBackAndNotCounted) {
  RejectFile file(Path("x"), "a,b");
  ASSERT_TRUE(file.Add("1,2\n").ok());
  ASSERT_TRUE(file.Flush().ok());
  {
    const FileSizeLimit limit(13);
    ASSERT_TRUE(file.Add("3,4\n").ok());
    ASSERT_TRUE(file.Add("5,678\n").ok());
    const Status s = file.Flush();
    EXPECT_EQ(s.code(), StatusCode::kIoError);
    EXPECT_THAT(s.message(), HasSubstr("cannot write rejected lines to "));
    EXPECT_EQ(TextOf("x"), "a,b\n1,2\n") << "5,6 would be another value";
  }
  EXPECT_EQ(file.kept(), 1u);
  EXPECT_FALSE(file.Add("9,9\n").ok()) << "a failure is for good";
  EXPECT_FALSE(file.Sync().ok());
  EXPECT_EQ(TextOf("x"), "a,b\n1,2\n");
}

TEST_F(RejectFileTest, APieceOfALineIsTakenBackToo) {
  const std::string piece(100'000, 'x');
  RejectFile file(Path("x"));
  ASSERT_TRUE(file.Add("1,2\n").ok());
  ASSERT_TRUE(file.Add(piece, true).ok());
  EXPECT_EQ(TextOf("x").size(), 100'004u) << "much is written at once";
  {
    const FileSizeLimit limit(150'000);
    EXPECT_FALSE(file.Add(piece, true).ok());
  }
  EXPECT_EQ(TextOf("x"), "1,2\n");
  EXPECT_EQ(file.kept(), 1u);
}

}  // namespace
}  // namespace cistern::tool
