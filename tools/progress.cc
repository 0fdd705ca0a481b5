#include "tools/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace cistern::tool {
namespace {

constexpr int64_t kRedrawMicros = 100'000;
constexpr size_t kBarCells = 24;

size_t TerminalColumns() {
  struct winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

Progress::Progress(bool wanted) : enabled_(wanted && isatty(STDERR_FILENO) != 0) {
  if (!enabled_) return;
  clock_ = SystemClock();
  started_us_ = clock_->MonotonicMicros();
}

void Progress::Update(const std::string& name, uint64_t bytes, uint64_t size, uint64_t rows,
                      uint64_t rejected) {
  if (!enabled_) return;
  const int64_t now_us = clock_->MonotonicMicros();
  if (drawn_ && now_us - drawn_us_ < kRedrawMicros) return;
  drawn_us_ = now_us;
  std::string line;
  if (size > 0) {
    const double share = std::min(1.0, static_cast<double>(bytes) / static_cast<double>(size));
    const auto full = static_cast<size_t>(share * static_cast<double>(kBarCells));
    line = fmt::format("[{}{}] {:3.0f}% ", std::string(full, '#'),
                       std::string(kBarCells - full, '.'), share * 100);
  }
  const double seconds = static_cast<double>(std::max<int64_t>(now_us - started_us_, 1)) / 1e6;
  line += fmt::format("{} rows, {:.0f} rows/s", rows, static_cast<double>(rows) / seconds);
  if (rejected > 0) line += fmt::format(", {} rejected", rejected);
  line += "  " + name;
  line.resize(std::min(line.size(), TerminalColumns() - 1));
  fmt::print(stderr, "\r\x1b[K{}", line);
  std::fflush(stderr);
  drawn_ = true;
}

void Progress::Clear() {
  if (!drawn_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace cistern::tool
