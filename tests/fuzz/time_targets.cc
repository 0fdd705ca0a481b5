// Patterns of times, and what they read.
#include "lib/base/check.h"
#include "tests/fuzz/decoder_targets.h"
#include "tools/time_pattern.h"

namespace cistern {

void FuzzTimePattern(std::string_view input) {
  const size_t end = input.find('\n');
  const std::string_view text = end == input.npos ? "" : input.substr(end + 1);
  const Result<tool::TimePattern> pattern = tool::TimePattern::Compile(input.substr(0, end));
  if (!pattern.ok()) {
    CISTERN_CHECK(pattern.status().code() == StatusCode::kInvalidArgument);
    return;
  }
  const Result<tool::Instant> utc = pattern->Parse(text, tool::LocalClock());
  const Result<tool::Instant> east = pattern->Parse(text, tool::LocalClock(3600));
  CISTERN_CHECK(utc.ok() == east.ok());
  if (!utc.ok()) return;
  CISTERN_CHECK(utc->nanos >= 0 && utc->nanos < 1'000'000'000 && utc->nanos == east->nanos);
  // A day aside, the years 1 to 9999; %s reads up to twelve digits.
  CISTERN_CHECK(utc->seconds > -62'136'000'000 && utc->seconds < 1'000'000'000'000);
  // Only a text that names no offset depends on the clock.
  CISTERN_CHECK(east->seconds == utc->seconds || east->seconds == utc->seconds - 3600);
}

}  // namespace cistern
