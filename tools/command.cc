#include "tools/command.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "cistern/limits.h"
#include "engine/bucketing/bucket_value.h"
#include "engine/bucketing/bucketer.h"
#include "lib/base/shell_text.h"
#include "lib/base/shortage.h"
#include "storage/backup_record.h"
#include "tools/output.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

constexpr size_t kReaderBudgetBytesMax = size_t{1} << 30;

bool loss_met = false;  // by an opening of this process

// What a person at the command line can do, beside what the engine says.
std::string OpenAdvice(const std::string& directory, StatusCode code) {
  std::error_code looked;
  const std::filesystem::file_status status = std::filesystem::status(directory, looked);
  if (code == StatusCode::kNotFound && looked == std::errc::permission_denied) {
    return "; a directory above it is closed to this user";
  }
  if (code == StatusCode::kNotFound && std::filesystem::is_directory(status) &&
      std::filesystem::exists(directory + "/" + std::string(kBackupsFileName), looked)) {
    return fmt::format("; these are backups: cistern restore --from {} --to NEW makes a store of "
                       "one", ShellWord(directory));
  }
  std::error_code ignored;  // what cannot be looked at is not empty
  const bool is_free = !std::filesystem::exists(directory, ignored) ||
                       std::filesystem::is_empty(directory, ignored);
  if (code == StatusCode::kNotFound && is_free) {
    return fmt::format("; where there never was one, cistern create --store {} --schema FILE.cql "
                       "makes it", ShellWord(directory));
  }
  if (code == StatusCode::kLocked) {
    return ", while scan and the other commands that only read work beside it";
  }
  return {};
}

}  // namespace

int Say(const std::string& line) {
  Output output(STDOUT_FILENO);
  output.Write(line + "\n");
  output.Flush();
  return output.status().ok() ? static_cast<int>(kExitOk) : Fail(output.status());
}

int SayResult(bool json, const std::string& line, const JsonLine& object) {
  return Say(json ? object.object() : line);
}

void Complain(std::string_view message) { fmt::print(stderr, "cistern: {}\n", message); }

int Fail(const Status& status) {
  Complain(status.message());
  return ExitCodeOf(status);
}

int FailUsage(const Status& status) {
  Complain(status.message());
  return kExitUsage;
}

int FailOpen(const Status& status) {
  Complain(status.message());
  const ExitCode code = ExitCodeOf(status);
  return code == kExitUsage ? kExitStore : code;
}

int FailAway(const Status& status) {
  Complain(status.message());
  const bool is_ours = status.code() == StatusCode::kInternal || IsShortage(status);
  return is_ours ? ExitCodeOf(status) : kExitAway;
}

void AddStoreOption(CLI::App* command, std::string* directory) {
  command->add_option("--store", *directory, "Directory of the store")->required();
}

void AddPrintOptions(CLI::App* command, PrintChoice* print) {
  CLI::Option* format =
      command->add_option("--format", print->format, "table (default) or csv");
  command->add_flag("--json", print->json, "As JSON, an object a line")->excludes(format);
}

void AddJsonOption(CLI::App* command, bool* json) {
  command->add_flag("--json", *json, "The result as JSON, an object a line");
}

void RefuseOptionsBefore(const CLI::App& command, const CLI::App& subcommand) {
  for (const CLI::Option* given : command.get_options()) {
    if (given->count() == 0) continue;
    throw CLI::ValidationError(
        given->get_name(), fmt::format("belongs behind the subcommand: cistern {} {} {} ...",
                                       command.get_name(), subcommand.get_name(),
                                       given->get_name()));
  }
}

