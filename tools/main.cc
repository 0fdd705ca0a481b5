// cistern: the command line tool. docs/tool.md has the whole of it.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lib/base/malloc_thresholds.h"
#include "lib/base/nearest_name.h"
#include "tools/command.h"

namespace cistern::tool {
namespace {

constexpr char kFooter[] = R"(
Examples:
  cistern create --store /data/cistern --schema air.cql
  cistern ingest --store /data/cistern --table air --null NA air-2024.csv
  tail -f readings.jsonl | cistern ingest --store /data/cistern --table air --format jsonl -
  cistern scan --store /data/cistern --table air --entity Dongsi --from 2024-01-01 --to 2024-02-01
  cistern buckets --store /data/cistern

Exit codes:
  0  done
  1  done, but lines were rejected, or verify, seal or backup list met problems
  2  the command line, schema, mapping, table or column name is wrong; or --reject-max was passed
  3  the store cannot be used: missing, locked, too new, damaged, read-only
  4  a write failed: no space, an I/O error; or memory or file descriptors do not suffice
  5  a mistake inside cistern
  6  rows are known to be missing: damaged ones, or lost ones that this opening of the store met
  7  rows wait for a person: a table of the cluster differs, or refused them; clock: for the time
  8  the cluster does not answer, or lets nobody in
  130, 143  ended by SIGINT or SIGTERM, after what was read was stored)";

// Of a name that is not one of `names`: "; did you mean X?", or nothing if none is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& names) {
  const std::string nearest = NearestName(name, names);
  return nearest.empty() ? nearest : fmt::format("; did you mean {}?", nearest);
}

// "schema diff": the words that name it.
std::string PathOf(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  const bool is_top = parent == nullptr || parent->get_parent() == nullptr;
  return (is_top ? "" : PathOf(*parent) + " ") + command.get_name();
}

// The subcommand that was named, within those that were named before it.
const CLI::App& ChosenOf(const CLI::App& command) {
  const auto chosen = command.get_subcommands();
  return chosen.empty() ? command : ChosenOf(*chosen.front());
}

// What is wrong with the words that name a subcommand of `command`, or one of that; or nothing.
std::string WrongSubcommand(const CLI::App& command, std::span<const std::string> words) {
  const auto all = command.get_subcommands([](const CLI::App*) { return true; });
  const std::string first = words.empty() ? "-" : words.front();
  if (all.empty() || first.starts_with('-')) return {};
  std::vector<std::string> names;
  for (const CLI::App* one : all) {
    if (one->get_name() == first) return WrongSubcommand(*one, words.subspan(1));
    names.push_back(one->get_name());
  }
  const bool is_top = command.get_parent() == nullptr;
  return fmt::format("'{}' is no subcommand{}{}{}; see cistern {}--help", first,
                     is_top ? "" : " of ", is_top ? "" : PathOf(command),
                     DidYouMean(first, names), is_top ? "" : PathOf(command) + " ");
}

// Whether this is a word for the option, which no command has: what it would show is a secret.
bool IsPassword(std::string_view word) {
  return word == "--password" || word.starts_with("--password=");
}

// What is wrong if an option was mistyped, whatever the parser missed for it; or nothing.
std::string Mistyped(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const bool has_file = std::ranges::find(names, "--password-file") != names.end();
  for (const std::string& word : command.remaining()) {
    if (has_file && IsPassword(word)) {
      return "a password is not taken from the command line, which others can see: put it alone "
             "into a file of mode 600 and name that by --password-file";
    }
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    const std::string hint = name.starts_with("--") ? DidYouMean(name, names) : "";
    if (hint.empty()) continue;
    return fmt::format("'{}' is no option of {}{}", name, PathOf(command), hint);
  }
  return {};
}

