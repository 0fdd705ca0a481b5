#include "storage/journal_coder.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "lib/row/value_check.h"

namespace cistern::journal {

namespace {

ColumnCoding CodingOf(const ColumnType& type) {
  if (type.lane() == Lane::kBytes) return ColumnCoding::kBytes;
  switch (type.kind) {
    case CqlType::kBoolean: return ColumnCoding::kBoolean;
    case CqlType::kDouble: return ColumnCoding::kDouble;
    case CqlType::kFloat: return ColumnCoding::kFloat;
    default: return ColumnCoding::kInteger;
  }
}

}  // namespace

TableCoder::TableCoder(uint32_t id, std::shared_ptr<const TableSchema> table_schema)
    : table_id(id),
      schema(std::move(table_schema)),
      regular_cells(schema->columns.size()) {
  const auto add = [this](size_t column) {
    CodedColumn coded;
    coded.column = static_cast<uint32_t>(column);
    coded.coding = CodingOf(schema->columns[column].type);
    if (coded.coding == ColumnCoding::kBytes) {
      coded.text = static_cast<uint32_t>(text_columns.size());
      text_columns.push_back(coded.column);
    } else {
      const FixedRange range = SlotRangeOf(schema->columns[column].type.kind);
      coded.min = range.min;
      coded.max = range.max;
    }
    columns.push_back(coded);
  };
  for (const size_t column : schema->clustering_columns) add(column);
  if (columns[0].coding == ColumnCoding::kInteger) columns[0].coding = ColumnCoding::kTime;
  clustering_count = columns.size();
  for (const size_t column : schema->regular_columns) {
    add(column);
    regular_cells.Add(column);
  }
}

void CodedText::Set(std::string_view text, HeadArena* arena) {
  const bool was_long = size_ > sizeof(Inline);
  const bool is_long = text.size() > sizeof(Inline);
  if (was_long && (!is_long || text.size() > long_.capacity)) {
    arena->Free(long_.bytes, long_.capacity);
  }
  if (is_long && (!was_long || text.size() > long_.capacity)) {
    const size_t capacity = HeadArena::ClassBytes(text.size());
    long_ = Long{arena->Allocate(capacity), static_cast<uint32_t>(capacity)};
  }
  std::copy(text.begin(), text.end(), is_long ? long_.bytes : inline_);
  size_ = static_cast<uint32_t>(text.size());
}

EntityCoder* EntityCoder::New(TableCoder* table, std::string_view key, uint32_t number,
                              HeadArena* arena) {
  static_assert(std::is_trivially_destructible_v<EntityCoder> &&
                std::is_trivially_destructible_v<CodedText>);
  static_assert(sizeof(EntityCoder) % alignof(int64_t) == 0 && sizeof(CodedText) % 8 == 0);
  const size_t arrays = table->columns.size() * sizeof(int64_t) +
                        table->text_columns.size() * sizeof(CodedText) +
                        table->regular_count() * sizeof(CellState);
  char* memory = arena->AllocateOnce(sizeof(EntityCoder) + arrays + key.size());
  std::memset(memory, 0, sizeof(EntityCoder) + arrays);
  char* const key_copy = memory + sizeof(EntityCoder) + arrays;
  std::copy(key.begin(), key.end(), key_copy);
  auto* coder = new (memory) EntityCoder(table, key_copy, key.size(), number);
  for (size_t i = 0; i < table->text_columns.size(); ++i) new (coder->texts() + i) CodedText();
  return coder;
}

}  // namespace cistern::journal