namespace {

Result<std::unique_ptr<Engine>> Open(const std::string& directory, Access access,
                                     EngineOptions options) {
  options.create_if_missing = access == Access::kCreate;
  options.read_only = access == Access::kRead;
  Result<std::unique_ptr<Engine>> engine = Engine::Open(directory, options);
  const bool may_take_more = access == Access::kRead &&
                             options.memory_budget_bytes == limits::kMemoryBudgetBytesDefault;
  while (may_take_more && RaiseReaderBudget(engine.status(), &options.memory_budget_bytes)) {
    engine = Engine::Open(directory, options);
  }
  if (!engine.ok()) {
    const Status& s = engine.status();
    // "the store S is open in process 12" says by itself what cannot be, and so does the other one.
    const bool says_it = s.code() == StatusCode::kLocked ||
                         s.message().starts_with("there is no store in ");
    const std::string what = says_it ? std::string()
                                     : fmt::format("cannot open the store {}: ", directory);
    return Status(s.code(), what + s.message() + OpenAdvice(directory, s.code()));
  }
  return engine;
}

}  // namespace

Result<std::unique_ptr<Engine>> ReopenStore(const std::string& directory,
                                            const EngineOptions& options) {
  return Open(directory, Access::kRead, options);
}

Result<std::unique_ptr<Engine>> OpenStore(const std::string& directory, Access access,
                                          EngineOptions options) {
  CISTERN_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, Open(directory, access, options));
  const RecoveryReport recovery = engine->Recovery();
  loss_met = loss_met || recovery.recovered_with_loss;
  if (recovery.recovered_with_loss) {
    const std::string last = recovery.lost_sequence_last == 0
                                 ? std::string("to one which is not known")
                                 : fmt::format("to {}", recovery.lost_sequence_last);
    Complain(fmt::format("acknowledged rows are missing from {}: journal sequences {} {}",
                         directory, recovery.lost_sequence_first, last));
  }
  if (!recovery.clean) {
    for (const std::string& note : recovery.notes) Complain(note);
  }
  return engine;
}

bool RaiseReaderBudget(const Status& status, size_t* budget_bytes) {
  if (status.code() != StatusCode::kOutOfMemory || *budget_bytes >= kReaderBudgetBytesMax) {
    return false;
  }
  *budget_bytes *= 4;
  return true;
}

int CodeWithLoss(int code) {
  const bool by_signal = code == kExitInterrupted || code == kExitTerminated;
  return loss_met && !by_signal ? static_cast<int>(kExitMissing) : code;
}

void CountLossesItself() { loss_met = false; }

TextCheck WholeNumber(uint64_t min, uint64_t max) {
  return [min, max](const std::string& text) -> std::string {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value >= min && value <= max) {
      return {};
    }
    return fmt::format("'{}' is not a whole number from {} to {}", text, min, max);
  };
}

Result<Tables> ChooseTables(const Engine& engine, const std::string& name) {
  if (name.empty()) return engine.ListTables();
  CISTERN_ASSIGN_OR_RETURN(auto table, engine.FindTable(name));
  return Tables{std::move(table)};
}

Result<int64_t> TimeOfBucket(const TableSchema& schema, const std::string& literal) {
  const Result<int64_t> start_s = BucketStartFromText(schema, literal);
  if (start_s.ok()) return ToTicks({*start_s, 0}, schema.time_unit, literal);
  return Status(start_s.status().code(),
                fmt::format("--bucket '{}': {}", literal, start_s.status().message()));
}

TimeRange RangeOfBucket(const TableSchema& schema, int64_t time) {
  const Bucketer bucketer(schema);
  if (!bucketer.InRange(time)) return {time, time};
  const BucketSpan span = bucketer.SpanOf(time);
  return {TicksFromSeconds(schema.time_unit, span.start_s),
          TicksFromSeconds(schema.time_unit, span.end_s)};
}

Result<Durability> ParseDurability(std::string_view text) {
  if (text == "synced") return Durability::kSynced;
  if (text == "log") return Durability::kLog;
  if (text == "memory") return Durability::kMemory;
  return Status::InvalidArgument(
      fmt::format("--durability '{}' is not one of synced, log, memory", text));
}

}  // namespace cistern::tool
