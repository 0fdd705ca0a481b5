// RowLayout: what batches need of a table's columns, and where a table keeps it.
#include <memory>

#include "cistern/limits.h"
#include "cistern/row_batch.h"
#include "lib/row/column_roles.h"
#include "lib/row/value_check.h"

namespace cistern {

namespace {

RowLayout LayoutOf(const TableSchema& schema) {
  RowLayout layout;
  layout.rules.resize(schema.columns.size());
  size_t entity_bytes = 0;  // of what is fixed
  size_t clustering_bytes = 0;
  for (size_t c = 0; c < schema.columns.size(); ++c) {
    const ColumnSpec& spec = schema.columns[c];
    RowLayout::ColumnRule& rule = layout.rules[c];
    if (IsDerived(spec.role)) continue;
    rule.is_double = spec.type.kind == CqlType::kDouble;
    rule.is_bytes = spec.type.lane() == Lane::kBytes;
    rule.is_text = spec.type.kind == CqlType::kText;
    if (TakesIntegers(spec.type.kind)) {
      const FixedRange range = SlotRangeOf(spec.type.kind);
      rule.int_min = range.min;
      rule.int_max = range.max;
    }
    if (IsKey(spec.role)) {
      const bool is_entity = spec.role == ColumnRole::kEntity;
      layout.keys.push_back({static_cast<uint32_t>(c), is_entity, spec.type.lane()});
      layout.keys_always_fit = layout.keys_always_fit && spec.type.lane() == Lane::kFixed;
      (is_entity ? entity_bytes : clustering_bytes) += KeyPartBytes(Lane::kFixed, 0);
    }
  }
  layout.keys_always_fit = layout.keys_always_fit && entity_bytes <= limits::kEntityKeyBytesMax &&
                           clustering_bytes <= limits::kClusteringKeyBytesMax;
  return layout;
}

}  // namespace

RowLayoutCell& RowLayoutCell::operator=(const RowLayoutCell& other) noexcept {
  if (this != &other) delete layout_.exchange(nullptr);
  return *this;
}

RowLayoutCell::~RowLayoutCell() { delete layout_.load(); }

const RowLayout& RowLayoutCell::Of(const TableSchema& schema) const {
  if (const RowLayout* made = layout_.load(std::memory_order_acquire)) return *made;
  auto layout = std::make_unique<const RowLayout>(LayoutOf(schema));
  const RowLayout* other = nullptr;
  if (!layout_.compare_exchange_strong(other, layout.get(), std::memory_order_acq_rel)) {
    return *other;  // another thread was first
  }
  return *layout.release();
}

}  // namespace cistern
