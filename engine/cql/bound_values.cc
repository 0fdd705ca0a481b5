#include "engine/cql/bound_values.h"

namespace cistern::cql {

void ValueWriter::Value(const ColumnType& type, int64_t fixed, std::string_view bytes) {
  Length(0);
  const size_t begin = bytes_->size();
  AppendWireValue(type, fixed, bytes, bytes_);
  const size_t length = bytes_->size() - begin;
  CISTERN_CHECK(length <= limits::kCqlRequestBytesMax);
  for (size_t i = 0; i < 4; ++i) {
    (*bytes_)[begin - 4 + i] = static_cast<char>(length >> (24 - 8 * i));
  }
}

ValueWriter BoundBatch::Begin(uint32_t statement) {
  Entry& entry = entries_.emplace_back();
  entry.statement = statement;
  entry.value_begin = values_.size();
  return {&values_, &entry.value_count};
}

void BoundBatch::Add(const BoundStatement& bound) {
  entries_.push_back({bound.statement, bound.values.count, values_.size()});
  values_.append(bound.values.bytes);
}

void BoundBatch::Clear() {
  entries_.clear();
  values_.clear();
}

}  // namespace cistern::cql
