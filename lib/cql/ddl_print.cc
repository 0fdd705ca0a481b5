#include "lib/cql/ddl_print.h"

#include <algorithm>

#include "cistern/schema.h"
#include "lib/base/concat.h"
#include "lib/cql/ddl_lexer.h"

namespace cistern {
namespace {

bool IsPlainName(std::string_view name) {
  if (name.empty() || name[0] < 'a' || name[0] > 'z') return false;
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  return plain && !IsReservedWord(name);
}

std::string Quote(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    if (c == quote) out.push_back(quote);
    out.push_back(c);
  }
  out.push_back(quote);
  return out;
}

std::string JoinNames(const TableSchema& schema, const std::vector<size_t>& columns) {
  std::string out;
  for (const size_t column : columns) {
    if (!out.empty()) out += ", ";
    out += QuoteName(schema.columns[column].name);
  }
  return out;
}

std::string OrderText(const TableSchema& schema) {
  std::string out;
  for (const size_t column : schema.clustering_columns) {
    if (!out.empty()) out += ", ";
    out += QuoteName(schema.columns[column].name);
    out += schema.columns[column].descending ? " DESC" : " ASC";
  }
  return out;
}

std::string MapText(const std::map<std::string, std::string>& entries) {
  std::string out = "{";
  for (const auto& [key, value] : entries) {
    if (out.size() > 1) out += ", ";
    out += Concat({QuoteString(key), ": ", QuoteString(value)});
  }
  return out + "}";
}

}  // namespace

std::string QuoteName(std::string_view name) {
  return IsPlainName(name) ? std::string(name) : Quote(name, '"');
}

std::string QuoteString(std::string_view text) {
  return Quote(text, '\'');
}

std::string ShowText(std::string_view text) {
  constexpr size_t kShownBytesMax = 64;
  size_t shown = std::min(text.size(), kShownBytesMax);
  while (shown > 0 && shown < text.size() &&
         (static_cast<unsigned char>(text[shown]) & 0xc0) == 0x80) {
    --shown;
  }
  std::string out(1, '\'');
  out.append(text.substr(0, shown));
  out.append(shown < text.size() ? "...'" : "'");
  return out;
}

std::string TableSchema::ToCql() const {
  std::string out = "CREATE TABLE ";
  if (!keyspace.empty()) out += QuoteName(keyspace) + ".";
  out += QuoteName(name) + " (\n";
  for (const ColumnSpec& column : columns) {
    out += Concat({"    ", QuoteName(column.name), " ", column.type.ToCql(), ",\n"});
  }
  out += Concat({"    PRIMARY KEY ((", JoinNames(*this, partition_key), "), ",
      JoinNames(*this, clustering_columns), ")\n"});
  out += Concat({") WITH CLUSTERING ORDER BY (", OrderText(*this), ")"});
  if (!comment.empty()) out += "\n    AND comment = " + QuoteString(comment);
  if (!compaction.empty()) out += "\n    AND compaction = " + MapText(compaction);
  out += Concat({"\n    AND default_time_to_live = ", default_ttl_s});
  out += Concat({"\n    AND gc_grace_seconds = ", gc_grace_s});
  for (const auto& [option, value] : other_options) {
    out += Concat({"\n    AND ", QuoteName(option), " = ", value});
  }
  return out + ";\n";
}

std::string TableSchema::QualifiedName() const {
  return keyspace.empty() ? name : Concat({keyspace, ".", name});
}

const BucketRule& TableSchema::BucketRuleAt(int64_t s) const {
  for (const FormerBucketRule& former : former_buckets) {
    if (s < former.until_s) return former.rule;
  }
  return bucket;
}

std::optional<size_t> TableSchema::FindColumn(std::string_view column_name) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column_name) return i;
  }
  return std::nullopt;
}

}  // namespace cistern
