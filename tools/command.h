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
#include "tools/json_line.h"
#include "tools/record_printer.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cistern::tool {

// Set by the parser to what the command line asks for; gives the exit code.
using Action = std::function<int()>;

void AddCreate(CLI::App* app, Action* action);
void AddAlter(CLI::App* app, Action* action);
void AddIngest(CLI::App* app, Action* action);
void AddScan(CLI::App* app, Action* action);
void AddAggregate(CLI::App* app, Action* action);
void AddDelete(CLI::App* app, Action* action);
void AddSalvage(CLI::App* app, Action* action);
void AddSeal(CLI::App* app, Action* action);
void AddExpire(CLI::App* app, Action* action);
void AddWindows(CLI::App* app, Action* action);
void AddTables(CLI::App* app, Action* action);
void AddEntities(CLI::App* app, Action* action);
void AddBuckets(CLI::App* app, Action* action);
void AddBackup(CLI::App* app, Action* action);
void AddRestore(CLI::App* app, Action* action);
void AddHistograms(CLI::App* app, Action* action);
void AddClock(CLI::App* app, Action* action);
void AddStats(CLI::App* app, Action* action);
void AddVerify(CLI::App* app, Action* action);
void AddSchema(CLI::App* app, Action* action);
void AddSchemaImport(CLI::App* schema, Action* action);  // a subcommand of that
void AddSync(CLI::App* app, Action* action);
void AddSyncOutbox(CLI::App* sync, Action* action);  // subcommands of that

// One line on standard output; kExitStorage where it cannot be written.
[[nodiscard]] int Say(const std::string& line);
// The line, or with `json` the object instead of it: of a command whose result is a line.
[[nodiscard]] int SayResult(bool json, const std::string& line, const JsonLine& object);
// "cistern: <message>" on standard error.
void Complain(std::string_view message);
// Complains about a failed status and gives its exit code.
[[nodiscard]] int Fail(const Status& status);
[[nodiscard]] int FailUsage(const Status& status);
// For OpenStore: whatever is wrong with a store, it is the store.
[[nodiscard]] int FailOpen(const Status& status);
// For what a cluster did not answer, or answered as none does: it is away, unless memory or
// descriptors do not suffice here.
[[nodiscard]] int FailAway(const Status& status);

enum class Access { kRead, kWrite, kCreate };

// Adds --store DIR, which every subcommand needs.
void AddStoreOption(CLI::App* command, std::string* directory);

// How a command prints the records that it finds.
struct PrintChoice {
  std::string format = "table";
  bool json = false;

  // kInvalidArgument: --format is none.
  [[nodiscard]] Result<PrintFormat> Chosen() const {
    return json ? PrintFormat::kJsonl : ParsePrintFormat(format);
  }
};
// Adds --format and --json, of which one may be given.
void AddPrintOptions(CLI::App* command, PrintChoice* print);
// Adds --json to a command that prints something else; which every command does in one of these
// ways.
void AddJsonOption(CLI::App* command, bool* json);

// Of a command with subcommands that has options itself: one that is given before the subcommand
// would be dropped in silence, and is an error of the parser.
void RefuseOptionsBefore(const CLI::App& command, const CLI::App& subcommand);

// Opens the store and says on standard error what its recovery had to do, if anything. Of
// `options` what `access` decides is overridden.
[[nodiscard]] Result<std::unique_ptr<Engine>> OpenStore(const std::string& directory,
                                                        Access access, EngineOptions options = {});
// Opens it for reading once more and says nothing: of a command that looks again and again.
[[nodiscard]] Result<std::unique_ptr<Engine>> ReopenStore(const std::string& directory,
                                                          const EngineOptions& options);
// True where a reader that met `status`, and was not told what memory it may take, is to try again
// with the larger budget that is set then. Who wrote the store may have had a larger one, and a
// reader cannot rotate away what of the journal does not fit.
[[nodiscard]] bool RaiseReaderBudget(const Status& status, size_t* budget_bytes);
// The exit code of a command that ended with `code`: kExitMissing, whatever that is, if an opening
// by OpenStore found that acknowledged rows are gone. A command that writes meets that once, so
// nothing may hide it. A signal's code stays, as does that of a command that counts losses itself.
[[nodiscard]] int CodeWithLoss(int code);
void CountLossesItself();

// Checks of an option's text for CLI11: empty, or what is wrong with it. CLI11 itself takes -1
// for the largest number there is.
using TextCheck = std::function<std::string(const std::string&)>;
[[nodiscard]] TextCheck WholeNumber(uint64_t min, uint64_t max);

using Tables = std::vector<std::shared_ptr<const TableSchema>>;
// The table of that name; all of them if it is empty.
[[nodiscard]] Result<Tables> ChooseTables(const Engine& engine, const std::string& name);

// An event time in the bucket whose column holds `literal`: 2016-12.
[[nodiscard]] Result<int64_t> TimeOfBucket(const TableSchema& schema, const std::string& literal);
// The event times of the bucket that holds `time`, in the table's ticks; empty: none does.
[[nodiscard]] TimeRange RangeOfBucket(const TableSchema& schema, int64_t time);

// "synced", "log", "memory".
[[nodiscard]] Result<Durability> ParseDurability(std::string_view text);

}  // namespace cistern::tool

#endif  // CISTERN_TOOLS_COMMAND_H_
