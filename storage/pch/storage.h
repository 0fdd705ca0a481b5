// What most files of storage read, precompiled: see lib/pch/lib.h.
#ifndef CISTERN_STORAGE_PCH_STORAGE_H_
#define CISTERN_STORAGE_PCH_STORAGE_H_

#include <rocksdb/db.h>
#include <rocksdb/file_system.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/table.h>

#include <chrono>
#include <condition_variable>
#include <set>
#include <shared_mutex>

#include "lib/pch/lib.h"

#endif  // CISTERN_STORAGE_PCH_STORAGE_H_
