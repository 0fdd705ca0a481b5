// Options by which a person says how tables are used, so that their declarations can be judged.
#ifndef CISTERN_TOOLS_EXPECT_OPTIONS_H_
#define CISTERN_TOOLS_EXPECT_OPTIONS_H_

#include <string>

#include "cistern/result.h"
#include "tools/table_advice.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cistern::tool {

// As the command line has them; an empty text: not given.
struct ExpectOptions {
  std::string repair_interval;
  std::string rows_per_day;
};

void AddExpectOptions(CLI::App* command, ExpectOptions* options);

// kInvalidArgument names the option.
[[nodiscard]] Result<TableExpectation> PlanExpectation(const ExpectOptions& options);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_EXPECT_OPTIONS_H_
