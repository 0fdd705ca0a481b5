#include "storage/journal_coder.h"

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
    : table_id(id), schema(std::move(table_schema)) {
  const auto add = [this](size_t column) {
    CodedColumn coded;
    coded.column = column;
    coded.coding = CodingOf(schema->columns[column].type);
    if (coded.coding == ColumnCoding::kBytes) coded.text = text_count++;
    columns.push_back(coded);
  };
  for (const size_t column : schema->clustering_columns) add(column);
  if (columns[0].coding == ColumnCoding::kInteger) columns[0].coding = ColumnCoding::kTime;
  clustering_count = columns.size();
  for (const size_t column : schema->regular_columns) add(column);
}

EntityCoder::EntityCoder(TableCoder* t, std::string_view entity_key)
    : table(t),
      entity(entity_key),
      last(t->columns.size(), 0),
      texts(t->text_count),
      shape(t->columns.size() - t->clustering_count, CellState::kValue) {}

size_t EntityCoder::MemoryBytes() const {
  size_t n =
      sizeof(*this) + entity.capacity() + last.capacity() * sizeof(int64_t) + shape.capacity();
  for (const std::string& text : texts) n += sizeof(text) + text.capacity();
  return n + 64;  // the blocks' own headers
}

}  // namespace cistern::journal
