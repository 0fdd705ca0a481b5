// Which write timestamp a row version carries upstream. Pure.
//
//   write time  (default) the timestamp that the version got when it was taken in. Later writes
//               win, deletes delete what was written before them.
//   event time  the row's event time. TWCS upstream groups files by their newest write
//               timestamp, so a backlog that is pushed days late still lands in the files of its
//               own days. All versions of one row then have one timestamp and Cassandra's tie
//               rules decide between them (lib/row/reconcile.h); a delete would delete for
//               ever, by event time instead of by order, so deletes are refused.
#ifndef CISTERN_ENGINE_REPLICATE_TIMESTAMP_MODE_H_
#define CISTERN_ENGINE_REPLICATE_TIMESTAMP_MODE_H_

#include <cstdint>

#include "cistern/schema.h"
#include "cistern/status.h"
#include "lib/row/version_columns.h"

namespace cistern::replicate {

// Microseconds since 1970 of an event time in ticks of `unit`, rounded down; the ends of int64
// where it lies beyond them.
[[nodiscard]] int64_t MicrosOfTicks(TimeUnit unit, int64_t ticks);

// The timestamp that version `i` is pushed with. REQUIRES: its boot is resolved.
[[nodiscard]] int64_t PushTimestamp(TimestampMode mode, const TableSchema& schema,
                                    const VersionColumns& rows, size_t i);

// kNotSupported: event time, and the page deletes a row or a cell.
[[nodiscard]] Status CheckTimestampMode(TimestampMode mode, const TableSchema& schema,
                                        const VersionColumns& rows);

}  // namespace cistern::replicate

#endif  // CISTERN_ENGINE_REPLICATE_TIMESTAMP_MODE_H_
