// What the subcommands share: how they are declared, opened, and how they complain.
#ifndef CISTERN_TOOLS_COMMAND_H_
#define CISTERN_TOOLS_COMMAND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cistern/engine.h"
#include "cistern/result.h"
#include "tools/exit_code.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cistern::tool {

// Set by the parser to what the command line asks for; gives the exit code.
using Action = std::function<int()>;

void AddCreate(CLI::App* app, Action* action);
void AddIngest(CLI::App* app, Action* action);
void AddScan(CLI::App* app, Action* action);
void AddDelete(CLI::App* app, Action* action);
void AddSalvage(CLI::App* app, Action* action);
void AddSeal(CLI::App* app, Action* action);
void AddExpire(CLI::App* app, Action* action);
void AddTables(CLI::App* app, Action* action);
void AddBuckets(CLI::App* app, Action* action);
void AddHistograms(CLI::App* app, Action* action);
void AddStats(CLI::App* app, Action* action);
void AddVerify(CLI::App* app, Action* action);

// One line on standard output; kExitStorage where it cannot be written.
[[nodiscard]] int Say(const std::string& line);
// "cistern: <message>" on standard error.
void Complain(std::string_view message);
// Complains about a failed status and gives its exit code.
[[nodiscard]] int Fail(const Status& status);
[[nodiscard]] int FailUsage(const Status& status);
// For OpenStore: whatever is wrong with a store, it is the store.
[[nodiscard]] int FailOpen(const Status& status);

enum class Access { kRead, kWrite, kCreate };

// Opens the store and says on standard error what its recovery had to do, if anything.
// `access` decides about create_if_missing and read_only.
[[nodiscard]] Result<std::unique_ptr<Engine>> OpenStore(const std::string& directory,
                                                        Access access, EngineOptions options = {});

// "pump-7" for a table with one entity column; "a=1,b=x" for a composite one, or several
// texts of one NAME=VALUE each, whose values may then hold commas. Values in key order.
[[nodiscard]] Result<std::vector<std::string>> SplitEntity(const TableSchema& schema,
                                                           const std::vector<std::string>& texts);
[[nodiscard]] Result<EntityKey> ParseEntity(const TableSchema& schema,
                                            const std::vector<std::string>& texts);

// Checks of an option's text for CLI11: empty, or what is wrong with it. CLI11 itself takes -1
// for the largest number there is, and an empty text for no option at all.
using TextCheck = std::function<std::string(const std::string&)>;
[[nodiscard]] TextCheck WholeNumber(uint64_t min, uint64_t max);
[[nodiscard]] TextCheck NotEmpty();

// An event time in the bucket whose column holds `literal`: 2016-12.
[[nodiscard]] Result<int64_t> TimeOfBucket(const TableSchema& schema, const std::string& literal);

// "synced", "log", "memory".
[[nodiscard]] Result<Durability> ParseDurability(std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_COMMAND_H_
