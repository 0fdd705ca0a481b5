#include "tools/command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

#include "engine/bucketing/bucket_value.h"
#include "tools/output.h"
#include "tools/time_text.h"

namespace cistern::tool {
namespace {

// The value of entity column `name` among "NAME=VALUE" texts.
Result<std::string> ValueOf(std::string_view name, const std::vector<std::string_view>& pairs) {
  for (const std::string_view pair : pairs) {
    const size_t split = pair.find('=');
    if (split != std::string_view::npos && pair.substr(0, split) == name) {
      return std::string(pair.substr(split + 1));
    }
  }
  return Status::InvalidArgument(fmt::format("--entity does not give '{}'", name));
}

}  // namespace

int Say(const std::string& line) {
  Output output(STDOUT_FILENO);
  output.Write(line + "\n");
  output.Flush();
  return output.status().ok() ? static_cast<int>(kExitOk) : Fail(output.status());
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

Result<std::unique_ptr<Engine>> OpenStore(const std::string& directory, Access access,
                                          EngineOptions options) {
  options.create_if_missing = access == Access::kCreate;
  options.read_only = access == Access::kRead;
  Result<std::unique_ptr<Engine>> engine = Engine::Open(directory, options);
  if (access == Access::kRead && engine.status().code() == StatusCode::kOutOfMemory) {
    // After a crash the journal may hold two heads. A reader cannot rotate the first away.
    options.memory_budget_bytes *= 4;
    engine = Engine::Open(directory, options);
  }
  if (!engine.ok()) {
    const Status& s = engine.status();
    return Status(s.code(), fmt::format("cannot open the store {}: {}", directory, s.message()));
  }
  const RecoveryReport recovery = (*engine)->Recovery();
  if (recovery.recovered_with_loss) {
    Complain(fmt::format("acknowledged rows are missing from {}: journal sequences {} to {}",
                         directory, recovery.lost_sequence_first, recovery.lost_sequence_last));
  }
  if (!recovery.clean) {
    for (const std::string& note : recovery.notes) Complain(note);
  }
  return engine;
}

Result<std::vector<std::string>> SplitEntity(const TableSchema& schema,
                                             const std::vector<std::string>& texts) {
  if (schema.entity_columns.size() == 1) {
    if (texts.size() != 1) return Status::InvalidArgument("--entity is given more than once");
    return texts;
  }
  std::vector<std::string_view> pairs;
  for (const std::string& text : texts) {
    std::string_view rest = text;
    while (texts.size() == 1 && rest.find(',') != std::string_view::npos) {
      pairs.push_back(rest.substr(0, rest.find(',')));
      rest.remove_prefix(rest.find(',') + 1);
    }
    pairs.push_back(rest);
  }
  std::vector<std::string> values;
  std::string form;
  for (const size_t column : schema.entity_columns) {
    form += fmt::format("{}{}=...", form.empty() ? "" : ",", schema.columns[column].name);
  }
  for (const size_t column : schema.entity_columns) {
    Result<std::string> value = ValueOf(schema.columns[column].name, pairs);
    if (!value.ok()) {
      return Status::InvalidArgument(
          fmt::format("{}; table '{}' needs --entity {}", value.status().message(), schema.name,
                      form));
    }
    values.push_back(std::move(*value));
  }
  if (pairs.size() != values.size()) {
    return Status::InvalidArgument(
        fmt::format("--entity names {} columns; table '{}' needs --entity {}", pairs.size(),
                    schema.name, form));
  }
  return values;
}

Result<EntityKey> ParseEntity(const TableSchema& schema, const std::vector<std::string>& texts) {
  CISTERN_ASSIGN_OR_RETURN(const std::vector<std::string> values, SplitEntity(schema, texts));
  const std::vector<std::string_view> parts(values.begin(), values.end());
  return EntityFromText(schema, parts);
}

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

TextCheck NotEmpty() {
  return [](const std::string& text) -> std::string { return text.empty() ? "is empty" : ""; };
}

Result<int64_t> TimeOfBucket(const TableSchema& schema, const std::string& literal) {
  const Result<int64_t> start_s = BucketStartFromText(schema, literal);
  if (start_s.ok()) return ToTicks({*start_s, 0}, schema.time_unit, literal);
  return Status(start_s.status().code(),
                fmt::format("--bucket '{}': {}", literal, start_s.status().message()));
}

Result<Durability> ParseDurability(std::string_view text) {
  if (text == "synced") return Durability::kSynced;
  if (text == "log") return Durability::kLog;
  if (text == "memory") return Durability::kMemory;
  return Status::InvalidArgument(
      fmt::format("--durability '{}' is not one of synced, log, memory", text));
}

}  // namespace cistern::tool
