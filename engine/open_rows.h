// What is not sealed yet, since when, and why: for who watches that rows arrive.
#ifndef CISTERN_ENGINE_OPEN_ROWS_H_
#define CISTERN_ENGINE_OPEN_ROWS_H_

#include "cistern/options.h"
#include "cistern/replication.h"
#include "cistern/result.h"
#include "engine/engine_core.h"
#include "storage/rotation_times.h"

namespace cistern {

// Walks over the headers of all open segments, 14 us for each, and over the buckets of the heads.
// `times` is kept between two walks. kCorruption: a header or manifest cannot be read.
[[nodiscard]] Result<OpenRows> FindOpenRows(EngineCore* core, const EngineOptions& options,
                                            RotationTimes* times);

// Brings count and reason up to date, without a walk.
void RefreshOpenRows(EngineCore* core, const EngineOptions& options, OpenRows* open);

}  // namespace cistern

#endif  // CISTERN_ENGINE_OPEN_ROWS_H_
