// ExportArrowSchema: the fields of a scan's batches.
#include <string>
#include <utility>
#include <vector>

#include "cistern/arrow.h"
#include "lib/arrow/children.h"
#include "lib/base/concat.h"
#include "lib/base/guard.h"
#include "lib/cql/cql_type.h"

namespace cistern {

namespace {

using Metadata = std::vector<std::pair<std::string, std::string>>;

// What a schema points to.
struct SchemaParts {
  explicit SchemaParts(size_t child_count) : children(child_count) {}
  std::string format;
  std::string name;
  std::string metadata;
  Children<ArrowSchema> children;
};

void ReleaseSchema(ArrowSchema* schema) {
  delete static_cast<SchemaParts*>(schema->private_data);
  schema->release = nullptr;
}

void AppendNative(size_t value, std::string* out) {
  const auto number = static_cast<int32_t>(value);
  out->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// The number of pairs, then each one's key and value; counts and lengths are int32 in the
// machine's byte order.
std::string EncodeMetadata(const Metadata& pairs) {
  std::string out;
  AppendNative(pairs.size(), &out);
  for (const auto& [key, value] : pairs) {
    AppendNative(key.size(), &out);
    out += key;
    AppendNative(value.size(), &out);
    out += value;
  }
  return out;
}

// `parts` with its children filled in.
void Fill(std::unique_ptr<SchemaParts> parts, int64_t flags, ArrowSchema* out) {
  *out = ArrowSchema{};
  out->format = parts->format.c_str();
  out->name = parts->name.c_str();
  out->metadata = parts->metadata.empty() ? nullptr : parts->metadata.data();
  out->flags = flags;
  out->n_children = static_cast<int64_t>(parts->children.size());
  out->children = parts->children.pointers();
  out->release = ReleaseSchema;
  out->private_data = parts.release();
}

const char* FormatOf(CqlType kind) {
  switch (kind) {
    case CqlType::kBoolean: return "b";
    case CqlType::kTinyint: return "c";
    case CqlType::kSmallint: return "s";
    case CqlType::kInt: return "i";
    case CqlType::kBigint: return "l";
    case CqlType::kFloat: return "f";
    case CqlType::kDouble: return "g";
    case CqlType::kText:
    case CqlType::kAscii:
    case CqlType::kDecimal:
    case CqlType::kVarint:
    case CqlType::kDuration:
    case CqlType::kTuple:
    case CqlType::kVector:
    case CqlType::kUserType: return "u";
    case CqlType::kBlob:
    case CqlType::kInet: return "z";
    case CqlType::kTimestamp: return "tsm:UTC";
    case CqlType::kDate: return "tdD";
    case CqlType::kTime: return "ttn";
    case CqlType::kUuid:
    case CqlType::kTimeuuid: return "w:16";
    case CqlType::kList:
    case CqlType::kSet: return "+l";
    case CqlType::kMap: return "+m";
  }
  return "n";  // a kind that does not exist
}

const char* RoleName(ColumnRole role) {
  switch (role) {
    case ColumnRole::kEntity: return "entity";
    case ColumnRole::kBucket: return "bucket";
    case ColumnRole::kSplit: return "split";
    case ColumnRole::kClustering: return "clustering";
    case ColumnRole::kRegular: return "regular";
  }
  return "";
}

// A field and what is below it. Elements of collections are never null.
void FillField(const ColumnType& type, std::string name, Metadata metadata, int64_t flags,
               ArrowSchema* out) {
  const bool is_map = type.kind == CqlType::kMap;
  auto parts = std::make_unique<SchemaParts>(IsCollection(type.kind) ? 1 : 0);
  parts->format = FormatOf(type.kind);
  parts->name = std::move(name);
  metadata.insert(metadata.begin(), {"cql", type.ToCql()});
  if (type.kind == CqlType::kUuid || type.kind == CqlType::kTimeuuid) {
    metadata.emplace_back("ARROW:extension:name", "arrow.uuid");
    metadata.emplace_back("ARROW:extension:metadata", "");
  }
  parts->metadata = EncodeMetadata(metadata);
  if (is_map) {
    auto entries = std::make_unique<SchemaParts>(2);
    entries->format = "+s";
    entries->name = "entries";
    FillField(type.arguments[0], "key", {}, 0, entries->children[0]);
    FillField(type.arguments[1], "value", {}, 0, entries->children[1]);
    Fill(std::move(entries), 0, parts->children[0]);
  } else if (IsCollection(type.kind)) {
    FillField(type.arguments[0], "item", {}, 0, parts->children[0]);
  }
  Fill(std::move(parts), flags, out);
}

}  // namespace

Status ExportArrowSchema(const TableSchema& table, std::span<const size_t> columns,
                         ArrowSchema* schema) {
  return Guarded([&]() -> Status {
    *schema = ArrowSchema{};
    auto parts = std::make_unique<SchemaParts>(columns.size());
    parts->format = "+s";
    parts->metadata = EncodeMetadata({{"cql", table.ToCql()}});
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] >= table.columns.size()) {
        return Status::InvalidArgument(Concat({"table ", table.QualifiedName(),
            " has no column number ", columns[i]}));
      }
      const ColumnSpec& spec = table.columns[columns[i]];
      const int64_t flags = spec.role == ColumnRole::kRegular ? ARROW_FLAG_NULLABLE : 0;
      FillField(spec.type, spec.name, {{"cistern.role", RoleName(spec.role)}}, flags,
                parts->children[i]);
    }
    Fill(std::move(parts), 0, schema);
    return Status::Ok();
  });
}

}  // namespace cistern
