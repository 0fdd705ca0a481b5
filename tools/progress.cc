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

bool Progress::IsDue() {
  return enabled_ && !(drawn_ && clock_->MonotonicMicros() - drawn_us_ < kRedrawMicros);
}

void Progress::Update(const std::string& name, uint64_t bytes, uint64_t size, uint64_t rows,
                      uint64_t rejected) {
  if (!IsDue()) return;
  std::optional<double> share;
  if (size > 0) share = static_cast<double>(bytes) / static_cast<double>(size);
  const int64_t spent_us = clock_->MonotonicMicros() - started_us_;
  const double seconds = static_cast<double>(std::max<int64_t>(spent_us, 1)) / 1e6;
  std::string text =
      fmt::format("{} rows, {:.0f} rows/s", rows, static_cast<double>(rows) / seconds);
  if (rejected > 0) text += fmt::format(", {} rejected", rejected);
  Draw(share, text + "  " + name);
}

void Progress::Draw(std::optional<double> share, const std::string& text) {
  if (!IsDue()) return;
  drawn_us_ = clock_->MonotonicMicros();
  std::string line;
  if (share) {
    const double shown = std::clamp(*share, 0.0, 1.0);
    const auto full = static_cast<size_t>(shown * static_cast<double>(kBarCells));
    line = fmt::format("[{}{}] {:3.0f}% ", std::string(full, '#'),
                       std::string(kBarCells - full, '.'), shown * 100);
  }
  line += text;
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
