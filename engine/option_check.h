// Whether every option of an engine is within its range.
#ifndef CISTERN_ENGINE_OPTION_CHECK_H_
#define CISTERN_ENGINE_OPTION_CHECK_H_

#include "cistern/options.h"
#include "cistern/status.h"

namespace cistern {

// kInvalidArgument names the first option that is not, with its value and the range. What limits.h
// clamps is not looked at.
[[nodiscard]] Status CheckOptions(const EngineOptions& options);

}  // namespace cistern

#endif  // CISTERN_ENGINE_OPTION_CHECK_H_
