// Engine::Open: from options to an engine that runs.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "engine/guarded_engine.h"
#include "engine/option_check.h"
#include "lib/base/guard.h"
#include "lib/base/memory_reserve.h"

namespace cistern {

namespace {

// RocksDB's threads serve the whole process, and a child of fork has none: its first flush would
// wait for ever.
Status CheckThreadsAreHere() {
  static const HomeProcess first_opened_in;
  if (first_opened_in.is_here()) return Status::Ok();
  return Status::NotSupported(
      "this process was forked from one that had opened an engine, and has none of the threads "
      "that serve it: fork before the first Engine::Open, or exec");
}

Result<CoreConfig> Configure(const std::string& directory, const EngineOptions& options,
                             std::shared_ptr<rocksdb::FileSystem> base_fs) {
  CoreConfig config;
  config.budget = std::make_shared<MemoryBudget>(options.memory_budget_bytes);
  config.queued =
      std::make_shared<MemoryBudget>(limits::QueuedBytesMax(options.memory_budget_bytes));
  if (options.background_threads && options.scan_threads > 0) {
    config.read_ahead = std::make_shared<ReadAhead>();
    CISTERN_RETURN_IF_ERROR(config.read_ahead->Start(
        std::min<uint32_t>(options.scan_threads, limits::kScanThreadsMax)));
  }
  config.options = options;
  if (!config.options.clock) config.options.clock = SystemClock();
  config.store.directory = directory;
  config.store.create_if_missing = options.create_if_missing;
  config.store.read_only = options.read_only;
  config.store.memory_budget_bytes = options.memory_budget_bytes;
  config.store.disk_budget_bytes = options.disk_budget_bytes;
  config.store.log_sink = options.log_sink;
  config.store.clock = config.options.clock;
  config.store.base_fs = std::move(base_fs);
  return config;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Open(const std::string& directory,
                                             const EngineOptions& options) {
  return OpenEngineOver(directory, options, nullptr);
}

Result<std::unique_ptr<Engine>> OpenEngineOver(const std::string& directory,
                                               const EngineOptions& options,
                                               std::shared_ptr<rocksdb::FileSystem> base_fs) {
  return Guarded([&]() -> Result<std::unique_ptr<Engine>> {
    CISTERN_RETURN_IF_ERROR(MemoryReserve::Hold());
    CISTERN_RETURN_IF_ERROR(CheckOptions(options));
    CISTERN_RETURN_IF_ERROR(CheckThreadsAreHere());
    CISTERN_ASSIGN_OR_RETURN(CoreConfig config,
                             Configure(directory, options, std::move(base_fs)));
    auto inside = std::make_unique<EngineImpl>(std::move(config));
    CISTERN_RETURN_IF_ERROR(inside->Start());
    return std::unique_ptr<Engine>(std::make_unique<GuardedEngine>(std::move(inside)));
  });
}

}  // namespace cistern
