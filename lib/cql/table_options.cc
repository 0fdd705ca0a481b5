#include "lib/cql/table_options.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "cistern/limits.h"
#include "lib/base/concat.h"
#include "lib/base/nearest_name.h"
#include "lib/cql/comment_rule.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/wire_value.h"

namespace cistern {
namespace {

class OptionTaker {
 public:
  OptionTaker(std::string_view source, TableSchema* schema) : source_(source), schema_(schema) {}

  Status Take(const DdlOption& option, Token* comment) {
    const std::string& name = option.name.text;
    if (name == "comment") return TakeComment(option, comment);
    if (name == "compaction") return TakeCompaction(option);
    if (name == "default_time_to_live") {
      return TakeSeconds(option, limits::kTtlSecondsMax, &schema_->default_ttl_s);
    }
    if (name == "gc_grace_seconds") {
      return TakeSeconds(option, std::numeric_limits<int32_t>::max(), &schema_->gc_grace_s);
    }
    if (!IsUtf8(option.raw)) return Invalid(option.value_offset, name + " is not UTF-8");
    schema_->other_options.emplace(name, option.raw);
    return Status::Ok();
  }

 private:
  [[nodiscard]] Status Invalid(size_t offset, const std::string& what) const {
    return ErrorAt(StatusCode::kInvalidArgument, source_, offset, what);
  }

  Status TakeComment(const DdlOption& option, Token* comment) {
    if (option.kind != DdlOption::Kind::kConstant || option.value.kind != TokenKind::kString) {
      return Invalid(option.value_offset,
                     "expected the comment in single quotes, got " + option.raw);
    }
    if (!IsUtf8(option.value.text)) return Invalid(option.value_offset, "the comment is not UTF-8");
    schema_->comment = option.value.text;
    *comment = option.value;
    return Status::Ok();
  }

  Status TakeSeconds(const DdlOption& option, uint32_t max, uint32_t* out) {
    const bool number =
        option.kind == DdlOption::Kind::kConstant && option.value.kind == TokenKind::kNumber;
    const auto value = number ? ParseCount(option.value.text, max) : std::nullopt;
    if (!value.has_value()) {
      return Invalid(option.value_offset, Concat({"expected ", option.name.text,
          " in seconds from 0 to ", max, ", got ", option.raw}));
    }
    *out = *value;
    return Status::Ok();
  }

  Status TakeCompaction(const DdlOption& option) {
    if (option.kind != DdlOption::Kind::kMap) {
      return Invalid(option.value_offset,
                     "expected compaction = {'class': '...'}, got " + option.raw);
    }
    for (const auto& [key, value] : option.entries) {
      if (!IsUtf8(key) || !IsUtf8(value))
        return Invalid(option.value_offset, "compaction is not UTF-8");
      schema_->compaction.emplace(key, value);
    }
    const auto found = schema_->compaction.find("class");
    if (found == schema_->compaction.end()) {
      return Invalid(option.value_offset, "compaction lacks its 'class'");
    }
    const bool windows = std::string_view(found->second).ends_with("TimeWindowCompactionStrategy");
    return windows ? CheckWindows(option) : Status::Ok();
  }

  // The options that Cassandra would refuse too, so that the mistake is seen here first.
  Status CheckWindows(const DdlOption& option) const {
    const auto unit = schema_->compaction.find("compaction_window_unit");
    if (unit != schema_->compaction.end() && unit->second != "MINUTES" && unit->second != "HOURS" &&
        unit->second != "DAYS") {
      return Invalid(
          option.value_offset, Concat({"expected compaction_window_unit MINUTES, HOURS or DAYS, "
              "got '", unit->second, "'"}));
    }
    const auto size = schema_->compaction.find("compaction_window_size");
    if (size != schema_->compaction.end()) {
      const auto count = ParseCount(size->second, std::numeric_limits<int32_t>::max());
      if (!count.has_value() || *count == 0) {
        return Invalid(option.value_offset, Concat({"expected compaction_window_size as a whole "
            "number above 0, got '", size->second, "'"}));
      }
    }
    return Status::Ok();
  }

  std::string_view source_;
  TableSchema* schema_;
};

// Those of Cassandra 5, and two that it takes of older tables and passes over.
const std::vector<std::string>& KnownOptions() {
  static const std::vector<std::string> known = {
      "additional_write_policy", "allow_auto_snapshot", "bloom_filter_fp_chance", "caching", "cdc",
      "comment", "compaction", "compression", "crc_check_chance", "dclocal_read_repair_chance",
      "default_time_to_live", "extensions", "gc_grace_seconds", "id", "incremental_backups",
      "max_index_interval", "memtable", "memtable_flush_period_in_ms", "min_index_interval",
      "read_repair", "read_repair_chance", "speculative_retry"};
  return known;
}

}  // namespace

Status CheckOptionNames(std::string_view source, const std::vector<DdlOption>& options) {
  const std::vector<std::string>& known = KnownOptions();
  for (const DdlOption& option : options) {
    const std::string& name = option.name.text;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string nearest = NearestName(name, known);
    return ErrorAt(StatusCode::kInvalidArgument, source, option.name.offset, Concat({
        ShowText(name), " is no option of a table, here or in Cassandra",
        (nearest.empty() ? "" : "; did you mean " + nearest + "?")}));
  }
  return Status::Ok();
}

Status TakeTableOptions(std::string_view source, const std::vector<DdlOption>& options,
                        TableSchema* schema, Token* comment) {
  OptionTaker taker(source, schema);
  for (const DdlOption& option : options) CISTERN_RETURN_IF_ERROR(taker.Take(option, comment));
  return Status::Ok();
}

}  // namespace cistern
