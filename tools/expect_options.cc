#include "tools/expect_options.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <limits>

#include "lib/cql/comment_rule.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr int64_t kRepairSecondsMax = 10 * 366 * int64_t{86'400};

}  // namespace

void AddExpectOptions(CLI::App* command, ExpectOptions* options) {
  command->add_option("--repair-interval", options->repair_interval,
                      "Time between two repairs of the cluster, as 7d: tells whether "
                      "gc_grace_seconds suits it");
  command->add_option("--rows-per-day", options->rows_per_day,
                      "Rows that one entity is expected to have in a day: tells whether the "
                      "buckets suit them");
}

Result<TableExpectation> PlanExpectation(const ExpectOptions& options) {
  TableExpectation expected;
  if (!options.repair_interval.empty()) {
    CISTERN_ASSIGN_OR_RETURN(
        expected.repair_interval_s,
        ParseSpan("--repair-interval", options.repair_interval, 1, kRepairSecondsMax));
  }
  if (!options.rows_per_day.empty()) {
    constexpr uint32_t kMax = std::numeric_limits<uint32_t>::max();
    const std::optional<uint32_t> rows = ParseCount(options.rows_per_day, kMax);
    if (!rows.has_value() || *rows == 0) {
      return Status::InvalidArgument(fmt::format("--rows-per-day '{}' is not a whole number from "
                                                 "1 to {}", options.rows_per_day, kMax));
    }
    expected.rows_per_day = *rows;
  }
  return expected;
}

}  // namespace cistern::tool
