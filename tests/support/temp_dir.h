// TempDir: a directory that is gone with its object.
#ifndef CISTERN_TESTS_SUPPORT_TEMP_DIR_H_
#define CISTERN_TESTS_SUPPORT_TEMP_DIR_H_

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace cistern::testing {

// Under CISTERN_TEST_DIR, else in memory where the machine has /dev/shm, else under /tmp.
// Only the process that made it removes it: a forked child may end with a copy.
class TempDir {
 public:
  explicit TempDir(const std::string& name) : owner_(getpid()) {
    const char* given = ::getenv("CISTERN_TEST_DIR");
    std::string base = given != nullptr ? given : "/dev/shm";
    if (access(base.c_str(), W_OK) != 0) base = "/tmp";
    path_ = base + "/" + name + "-XXXXXX";
    if (mkdtemp(path_.data()) == nullptr) ::abort();
  }
  ~TempDir() {
    std::error_code ignored;
    if (getpid() == owner_) std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  pid_t owner_;
  std::string path_;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_TEMP_DIR_H_
