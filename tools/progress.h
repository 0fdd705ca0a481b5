// Progress: one line on a terminal that is written over; nothing anywhere else.
#ifndef CISTERN_TOOLS_PROGRESS_H_
#define CISTERN_TOOLS_PROGRESS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cistern/clock.h"

namespace cistern::tool {

// Draws on standard error at most ten times a second.
class Progress {
 public:
  // Silent unless standard error is a terminal and `wanted`.
  explicit Progress(bool wanted);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Of a file that is read. `size` 0: not known.
  void Update(const std::string& name, uint64_t bytes, uint64_t size, uint64_t rows,
              uint64_t rejected);
  // Of anything else: `text`, behind a bar of `share`, 0 to 1, where that is known.
  void Draw(std::optional<double> share, const std::string& text);
  // Takes the line away, before anything else is printed.
  void Clear();

 private:
  [[nodiscard]] bool IsDue();

  bool enabled_ = false;
  bool drawn_ = false;
  std::shared_ptr<Clock> clock_;
  int64_t started_us_ = 0;
  int64_t drawn_us_ = 0;
};

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_PROGRESS_H_
