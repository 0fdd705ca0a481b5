#include "engine/replicate/accepted_drop.h"

#include <limits>

#include "engine/replicate/timestamp_mode.h"
#include "lib/base/concat.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/time_text.h"

namespace cistern::replicate {
namespace {

constexpr int64_t kMicrosPerMilli = 1000;

Status Wrong(std::string_view text, std::string_view what) {
  return Status::InvalidArgument(Concat({ShowText(text), " ", what,
      ": expected KEYSPACE.TABLE.COLUMN@TIME, for example "
      "plant.pumps.flow@2027-01-15T08:00:00.123Z"}));
}

}  // namespace

std::string AcceptedDropText(const AcceptedDrop& drop) {
  std::string text = Concat({drop.table, ".", drop.column, "@"});
  FormatTimeText(drop.dropped_ms, TimeUnit::kMillis, &text);
  return text;
}

// Names of keyspaces and tables have no dot, those of columns may have; a time has no @.
Result<AcceptedDrop> ParseAcceptedDrop(std::string_view text) {
  const size_t at = text.rfind('@');
  if (at == std::string_view::npos) return Wrong(text, "names no time");
  const std::string_view path = text.substr(0, at);
  const size_t keyspace_end = path.find('.');
  const size_t table_end =
      keyspace_end == std::string_view::npos ? keyspace_end : path.find('.', keyspace_end + 1);
  if (table_end == std::string_view::npos) return Wrong(text, "does not name all three");
  AcceptedDrop drop;
  drop.table = path.substr(0, table_end);
  drop.column = path.substr(table_end + 1);
  const bool has_all = keyspace_end > 0 && table_end > keyspace_end + 1 && !drop.column.empty();
  if (!has_all) return Wrong(text, "has an empty name");
  const Status parsed = ParseTimeText(text.substr(at + 1), TimeUnit::kMillis, &drop.dropped_ms);
  if (!parsed.ok()) return Wrong(text, "has a time that cannot be read");
  return drop;
}

int64_t HidesUpToUs(const AcceptedDrop& drop) {
  const int64_t us = MicrosOfTicks(TimeUnit::kMillis, drop.dropped_ms);
  const int64_t most_us = std::numeric_limits<int64_t>::max() - (kMicrosPerMilli - 1);
  return us > most_us ? std::numeric_limits<int64_t>::max() : us + (kMicrosPerMilli - 1);
}

}  // namespace cistern::replicate
