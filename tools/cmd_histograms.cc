// cistern histograms: how large buckets are.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "tools/command.h"
#include "tools/counted.h"
#include "tools/output.h"
#include "tools/record_printer.h"

namespace cistern::tool {
namespace {

struct HistogramsOptions {
  std::string store;
  std::string table;
  bool json = false;
};

constexpr char kFooter[] = R"(
A bucket is a partition of Cassandra. Rows are row versions; bytes are those of its encoded
segments, so that rows in the journal alone have none yet. Half of the buckets have at most as
many as the line 50% says. Buckets that have no rows but deletes of ranges are not among them;
how many there are is said apart. Takes 16 bytes of memory for each bucket.

Example:
  cistern histograms --store S --table air)";

struct Sizes {
  std::vector<uint64_t> rows;
  std::vector<uint64_t> bytes;
  uint64_t without_rows = 0;  // buckets that hold deletes alone, which are in neither
};

struct Rank {
  const char* text;  // for people
  const char* name;  // in JSON
  unsigned percent;
};
constexpr std::array<Rank, 7> kRanks = {{{"min", "min", 0},
                                         {"50%", "p50", 50},
                                         {"75%", "p75", 75},
                                         {"95%", "p95", 95},
                                         {"98%", "p98", 98},
                                         {"99%", "p99", 99},
                                         {"max", "max", 100}}};

// The smallest value that `percent` of all do not exceed. 0 without any. REQUIRES: sorted.
uint64_t ValueAt(const std::vector<uint64_t>& values, unsigned percent) {
  if (values.empty()) return 0;
  const size_t rank = (values.size() * percent + 99) / 100;
  return values[rank == 0 ? 0 : rank - 1];
}

std::string JsonOf(const std::vector<uint64_t>& values) {
  JsonLine json;
  for (const Rank& rank : kRanks) json.Number(rank.name, ValueAt(values, rank.percent));
  return json.object();
}

// One object for each table, a line each.
void PrintJson(const std::map<std::string, Sizes>& tables, Output* output) {
  for (const auto& [table, sizes] : tables) {
    output->Write(JsonLine().Text("table", table).Number("buckets", sizes.rows.size())
                      .Number("buckets_without_rows", sizes.without_rows)
                      .Raw("rows", JsonOf(sizes.rows)).Raw("bytes", JsonOf(sizes.bytes))
                      .object() + "\n");
  }
}

void PrintTable(const std::map<std::string, Sizes>& tables, Output* output) {
  const auto printer = RecordPrinter::New(
      PrintFormat::kTable,
      {{"table", false}, {"buckets", true}, {"percentile", true}, {"rows", true}, {"bytes", true}},
      output);
  for (const auto& [table, sizes] : tables) {
    for (const Rank& rank : kRanks) {
      const std::string texts[] = {table, fmt::format("{}", sizes.rows.size()), rank.text,
                                   fmt::format("{}", ValueAt(sizes.rows, rank.percent)),
                                   fmt::format("{}", ValueAt(sizes.bytes, rank.percent))};
      std::vector<PrintCell> cells;
      for (const std::string& text : texts) cells.push_back({text, false, false});
      printer->Row(cells);
    }
  }
  printer->Finish();
  for (const auto& [table, sizes] : tables) {
    if (sizes.without_rows == 0) continue;
    output->Write(fmt::format("{}: not counted, as {} no rows but deletes: {}\n", table,
                              sizes.without_rows == 1 ? "it has" : "they have",
                              Counted(sizes.without_rows, "bucket")));
  }
}

int RunHistograms(const HistogramsOptions& options) {
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kRead);
  if (!engine.ok()) return FailOpen(engine.status());
  std::string wanted;
  if (!options.table.empty()) {
    const auto schema = (*engine)->FindTable(options.table);
    if (!schema.ok()) return FailUsage(schema.status());
    wanted = (*schema)->QualifiedName();
  }
  std::map<std::string, Sizes> tables;
  const Status s = (*engine)->ListBuckets([&](const BucketInfo& bucket) {
    if (wanted.empty() || bucket.table == wanted) {
      Sizes& sizes = tables[bucket.table];
      if (bucket.first_time) {
        sizes.rows.push_back(bucket.versions);
        sizes.bytes.push_back(bucket.bytes);
      } else {
        ++sizes.without_rows;
      }
    }
    return true;
  });
  if (!s.ok()) return Fail(s);
  for (auto& [table, sizes] : tables) {
    std::sort(sizes.rows.begin(), sizes.rows.end());
    std::sort(sizes.bytes.begin(), sizes.bytes.end());
  }
  Output output(STDOUT_FILENO);
  options.json ? PrintJson(tables, &output) : PrintTable(tables, &output);
  output.Flush();
  return output.status().ok() ? kExitOk : Fail(output.status());
}

}  // namespace

void AddHistograms(CLI::App* app, Action* action) {
  auto options = std::make_shared<HistogramsOptions>();
  CLI::App* command =
      app->add_subcommand("histograms", "Print how large buckets are, by percentile");
  AddStoreOption(command, &options->store);
  command->add_option("--table", options->table, "Of this table alone");
  AddJsonOption(command, &options->json);
  command->footer(kFooter);
  command->callback([options, action] {
    *action = [options] { return RunHistograms(*options); };
  });
}

}  // namespace cistern::tool
