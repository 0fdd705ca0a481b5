// Salvage() with another file system below the new store: how tests cut the power.
#ifndef CISTERN_ENGINE_SALVAGE_OVER_H_
#define CISTERN_ENGINE_SALVAGE_OVER_H_

#include <memory>
#include <string>

#include "cistern/salvage.h"
#include "storage/store_config.h"

namespace cistern {

// As Salvage(). `target_fs`: null, or what `to` is written through.
[[nodiscard]] Result<SalvageReport> SalvageOver(const std::string& from, const std::string& to,
                                                const SalvageOptions& options,
                                                std::shared_ptr<rocksdb::FileSystem> target_fs);

}  // namespace cistern

#endif  // CISTERN_ENGINE_SALVAGE_OVER_H_
