// A directory of its own for one test, removed afterwards. In memory where the machine
// has such a place: sweeps sync thousands of times.
#ifndef CISTERN_TESTS_STORAGE_TEMP_STORE_H_
#define CISTERN_TESTS_STORAGE_TEMP_STORE_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "storage/store_opener.h"
#include "tests/support/fake_clock.h"

namespace cistern {

class TempStore {
 public:
  TempStore() {
    std::string name = "/dev/shm/cistern-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      name = (std::filesystem::temp_directory_path() / "cistern-XXXXXX").string();
      static_cast<void>(::mkdtemp(name.data()));
    }
    root_ = name;
    config.directory = root_ + "/store";
    config.memory_budget_bytes = 8 * 1024 * 1024;
    config.clock = std::make_shared<FakeClock>();
  }
  ~TempStore() { std::filesystem::remove_all(root_); }
  TempStore(const TempStore&) = delete;
  TempStore& operator=(const TempStore&) = delete;

  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::string Path(const std::string& name) const {
    return config.directory + "/" + name;
  }
  [[nodiscard]] Result<OpenedStore> Open() const { return OpenStore(config); }

  StoreConfig config;

 private:
  std::string root_;
};

// The names in a directory.
inline std::set<std::string> NamesIn(const std::string& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

inline std::string ReadBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace cistern

#endif  // CISTERN_TESTS_STORAGE_TEMP_STORE_H_
