// RunningChecksum: the checksum of bytes that come in pieces.
#ifndef CISTERN_BASE_RUNNING_CHECKSUM_H_
#define CISTERN_BASE_RUNNING_CHECKSUM_H_

#include <cstdint>
#include <memory>
#include <string_view>

namespace cistern {

// Of all pieces together what Checksum() (lib/base/checksum.h) gives of them as one.
class RunningChecksum {
 public:
  RunningChecksum();
  ~RunningChecksum();
  RunningChecksum(const RunningChecksum&) = delete;
  RunningChecksum& operator=(const RunningChecksum&) = delete;

  void Add(std::string_view piece);
  [[nodiscard]] uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cistern

#endif  // CISTERN_BASE_RUNNING_CHECKSUM_H_
