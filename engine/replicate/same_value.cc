#include "engine/replicate/same_value.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/base/coding.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/wire_value.h"

namespace cistern::replicate {
namespace {

std::optional<std::string> InOneOrder(const ColumnType& type, std::string_view bytes);

// [int] length and bytes, taken from the front of *bytes and appended in one order.
bool TakeElement(const ColumnType& type, std::string_view* bytes, std::string* out) {
  if (bytes->size() < sizeof(int32_t)) return false;
  const auto length = GetBig<int32_t>(bytes->data());
  bytes->remove_prefix(sizeof(int32_t));
  if (length < 0 || static_cast<size_t>(length) > bytes->size()) return false;
  const auto element = InOneOrder(type, bytes->substr(0, static_cast<size_t>(length)));
  bytes->remove_prefix(static_cast<size_t>(length));
  if (!element) return false;
  PutBig(out, static_cast<int32_t>(element->size()));
  out->append(*element);
  return true;
}

// Of a tuple or user-defined type: all fields, those that are missing at the end as null.
std::optional<std::string> FieldsInOneOrder(const ColumnType& type, std::string_view bytes) {
  std::vector<std::optional<std::string_view>> fields;
  if (!SplitFields(type, bytes, &fields).ok()) return std::nullopt;
  std::string out;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].has_value()) {
      PutBig<int32_t>(&out, -1);
      continue;
    }
    const auto field = InOneOrder(type.arguments[i], *fields[i]);
    if (!field) return std::nullopt;
    PutBig(&out, static_cast<int32_t>(field->size()));
    out += *field;
  }
  return out;
}

// Of a vector: its elements one behind another, each with its length.
std::optional<std::string> ElementsInOneOrder(const ColumnType& type, std::string_view bytes) {
  std::vector<std::string_view> elements;
  if (!SplitCollection(type, bytes, &elements).ok()) return std::nullopt;
  std::string out;
  for (const std::string_view one : elements) {
    const auto element = InOneOrder(type.arguments[0], one);
    if (!element) return std::nullopt;
    PutBig(&out, static_cast<int32_t>(element->size()));
    out += *element;
  }
  return out;
}

// The entries of a map, each a key and its value. Of a key that stands twice the last one counts,
// as it does for Cassandra.
std::optional<std::vector<std::string>> EntriesInOneOrder(const ColumnType& type, int32_t count,
                                                          std::string_view* bytes) {
  std::map<std::string, std::string> entries;
  for (int32_t i = 0; i < count; ++i) {
    std::string key;
    std::string value;
    if (!TakeElement(type.arguments[0], bytes, &key)) return std::nullopt;
    if (!TakeElement(type.arguments[1], bytes, &value)) return std::nullopt;
    entries[std::move(key)] = std::move(value);
  }
  std::vector<std::string> ordered;
  for (const auto& [key, value] : entries) ordered.push_back(key + value);
  return ordered;
}

// Those of a list or a set, of which a double counts once.
std::optional<std::vector<std::string>> MembersInOneOrder(const ColumnType& type, int32_t count,
                                                          std::string_view* bytes) {
  std::vector<std::string> members;
  for (int32_t i = 0; i < count; ++i) {
    if (!TakeElement(type.arguments[0], bytes, &members.emplace_back())) return std::nullopt;
  }
  if (type.kind == CqlType::kList) return members;
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

// The same bytes for the same value. Of collections: [int] count, then elements, of a map
// keys and values in turn. Nothing: they are no value of the type.
std::optional<std::string> InOneOrder(const ColumnType& type, std::string_view bytes) {
  if (type.arguments.empty()) return std::string(bytes);
  if (HasFields(type.kind)) return FieldsInOneOrder(type, bytes);
  if (type.kind == CqlType::kVector) return ElementsInOneOrder(type, bytes);
  if (bytes.size() < sizeof(int32_t)) return std::nullopt;
  const auto count = GetBig<int32_t>(bytes.data());
  bytes.remove_prefix(sizeof(int32_t));
  const auto elements = type.kind == CqlType::kMap ? EntriesInOneOrder(type, count, &bytes)
                                                   : MembersInOneOrder(type, count, &bytes);
  if (!elements || !bytes.empty()) return std::nullopt;
  std::string out;
  PutBig(&out, static_cast<int32_t>(elements->size()));
  for (const std::string& element : *elements) out += element;
  return out;
}

}  // namespace

bool SameValue(const ColumnType& type, std::string_view a, std::string_view b) {
  if (a == b) return true;
  if (type.arguments.empty()) return false;
  const auto ordered = InOneOrder(type, a);
  return ordered && ordered == InOneOrder(type, b);
}

}  // namespace cistern::replicate
