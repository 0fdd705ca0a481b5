// cistern create: declares the table of a CREATE TABLE file.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "cistern/limits.h"
#include "tools/command.h"

namespace cistern::tool {
namespace {

struct CreateOptions {
  std::string store;
  std::string schema;
};

Result<std::string> ReadSchemaFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Status::InvalidArgument(fmt::format("cannot open the schema {}: {}", path,
                                               std::strerror(errno)));
  }
  std::string text(limits::kDdlBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (file.fail() && !file.eof())) {
    return Status::InvalidArgument(fmt::format("cannot read the schema {}", path));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > limits::kDdlBytesMax) {
    return Status::TooLarge(fmt::format("the schema {} is longer than {} bytes", path,
                                        limits::kDdlBytesMax));
  }
  return text;
}

int RunCreate(const CreateOptions& options) {
  const Result<std::string> text = ReadSchemaFile(options.schema);
  if (!text.ok()) return FailUsage(text.status());
  // Before the store is touched: a wrong schema must not leave an empty store behind.
  const auto schema = ParseCreateTable(*text);
  if (!schema.ok()) {
    return FailUsage(Status::InvalidArgument(
        fmt::format("{}: {}", options.schema, schema.status().message())));
  }
  Result<std::unique_ptr<Engine>> engine = OpenStore(options.store, Access::kCreate);
  if (!engine.ok()) return FailOpen(engine.status());
  if (const Status s = (*engine)->CreateTable(*text); !s.ok()) return Fail(s);
  if (const Status s = (*engine)->Close(); !s.ok()) return Fail(s);
  const TableSchema& table = **schema;
  return Say(fmt::format("table {}{}{} in {}: buckets by {}", table.keyspace,
                         table.keyspace.empty() ? "" : ".", table.name, options.store,
                         table.columns[table.bucket_column].name));
}

}  // namespace

void AddCreate(CLI::App* app, Action* action) {
  auto options = std::make_shared<CreateOptions>();
  CLI::App* command = app->add_subcommand("create", "Declare a table by CREATE TABLE text; makes "
                                                    "the store if there is none");
  command->add_option("--store", options->store, "Directory of the store")->required();
  command->add_option("--schema", options->schema, "File with one CREATE TABLE statement")
      ->required();
  command->footer("\nExample:\n  cistern create --store /data/cistern --schema air.cql\n\n"
                  "A table that exists and is equal is left as it is; one that differs is an "
                  "error.");
  command->callback([options, action] { *action = [options] { return RunCreate(*options); }; });
}

}  // namespace cistern::tool
