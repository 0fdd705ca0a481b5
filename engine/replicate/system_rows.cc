#include "engine/replicate/system_rows.h"

#include <bit>

#include "engine/cql/readable.h"
#include "engine/replicate/protocol_name.h"
#include "lib/base/coding.h"
#include "lib/base/concat.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/ddl_print.h"
#include "lib/cql/value_text.h"
#include "lib/cql/wire_value.h"

namespace cistern::replicate {
namespace {

const ColumnType kTextType{CqlType::kText, {}};
const ColumnType kTextMapType{CqlType::kMap, {kTextType, kTextType}};
const ColumnType kTextSetType{CqlType::kSet, {kTextType}};
const ColumnType kTextListType{CqlType::kList, {kTextType}};

// Takes the elements of a collection that CheckWireBytes has looked at: their bounds hold.
class ElementReader {
 public:
  explicit ElementReader(std::string_view bytes) : bytes_(bytes) { count_ = Take32(); }
  [[nodiscard]] int32_t count() const { return count_; }
  [[nodiscard]] std::string Take() {
    const auto length = static_cast<size_t>(Take32());
    std::string element(bytes_.substr(0, length));
    bytes_.remove_prefix(length);
    return element;
  }

 private:
  int32_t Take32() {
    const auto number = GetBig<int32_t>(bytes_.data());
    bytes_.remove_prefix(sizeof(number));
    return number;
  }
  std::string_view bytes_;
  int32_t count_ = 0;
};

}  // namespace

SystemRowReader::SystemRowReader(std::string_view table, const SystemRows& rows)
    : table_(table), rows_(rows) {}

bool SystemRowReader::Next() {
  if (!failure_.ok() || next_row_ >= rows_.rows.size()) return false;
  ++next_row_;
  if (rows_.rows[next_row_ - 1].size() != rows_.columns.size()) {
    Fail(Concat({"it has ", rows_.rows[next_row_ - 1].size(), " values for ", rows_.columns.size(),
        " columns"}));
  }
  return failure_.ok();
}

void SystemRowReader::Fail(const std::string& what) {
  if (!failure_.ok()) return;
  failure_ = Status::Corruption(Concat({"the cluster's ", table_, ", row ", next_row_, ": ", what,
      "; Cistern reads the schema of Apache Cassandra 4 and 5"}));
}

std::optional<size_t> SystemRowReader::Find(std::string_view column) const {
  for (size_t i = 0; i < rows_.columns.size(); ++i) {
    if (rows_.columns[i].name == column) return i;
  }
  return std::nullopt;
}

bool SystemRowReader::Has(std::string_view column) const {
  const auto found = Find(column);
  return failure_.ok() && found.has_value() && rows_.rows[next_row_ - 1][*found].has_value();
}

std::string_view SystemRowReader::TypeOf(std::string_view column) const {
  const auto found = Find(column);
  return found.has_value() ? std::string_view(rows_.columns[*found].type) : std::string_view();
}

std::optional<std::string_view> SystemRowReader::Value(std::string_view column,
                                                       const ColumnType& type) {
  if (!failure_.ok()) return std::nullopt;
  const auto found = Find(column);
  if (!found.has_value()) {
    Fail("there is no column " + std::string(column));
    return std::nullopt;
  }
  const std::string& told = rows_.columns[*found].type;
  const std::string expected = ProtocolName(type, "system_schema");
  if (told != expected) {
    Fail(Concat({"the column ", column, " is a ", Shown(told), ", expected ", expected}));
    return std::nullopt;
  }
  const std::optional<std::string>& cell = rows_.rows[next_row_ - 1][*found];
  if (!cell.has_value()) return std::nullopt;
  if (Status checked = CheckWireBytes(type, *cell); !checked.ok()) {
    Fail(Concat({"the value of ", column, ": ", checked.message()}));
    if (checked.code() == StatusCode::kTooLarge) {
      failure_ = Status::TooLarge(failure_.message());
    }
    return std::nullopt;
  }
  return std::string_view(*cell);
}

std::string_view SystemRowReader::Required(std::string_view column, CqlType kind) {
  const auto value = Value(column, ColumnType{kind, {}});
  if (!value.has_value()) {
    Fail(Concat({"the value of ", column, " is missing"}));
    return {};
  }
  return *value;
}

std::string SystemRowReader::Text(std::string_view column) {
  return std::string(Required(column, CqlType::kText));
}

int32_t SystemRowReader::Int(std::string_view column) {
  const std::string_view value = Required(column, CqlType::kInt);
  return value.empty() ? 0 : GetBig<int32_t>(value.data());
}

bool SystemRowReader::Boolean(std::string_view column) {
  const std::string_view value = Required(column, CqlType::kBoolean);
  return !value.empty() && value[0] != 0;
}

int64_t SystemRowReader::TimestampMs(std::string_view column) {
  const std::string_view value = Required(column, CqlType::kTimestamp);
  return value.empty() ? 0 : GetBig<int64_t>(value.data());
}

double SystemRowReader::Double(std::string_view column) {
  const std::string_view value = Required(column, CqlType::kDouble);
  return value.empty() ? 0 : std::bit_cast<double>(GetBig<uint64_t>(value.data()));
}

std::string SystemRowReader::Uuid(std::string_view column) {
  std::string text;
  const ColumnType type{CqlType::kUuid, {}};
  if (const auto value = Value(column, type)) {
    FormatValueText(type, 0, *value, &text);
  } else {
    Fail(Concat({"the value of ", column, " is missing"}));
  }
  return text;
}

std::map<std::string, std::string> SystemRowReader::TextMap(std::string_view column) {
  std::map<std::string, std::string> entries;
  const auto value = Value(column, kTextMapType);
  if (!value.has_value()) return entries;
  ElementReader elements(*value);
  for (int32_t i = 0; i < elements.count(); ++i) {
    std::string key = elements.Take();
    entries.insert_or_assign(std::move(key), elements.Take());
  }
  return entries;
}

std::vector<std::string> SystemRowReader::TextSet(std::string_view column) {
  return Texts(column, kTextSetType);
}

std::vector<std::string> SystemRowReader::TextList(std::string_view column) {
  return Texts(column, kTextListType);
}

std::vector<std::string> SystemRowReader::Texts(std::string_view column, const ColumnType& type) {
  std::vector<std::string> texts;
  const auto value = Value(column, type);
  if (!value.has_value()) return texts;
  ElementReader elements(*value);
  for (int32_t i = 0; i < elements.count(); ++i) texts.push_back(elements.Take());
  return texts;
}

std::string Printable(std::string_view text) {
  return cql::Readable(text, text.size());
}

std::string Shown(std::string_view text) {
  return Printable(ShowText(text));
}

}  // namespace cistern::replicate
