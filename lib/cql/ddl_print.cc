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

void CollectUserTypes(const ColumnType& type, std::vector<const ColumnType*>* found) {
  for (const ColumnType& argument : type.arguments) CollectUserTypes(argument, found);
  if (type.kind != CqlType::kUserType) return;
  const bool is_new = std::none_of(found->begin(), found->end(), [&](const ColumnType* other) {
    return other->name == type.name;
  });
  if (is_new) found->push_back(&type);
}

}  // namespace

std::vector<const ColumnType*> UserTypesOf(const TableSchema& schema) {
  std::vector<const ColumnType*> found;
  for (const ColumnSpec& column : schema.columns) CollectUserTypes(column.type, &found);
  return found;
}

std::string FieldsText(const ColumnType& user_type) {
  std::string text = "(";
  for (size_t i = 0; i < user_type.arguments.size(); ++i) {
    text += Concat({(i > 0 ? ", " : ""), QuoteName(user_type.field_names[i]), " ",
        user_type.arguments[i].ToCql()});
  }
  return text + ")";
}

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

std::string TableText(const TableSchema& schema) {
  std::string out = "CREATE TABLE ";
  if (!schema.keyspace.empty()) out += QuoteName(schema.keyspace) + ".";
  out += QuoteName(schema.name) + " (\n";
  for (const ColumnSpec& column : schema.columns) {
    out += Concat({"    ", QuoteName(column.name), " ", column.type.ToCql(),
        (column.is_static ? " static" : ""), ",\n"});
  }
  out += Concat({"    PRIMARY KEY ((", JoinNames(schema, schema.partition_key), "), ",
      JoinNames(schema, schema.clustering_columns), ")\n"});
  out += Concat({") WITH CLUSTERING ORDER BY (", OrderText(schema), ")"});
  if (!schema.comment.empty()) out += "\n    AND comment = " + QuoteString(schema.comment);
  if (!schema.compaction.empty()) out += "\n    AND compaction = " + MapText(schema.compaction);
  out += Concat({"\n    AND default_time_to_live = ", schema.default_ttl_s});
  out += Concat({"\n    AND gc_grace_seconds = ", schema.gc_grace_s});
  for (const auto& [option, value] : schema.other_options) {
    out += Concat({"\n    AND ", QuoteName(option), " = ", value});
  }
  return out + ";\n";
}

std::string TableSchema::ToCql() const {
  std::string out;
  for (const ColumnType* type : UserTypesOf(*this)) {
    out += "CREATE TYPE ";
    if (!keyspace.empty()) out += QuoteName(keyspace) + ".";
    out += Concat({QuoteName(type->name), " ", FieldsText(*type), ";\n"});
  }
  return out + TableText(*this);
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
