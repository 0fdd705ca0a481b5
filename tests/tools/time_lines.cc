// time_lines: times of text for tests that compare them with another reader's. Each line of
// standard input is a letter and a text; each gives one line of output.
//
//   F PATTERN   the pattern of the times that follow; empty: ISO 8601. "ok" or "! why not"
//   Z ZONE      their zone; empty: UTC. "ok" or "! why not"
//   A WHICH     what is meant by a time that is there twice. "ok" or "! why not"
//   T TEXT      a time: "SECONDS NANOSECONDS" since 1970 UTC, or "! why not"
#include <iostream>
#include <string>

#include "tools/time_text.h"

namespace cistern::tool {
namespace {

class TimeLines {
 public:
  std::string Answer(const std::string& line) {
    const std::string text = line.size() > 2 ? line.substr(2) : "";
    switch (line.empty() ? '\0' : line.front()) {
      case 'F': return SetPattern(text);
      case 'Z': return SetZone(text);
      case 'A': return SetAmbiguous(text);
      case 'T': break;
      default: return "! no such line";
    }
    const Result<Instant> t = ParseTime(text, format_, TimeUnit::kMillis);
    if (!t.ok()) return Refusal(t.status());
    return std::to_string(t->seconds) + " " + std::to_string(t->nanos);
  }

 private:
  static std::string Refusal(const Status& status) { return "! " + status.message(); }

  std::string SetPattern(const std::string& text) {
    format_.pattern = TimePattern();
    if (text.empty()) return "ok";
    Result<TimePattern> pattern = TimePattern::Compile(text);
    if (!pattern.ok()) return Refusal(pattern.status());
    format_.pattern = *pattern;
    return "ok";
  }

  std::string SetZone(const std::string& text) {
    Result<LocalClock> clock = text.empty() ? LocalClock() : LocalClock::OfZone(text);
    if (!clock.ok()) return Refusal(clock.status());
    clock_ = *clock;
    return Combine();
  }

  std::string SetAmbiguous(const std::string& text) {
    const Result<AmbiguousTimes> ambiguous = ParseAmbiguousTimes(text);
    if (!ambiguous.ok()) return Refusal(ambiguous.status());
    ambiguous_ = *ambiguous;
    return Combine();
  }

  std::string Combine() {
    format_.clock = clock_;
    format_.clock.set_ambiguous(ambiguous_);
    return "ok";
  }

  TimeFormat format_;
  LocalClock clock_;
  AmbiguousTimes ambiguous_ = AmbiguousTimes::kRefuse;
};

}  // namespace
}  // namespace cistern::tool

int main() {
  std::ios::sync_with_stdio(false);
  cistern::tool::TimeLines lines;
  std::string line;
  while (std::getline(std::cin, line)) std::cout << lines.Answer(line) << '\n';
  return 0;
}
