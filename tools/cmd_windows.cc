// cistern windows: the families of sealed and of spilled buckets, and when each goes.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "tools/command.h"
#include "tools/counted.h"
#include "tools/engine_options.h"
#include "tools/output.h"
#include "tools/record_printer.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

struct WindowsOptions {
  std::string store;
  std::string table;
  EngineTexts engine;
  PrintChoice print;
};

constexpr char kFooter[] = R"(
A window holds the sealed buckets of one span of event time, of all tables of its class: those
whose windows are equally wide while they are new. It goes as a whole: when all its rows have
expired, or when its local retention is over. Then expire, or a store that is kept open, drops it;
why says what keeps it until then. A window without times is that of all times, for what finds no
other. Spill families hold what is not sealed yet and go when all of it is.
With --table windows that hold buckets of it are printed, with everything in them. ends_at goes by
--keep-confirmed (30d) and --keep-unconfirmed, as expire does: say those of the process that writes
the store.

Examples:
  cistern windows --store S
  cistern windows --store S --table air --json
  cistern windows --store S --keep-unconfirmed 365d)";

// One line for each family, and their sum for people.
class WindowPrinter {
 public:
  WindowPrinter(PrintFormat format, Output* output) : for_people_(format == PrintFormat::kTable) {
    // A table shows the kind by the name.
    std::vector<PrintColumn> columns = {{"window"}};
    if (!for_people_) columns.push_back({"kind"});
    columns.push_back({for_people_ ? "class" : "class_s", true});
    for (const char* name : {"from", "to", "tables"}) columns.push_back({name});
    for (const char* name : {"buckets", "segments", "versions", "bytes"}) {
      columns.push_back({name, true});
    }
    columns.push_back({"ends_at"});
    columns.push_back({"why"});
    output_ = output;
    printer_ = RecordPrinter::New(format, std::move(columns), output);
  }

  void Print(const WindowInfo& window) {
    const auto time = [](const std::optional<int64_t>& s) {
      return s ? FormatTicks(*s, TimeUnit::kSeconds) : std::string();
    };
    const auto number = [](uint64_t n) { return fmt::format("{}", n); };
    const bool has_class = window.class_width_s != 0;
    const std::string width =
        for_people_ ? FormatSpan(window.class_width_s) : number(window.class_width_s);
    const std::string from = time(window.from_s);
    const std::string to = time(window.to_s);
    const std::string ends_at = time(window.ends_at_s);
    std::string tables;
    for (const std::string& table : window.tables) tables += (tables.empty() ? "" : ", ") + table;
    const std::string counts[] = {number(window.buckets), number(window.segments),
                                  number(window.versions), number(window.bytes)};
    std::vector<PrintCell> cells = {{window.window}};
    if (!for_people_) cells.push_back({window.kind});
    cells.push_back({width, !has_class, true});
    cells.push_back({from, !window.from_s});
    cells.push_back({to, !window.to_s});
    cells.push_back({tables});
    for (const std::string& count : counts) cells.push_back({count, false, true});
    cells.push_back({ends_at, !window.ends_at_s});
    cells.push_back({window.why});
    printer_->Row(cells);
    ++(window.kind == "spill" ? spills_ : windows_);
    versions_ += window.versions;
    segments_ += window.segments;
    bytes_ += window.bytes;
  }
  void Finish() {
    printer_->Finish();
    if (!for_people_) return;
    output_->Write(fmt::format(
        "total: {}, {} spill {}, {}, {}, {}\n", Counted(windows_, "window"), spills_,
        spills_ == 1 ? "family" : "families", Counted(versions_, "version"),
        Counted(segments_, "segment"), Counted(bytes_, "byte")));
  }

 private:
  const bool for_people_;
  Output* output_ = nullptr;
  std::unique_ptr<RecordPrinter> printer_;
  uint64_t windows_ = 0;
  uint64_t spills_ = 0;
  uint64_t versions_ = 0;
  uint64_t segments_ = 0;
  uint64_t bytes_ = 0;
};

int RunWindows(const WindowsOptions& asked) {
  const Result<PrintFormat> format = asked.print.Chosen();
  if (!format.ok()) return FailUsage(format.status());
  EngineOptions open_options;
  const Status taken = TakeEngineTexts(asked.engine, &open_options);
  if (!taken.ok()) return FailUsage(taken);
  Result<std::unique_ptr<Engine>> engine = OpenStore(asked.store, Access::kRead, open_options);
  if (!engine.ok()) return FailOpen(engine.status());
  const Result<Tables> tables = ChooseTables(**engine, asked.table);
  if (!tables.ok()) return FailUsage(tables.status());
  const Result<std::vector<WindowInfo>> windows = (*engine)->ListWindows();
  if (!windows.ok()) return Fail(windows.status());
  Output output(STDOUT_FILENO);
  WindowPrinter printer(*format, &output);
  for (const WindowInfo& window : *windows) {
    const bool wanted =
        asked.table.empty() || std::count(window.tables.begin(), window.tables.end(),
                                          tables->front()->QualifiedName()) > 0;
    if (wanted) printer.Print(window);
  }
  printer.Finish();
  output.Flush();
  return output.status().ok() ? kExitOk : Fail(output.status());
}

}  // namespace

void AddWindows(CLI::App* app, Action* action) {
  auto options = std::make_shared<WindowsOptions>();
  CLI::App* command =
      app->add_subcommand("windows", "Print the windows of sealed buckets, and when each goes");
  AddStoreOption(command, &options->store);
  command->add_option("--table", options->table, "Those with buckets of this table alone");
  AddEngineOptions(command, kKeepOptions, &options->engine);
  AddPrintOptions(command, &options->print);
  command->footer(kFooter);
  command->callback([options, action] { *action = [options] { return RunWindows(*options); }; });
}

}  // namespace cistern::tool
