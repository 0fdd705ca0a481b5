// The settings of cistern sync in a file: TOML, a key for each, no tables.
#ifndef CISTERN_TOOLS_SYNC_CONFIG_H_
#define CISTERN_TOOLS_SYNC_CONFIG_H_

#include <string>
#include <string_view>

#include "cistern/result.h"
#include "tools/sync_options.h"

namespace cistern::tool {

// Reads the file at `path`. Every key and value of it is checked; kInvalidArgument tells the first
// that is wrong as "FILE:LINE: KEY ...", and what is allowed. A text is never repeated of a key
// that is not known, nor of a password, which has no place in it.
[[nodiscard]] Result<SyncOptions> ReadSyncConfig(const std::string& path);

// The same of its text; `name` stands for the file in what is told.
[[nodiscard]] Result<SyncOptions> ParseSyncConfig(std::string_view text, std::string_view name);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_SYNC_CONFIG_H_
