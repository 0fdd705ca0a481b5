// A file that is open for reading, until the end of its scope.
#ifndef CISTERN_ENGINE_READABLE_FILE_H_
#define CISTERN_ENGINE_READABLE_FILE_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

namespace cistern {

class ReadableFile {
 public:
  // Does not wait for somebody to write, where the name is that of a pipe.
  explicit ReadableFile(const std::string& path)
      : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;
  ~ReadableFile() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }  // below 0: errno says why
  // It can be read again and again, unlike a pipe.
  [[nodiscard]] bool is_regular() const {
    struct stat facts = {};
    return fstat(fd_, &facts) == 0 && S_ISREG(facts.st_mode);
  }

 private:
  const int fd_;
};

}  // namespace cistern

#endif  // CISTERN_ENGINE_READABLE_FILE_H_