// What is wrong if there is an option that the command does not have, or a word too many; or
// nothing.
std::string NotExpected(const CLI::App& command) {
  const std::vector<std::string> left = command.remaining();
  if (left.empty()) return {};
  const auto option = std::find_if(left.begin(), left.end(), [](const std::string& word) {
    return word.size() > 1 && word.starts_with('-');
  });
  if (option == left.end()) {
    return fmt::format("'{}' is not expected: {} takes options alone", left.front(),
                       PathOf(command));
  }
  std::string known;
  for (const CLI::Option* there : command.get_options()) {
    for (const std::string& name : there->get_lnames()) {
      known += (known.empty() ? "--" : ", --") + name;
    }
  }
  return fmt::format("'{}' is no option of {}; it has {}", option->substr(0, option->find('=')),
                     PathOf(command), known);
}

// "cistern help scan" stands for "cistern scan --help".
std::vector<std::string> WordsOf(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == "help") {
    words.erase(words.begin());
    const bool has_two = words.size() > 1 && (words.front() == "schema" ||
                                              words.front() == "sync" || words.front() == "backup");
    words.resize(std::min<size_t>(words.size(), has_two ? 2 : 1));
    words.emplace_back("--help");
  }
  return words;
}

// Of every option but `--null ''`, which takes empty texts of JSON for missing too, and but
// `--ignore ''`, which leaves out a member without a name: an empty text would stand for no option
// at all, and `--table "$UNSET"` for every table.
void RefuseEmptyTexts(CLI::App* app) {
  const TextCheck is_not_empty = [](const std::string& text) -> std::string {
    return text.empty() ? "is empty" : "";
  };
  for (CLI::App* command : app->get_subcommands({})) {
    RefuseEmptyTexts(command);
    for (CLI::Option* option : command->get_options()) {
      const bool may_be_empty = option->check_lname("null") || option->check_lname("ignore");
      if (option->get_items_expected_max() > 0 && !may_be_empty) {
        option->check(is_not_empty);
      }
    }
  }
}

int Run(int argc, char** argv) {
  CLI::App app{"Cistern keeps sensor rows in time buckets, as Cassandra partitions them.",
               "cistern"};
  app.set_version_flag("-V,--version", "cistern " CISTERN_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  Action action;
  AddCreate(&app, &action);
  AddAlter(&app, &action);
  AddIngest(&app, &action);
  AddScan(&app, &action);
  AddAggregate(&app, &action);
  AddDelete(&app, &action);
  AddSeal(&app, &action);
  AddWindows(&app, &action);
  AddExpire(&app, &action);
  AddTables(&app, &action);
  AddEntities(&app, &action);
  AddBuckets(&app, &action);
  AddHistograms(&app, &action);
  AddClock(&app, &action);
  AddStats(&app, &action);
  AddBackup(&app, &action);
  AddRestore(&app, &action);
  AddSalvage(&app, &action);
  AddVerify(&app, &action);
  AddSchema(&app, &action);
  AddSync(&app, &action);
  RefuseEmptyTexts(&app);
  std::vector<std::string> words = WordsOf(argc, argv);
  if (const std::string wrong = WrongSubcommand(app, words); !wrong.empty()) {
    Complain(wrong);
    return kExitUsage;
  }
  try {
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(words);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    const CLI::App& chosen = ChosenOf(app);
    const bool is_none = &chosen == &app;
    std::string mistyped = is_none ? "" : Mistyped(chosen);
    if (mistyped.empty() && !is_none) mistyped = NotExpected(chosen);
    Complain(fmt::format("{}; see cistern {}--help", mistyped.empty() ? e.what() : mistyped,
                         is_none ? "" : PathOf(chosen) + " "));
    return kExitUsage;
  }
  // A reader that had enough is noticed where it is written to.
  std::signal(SIGPIPE, SIG_IGN);
  return CodeWithLoss(action());
}

}  // namespace
}  // namespace cistern::tool

int main(int argc, char** argv) {
  cistern::FixMallocThresholds();
  try {
    return cistern::tool::Run(argc, argv);
  } catch (const std::exception& e) {  // out of memory, or a mistake in how we use a library
    cistern::tool::Complain(e.what());
    return cistern::tool::kExitInternal;
  }
}
