// The options of cistern ingest: how they are declared, and what they come to.
#ifndef CISTERN_TOOLS_INGEST_OPTIONS_H_
#define CISTERN_TOOLS_INGEST_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cistern/options.h"
#include "cistern/result.h"
#include "tools/csv_dialect.h"
#include "tools/engine_options.h"
#include "tools/ingest_run.h"
#include "tools/row_mapper.h"
#include "tools/text_encoding.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cistern::tool {

// As the command line has them; an empty text: not given.
struct IngestOptions {
  std::string store;
  std::string table;
  std::string format = "csv";
  std::vector<std::string> files;
  std::string encoding;
  std::string delimiter;
  std::string escape;
  std::string comment;
  uint64_t skip_lines = 0;
  std::string decimal;
  std::string non_finite;
  std::string header;
  std::string stem;
  std::string time_unit;
  std::string time_base;
  std::string time_start;
  std::string time_step;
  std::string utc_offset;
  std::string time_zone;
  std::string ambiguous_times;
  std::string time_format;
  std::string reject;
  std::string durability = "synced";
  std::string duplicates = "warn";
  std::vector<std::string> measurements;
  bool arrival_time = false;
  MappingOptions mapping;
  uint64_t batch_rows = 1000;
  uint64_t reasons = 20;
  uint64_t reject_max = UINT64_MAX;
  EngineTexts engine;
  std::string future_max;
  bool quiet = false;
  bool json = false;  // which the command declares
};

// Adds all of them but --store.
void AddIngestOptions(CLI::App* command, IngestOptions* options);

// What they come to.
struct IngestPlan {
  TextEncoding encoding = TextEncoding::kUtf8;
  CsvDialect dialect;
  MappingOptions mapping;
  WriteOptions write;
  EngineOptions engine;
  DuplicatePolicy duplicates = DuplicatePolicy::kWarn;
};

// kInvalidArgument for what can be told to be wrong before the store is opened: a text that says
// nothing, an option that the others leave without effect, a reject file that cannot be written.
[[nodiscard]] Result<IngestPlan> PlanOf(const IngestOptions& options);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_INGEST_OPTIONS_H_
