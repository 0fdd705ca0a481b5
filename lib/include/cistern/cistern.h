// Everything that an embedding program needs.
#ifndef CISTERN_CISTERN_H_
#define CISTERN_CISTERN_H_

#include "cistern/aggregate.h"
#include "cistern/arrow.h"
#include "cistern/backup.h"
#include "cistern/clock.h"
#include "cistern/cluster.h"
#include "cistern/column_data.h"
#include "cistern/cursor.h"
#include "cistern/engine.h"
#include "cistern/entity.h"
#include "cistern/limits.h"
#include "cistern/metrics.h"
#include "cistern/options.h"
#include "cistern/replication.h"
#include "cistern/replication_options.h"
#include "cistern/result.h"
#include "cistern/row_batch.h"
#include "cistern/salvage.h"
#include "cistern/schema.h"
#include "cistern/status.h"

#endif  // CISTERN_CISTERN_H_
