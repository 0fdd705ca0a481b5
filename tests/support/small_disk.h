// SmallDisk: a real file system of a few megabytes, which others can fill.
#ifndef CISTERN_TESTS_SUPPORT_SMALL_DISK_H_
#define CISTERN_TESTS_SUPPORT_SMALL_DISK_H_

#include <sched.h>
#include <sys/mount.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace cistern::testing {

// A tmpfs of a size: as root, or else in a namespace of this process alone.
class SmallDisk {
 public:
  SmallDisk(std::string path, const char* size) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, size) == 0;
    if (mounted_ || unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return;
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, size) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  [[nodiscard]] bool mounted() const { return mounted_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  // Another process takes all that is left, or all but so many bytes, or gives it back.
  void Fill() const {
    std::ofstream file(path_ + "/foreign", std::ios::binary | std::ios::app);
    const std::string chunk(kChunkBytes, 'x');
    while (file.write(chunk.data(), static_cast<std::streamsize>(chunk.size())).flush()) {
    }
    std::ofstream rest(path_ + "/foreign-rest", std::ios::binary | std::ios::app);
    while (rest.put('x').flush()) {
    }
  }
  void FillBut(uint64_t bytes) const {
    std::ofstream file(path_ + "/foreign", std::ios::binary | std::ios::app);
    const std::string chunk(kChunkBytes, 'x');
    while (std::filesystem::space(path_).available >= bytes + kChunkBytes &&
           file.write(chunk.data(), static_cast<std::streamsize>(chunk.size())).flush()) {
    }
  }
  void Free() const {
    std::filesystem::remove(path_ + "/foreign");
    std::filesystem::remove(path_ + "/foreign-rest");
  }

 private:
  static constexpr size_t kChunkBytes = 64 * 1024;
  std::string path_;
  bool mounted_ = false;
};

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_SMALL_DISK_H_
