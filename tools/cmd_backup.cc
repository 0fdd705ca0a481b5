// cistern backup: adds a backup of a store to a directory; lists and checks what is there.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cistern/backup.h"
#include "tools/command.h"
#include "tools/counted.h"
#include "tools/engine_options.h"
#include "tools/output.h"
#include "tools/record_printer.h"
#include "tools/size_text.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

struct BackupArguments {
  std::string store;
  std::string to;
  size_t keep = limits::kBackupKeepDefault;
  EngineTexts engine;
  bool json = false;
};

struct ListArguments {
  std::string from;
  PrintChoice print;
};

struct CheckArguments {
  std::string from;
  uint64_t number = 0;
  bool json = false;
};

constexpr char kFooter[] = R"(
Adds a backup to the directory, which is made if it is not there; at best it is on another device.
Only files that no backup there has are copied, each is read back, and the backups before stay valid
until this one is. What was interrupted is gone on with by the next one. A firmware that has the
store open makes backups by Engine::Backup, while rows come.

  cistern backup list    the backups in a directory
  cistern backup verify  reads every byte of one and compares it with what was written
  cistern restore        makes a store of one

Examples:
  cistern backup --store /data/cistern --to /mnt/stick/cistern
  cistern backup --store /data/cistern --to /mnt/stick/cistern --keep 30

Exit codes: 0 done; 2 the directory has other things, or backups of another store; 3 another process
has the store open, or writes there; 4 no room there, or an I/O error; 6 done, but files of the
store are damaged or gone, each named on standard error; others: see cistern --help)";

constexpr char kListFooter[] = R"(
One line a backup. What its store had lost when it was taken is named on standard error, as is one
whose list of files cannot be read: then the code is 1.

Examples:
  cistern backup list --from /mnt/stick/cistern
  cistern backup list --from /mnt/stick/cistern --json)";

constexpr char kVerifyFooter[] = R"(
Names what is damaged or gone on standard error; then the code is 1.

Examples:
  cistern backup verify --from /mnt/stick/cistern
  cistern backup verify --from /mnt/stick/cistern --number 3)";

int RunBackup(const BackupArguments& arguments) {
  EngineOptions options;
  const Status taken = TakeEngineTexts(arguments.engine, &options);
  if (!taken.ok()) return FailUsage(taken);
  options.background_threads = false;  // nothing is sealed, and no window ends
  const auto engine = OpenStore(arguments.store, Access::kWrite, options);
  if (!engine.ok()) return FailOpen(engine.status());
  const Result<BackupReport> report = (*engine)->Backup(arguments.to, {arguments.keep});
  if (!report.ok()) return Fail(report.status());
  for (const std::string& problem : report->problems) Complain(problem);
  std::string line = fmt::format(
      "backup {}: {}, {}; copied {}, {}", report->number, Counted(report->files, "file"),
      FormatSize(report->bytes), report->files_copied, FormatSize(report->bytes_copied));
  for (const uint64_t number : report->removed) {
    line += fmt::format("{}{}", number == report->removed.front() ? "; removed " : ", ", number);
  }
  std::string removed;
  for (const uint64_t number : report->removed) {
    removed += fmt::format("{}{}", removed.empty() ? "" : ",", number);
  }
  const int said = SayResult(
      arguments.json, line,
      JsonLine().Number("backup", report->number).Number("files", report->files)
          .Number("bytes", report->bytes).Number("files_copied", report->files_copied)
          .Number("bytes_copied", report->bytes_copied).Raw("removed", "[" + removed + "]")
          .Number("problems", report->problems.size()));
  const Status closed = (*engine)->Close();
  if (!closed.ok()) return Fail(closed);
  return said == kExitOk && !report->problems.empty() ? kExitMissing : said;
}

