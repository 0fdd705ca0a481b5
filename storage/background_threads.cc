#include "storage/background_threads.h"

#include <rocksdb/env.h>

#include <string>

#include "lib/base/concat.h"
#include "lib/base/guard.h"
#include "lib/base/worker_thread.h"

namespace cistern {

namespace {

constexpr char kPurpose[] = "RocksDB";

// A job makes the pool start what it may have and has not.
void StartOne(rocksdb::Env* env, rocksdb::Env::Priority pool) {
  env->IncBackgroundThreadsIfNeeded(1, pool);
  env->Schedule([](void* /*none*/) {}, nullptr, pool);
}

}  // namespace

Status StartBackgroundThreads() {
  const Status started = Guarded([] {
    StartOne(rocksdb::Env::Default(), rocksdb::Env::Priority::LOW);   // compactions
    StartOne(rocksdb::Env::Default(), rocksdb::Env::Priority::HIGH);  // flushes
    return Status::Ok();
  });
  if (started.code() == StatusCode::kIoError) {
    return Status::IoError(Concat({"no thread for ", kPurpose, ": ", started.message()}));
  }
  CISTERN_RETURN_IF_ERROR(started);
  WorkerThread probe;
  CISTERN_RETURN_IF_ERROR(probe.Start(kPurpose, [] {}));
  return probe.Join();
}

}  // namespace cistern
