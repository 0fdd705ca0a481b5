#include "engine/replicate/timestamp_mode.h"

#include <algorithm>
#include <limits>

#include "lib/base/concat.h"
#include "lib/row/row_order.h"

namespace cistern::replicate {

int64_t MicrosOfTicks(TimeUnit unit, int64_t ticks) {
  constexpr int64_t kMicrosPerSecond = 1'000'000;
  const int64_t per_second = TicksPerSecond(unit);
  if (per_second > kMicrosPerSecond) {
    const int64_t per_micro = per_second / kMicrosPerSecond;
    const int64_t micros = ticks / per_micro;
    return ticks % per_micro < 0 ? micros - 1 : micros;
  }
  int64_t micros = 0;
  if (!__builtin_mul_overflow(ticks, kMicrosPerSecond / per_second, &micros)) return micros;
  return ticks > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

int64_t PushTimestamp(TimestampMode mode, const TableSchema& schema, const VersionColumns& rows,
                      size_t i) {
  if (mode == TimestampMode::kWriteTime) return rows.write_us[i];
  return MicrosOfTicks(schema.time_unit, EventTime(schema, rows, i));
}

Status CheckTimestampMode(TimestampMode mode, const TableSchema& schema,
                          const VersionColumns& rows) {
  if (mode == TimestampMode::kWriteTime) return Status::Ok();
  const bool deletes_rows = std::any_of(rows.flags.begin(), rows.flags.end(), [](uint8_t flags) {
    return (flags & kVersionDeleteRow) != 0;
  });
  const bool deletes_cells =
      std::any_of(schema.regular_columns.begin(), schema.regular_columns.end(), [&](size_t c) {
        const std::vector<CellState>& states = rows.columns[c].states;
        return std::find(states.begin(), states.end(), CellState::kNull) != states.end();
      });
  if (!deletes_rows && !deletes_cells) return Status::Ok();
  return Status::NotSupported(Concat({"table ", schema.QualifiedName(), ": a ",
      (deletes_rows ? "row" : "cell"), " is deleted, which a table with event timestamps cannot "
      "have: nothing written later would show"}));
}

}  // namespace cistern::replicate