int RunList(const ListArguments& arguments) {
  const Result<PrintFormat> format = arguments.print.Chosen();
  if (!format.ok()) return FailUsage(format.status());
  const Result<std::vector<BackupInfo>> list = ListBackups(arguments.from);
  if (!list.ok()) return FailOpen(list.status());
  Output output(STDOUT_FILENO);
  const auto printer = RecordPrinter::New(
      *format,
      {{"backup", true}, {"taken_at"}, {"files", true}, {"bytes", true}, {"problems", true},
       {"store"}},
      &output);
  bool is_readable = true;
  for (const BackupInfo& info : *list) {
    for (const std::string& problem : info.problems) {
      Complain(fmt::format("backup {}: {}", info.number, problem));
    }
    is_readable = is_readable && info.readable;
    const bool none = !info.readable;
    const std::string number = std::to_string(info.number);
    const std::string taken = FormatTicks(info.taken_us, TimeUnit::kMicros);
    const std::string files = std::to_string(info.files);
    const std::string bytes = std::to_string(info.bytes);
    const std::string problems = std::to_string(info.problems.size());
    printer->Row(std::vector<PrintCell>{{number, false, true}, {taken, none}, {files, none, true},
                                        {bytes, none, true}, {problems, false, true},
                                        {info.store_id, none}});
  }
  printer->Finish();
  output.Flush();
  if (!output.status().ok()) return Fail(output.status());
  return is_readable ? kExitOk : kExitPartial;
}

int RunCheck(const CheckArguments& arguments) {
  const Result<BackupCheck> check = VerifyBackup(arguments.from, arguments.number);
  if (!check.ok()) return FailOpen(check.status());
  for (const std::string& problem : check->problems) Complain(problem);
  const int said = SayResult(
      arguments.json,
      fmt::format("backup {}: {}, {} checked, {}", check->number, Counted(check->files, "file"),
                  FormatSize(check->bytes), Counted(check->problems.size(), "problem")),
      JsonLine().Number("backup", check->number).Number("files", check->files)
          .Number("bytes", check->bytes).Number("problems", check->problems.size()));
  return said == kExitOk && !check->problems.empty() ? kExitPartial : said;
}

void AddList(CLI::App* backup, Action* action) {
  auto arguments = std::make_shared<ListArguments>();
  CLI::App* command = backup->add_subcommand("list", "Print the backups in a directory");
  command->add_option("--from", arguments->from, "Directory of backups")->required();
  AddPrintOptions(command, &arguments->print);
  command->footer(kListFooter);
  command->callback([arguments, action] {
    *action = [arguments] { return RunList(*arguments); };
  });
}

void AddCheck(CLI::App* backup, Action* action) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = backup->add_subcommand("verify", "Check every byte of a backup");
  command->add_option("--from", arguments->from, "Directory of backups")->required();
  command->add_option("--number", arguments->number, "Of the backup; the newest one, if not given")
      ->check(WholeNumber(1, UINT64_MAX));
  AddJsonOption(command, &arguments->json);
  command->footer(kVerifyFooter);
  command->callback([arguments, action] {
    *action = [arguments] { return RunCheck(*arguments); };
  });
}

}  // namespace

void AddBackup(CLI::App* app, Action* action) {
  auto arguments = std::make_shared<BackupArguments>();
  CLI::App* command =
      app->add_subcommand("backup", "Add a backup of a store to a directory; list and check them");
  AddStoreOption(command, &arguments->store);
  // A subcommand needs neither.
  command->get_option("--store")->required(false);
  command->add_option("--to", arguments->to, "Directory of backups, of this store alone");
  command
      ->add_option("--keep", arguments->keep,
                   fmt::format("As many backups without a problem stay; {} unless given",
                               limits::kBackupKeepDefault))
      ->check(WholeNumber(1, limits::kBackupKeepMax));
  AddEngineOptions(command, kMemoryOptions, &arguments->engine);
  AddJsonOption(command, &arguments->json);
  AddList(command, action);
  AddCheck(command, action);
  command->require_subcommand(0, 1);
  command->footer(kFooter);
  // Comes after that of a subcommand, which has said what to do.
  command->callback([arguments, action, command] {
    const std::vector<CLI::App*> subcommands = command->get_subcommands();
    if (!subcommands.empty()) {
      RefuseOptionsBefore(*command, *subcommands.front());
      return;
    }
    for (const char* name : {"--store", "--to"}) {
      if (command->get_option(name)->count() == 0) throw CLI::RequiredError(name);
    }
    *action = [arguments] { return RunBackup(*arguments); };
  });
}

}  // namespace cistern::tool
