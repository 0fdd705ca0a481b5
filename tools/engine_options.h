// The engine's budgets and its rules of sealing and retention, as options of commands.
#ifndef CISTERN_TOOLS_ENGINE_OPTIONS_H_
#define CISTERN_TOOLS_ENGINE_OPTIONS_H_

#include <string>
#include <string_view>

#include "cistern/options.h"
#include "cistern/status.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cistern::tool {

// As the command line or a file has them; an empty text: not given.
struct EngineTexts {
  std::string memory_budget;
  std::string disk_budget;
  std::string disk_shed;
  std::string head_age;
  std::string seal_grace;
  std::string seal_idle;
  std::string seal_age;
  std::string seal_rows;
  std::string seal_bytes;
  std::string keep_confirmed;
  std::string keep_unconfirmed;
};

// Those that a command has, as bits: what would do nothing there is no option of it.
enum EngineOptionGroup : unsigned {
  kMemoryOptions = 1,   // --memory-budget
  kDiskOptions = 2,     // --disk-budget, --disk-shed
  kSealOptions = 4,     // --seal-...: which buckets are due
  kKeepOptions = 8,     // --keep-...: which windows go
  kHeadOptions = 16,    // --head-age, where rows come or others wait for them
};
void AddEngineOptions(CLI::App* command, unsigned groups, EngineTexts* texts);

// What the texts say, into the options. kInvalidArgument, which begins with the option.
[[nodiscard]] Status TakeEngineTexts(const EngineTexts& texts, EngineOptions* options);

// One of the group that is given: "--seal-grace"; empty: none is.
[[nodiscard]] std::string GivenSealOption(const EngineTexts& texts);

// For a command that changes what it is told to and nothing else: no bucket is sealed and no
// window ends before its rows have expired, whatever another process would do with them.
[[nodiscard]] EngineOptions OnlyAsAsked();

// --- what each says. kInvalidArgument, which begins with `name`.
[[nodiscard]] Status TakeMemoryBudget(std::string_view name, const std::string& text,
                                      EngineOptions* options);
[[nodiscard]] Status TakeDiskBudget(std::string_view name, const std::string& text,
                                    EngineOptions* options);
[[nodiscard]] Status TakeDiskShed(std::string_view name, const std::string& text,
                                  EngineOptions* options);
[[nodiscard]] Status TakeHeadAge(std::string_view name, const std::string& text,
                                 EngineOptions* options);
[[nodiscard]] Status TakeSealGrace(std::string_view name, const std::string& text,
                                   EngineOptions* options);
[[nodiscard]] Status TakeSealIdle(std::string_view name, const std::string& text,
                                  EngineOptions* options);
[[nodiscard]] Status TakeSealAge(std::string_view name, const std::string& text,
                                 EngineOptions* options);
[[nodiscard]] Status TakeSealRows(std::string_view name, const std::string& text,
                                  EngineOptions* options);
[[nodiscard]] Status TakeSealBytes(std::string_view name, const std::string& text,
                                   EngineOptions* options);
[[nodiscard]] Status TakeKeepConfirmed(std::string_view name, const std::string& text,
                                       EngineOptions* options);
[[nodiscard]] Status TakeKeepUnconfirmed(std::string_view name, const std::string& text,
                                         EngineOptions* options);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_ENGINE_OPTIONS_H_
