#include "lib/arrow/arrow_column.h"

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/arrow/children.h"
#include "lib/base/concat.h"
#include "lib/cql/cql_type.h"
#include "lib/cql/value_text.h"
#include "lib/cql/wire_value.h"

namespace cistern {

namespace {

constexpr size_t kUuidBytes = 16;

// What an array points to. Each has its own: a child that was moved away outlives its parent.
struct ArrayParts {
  explicit ArrayParts(size_t child_count) : children(child_count) {}
  ColumnData data;                // shown where the layout is Arrow's
  std::vector<uint8_t> validity;  // bit i, lowest first: cell i is a value. Empty: all are
  std::vector<uint8_t> packed;    // values in Arrow's layout, where it is another
  std::vector<int32_t> offsets;   // of collections
  std::array<const void*, 3> buffers{};
  Children<ArrowArray> children;
};

void ReleaseArray(ArrowArray* array) {
  delete static_cast<ArrayParts*>(array->private_data);
  array->release = nullptr;
}

void Fill(std::unique_ptr<ArrayParts> parts, size_t length, int64_t null_count, int64_t n_buffers,
          ArrowArray* out) {
  parts->data.states = {};  // the bitmap has them
  *out = ArrowArray{};
  out->length = static_cast<int64_t>(length);
  out->null_count = null_count;
  out->n_buffers = n_buffers;
  out->buffers = parts->buffers.data();
  out->n_children = static_cast<int64_t>(parts->children.size());
  out->children = parts->children.pointers();
  out->release = ReleaseArray;
  out->private_data = parts.release();
}

void SetBit(size_t i, std::vector<uint8_t>* bits) {
  (*bits)[i / 8] = static_cast<uint8_t>((*bits)[i / 8] | 1u << (i % 8));
}

// Gives the bitmap, if one is needed, and the number of nulls.
int64_t SetValidity(const std::vector<CellState>& states, ArrayParts* parts) {
  int64_t null_count = 0;
  for (const CellState state : states) null_count += state == CellState::kValue ? 0 : 1;
  if (null_count == 0) return 0;
  parts->validity.assign((states.size() + 7) / 8, 0);
  for (size_t i = 0; i < states.size(); ++i) {
    if (states[i] == CellState::kValue) SetBit(i, &parts->validity);
  }
  parts->buffers[0] = parts->validity.data();
  return null_count;
}

Status TooLarge(const char* what, size_t offset_max) {
  return Status::TooLarge(Concat({"more ", what, " than Arrow counts in one array, ", offset_max,
      ": take fewer rows into a batch"}));
}

std::vector<uint8_t> PackBits(const std::vector<int64_t>& values) {
  std::vector<uint8_t> bits((values.size() + 7) / 8, 0);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) SetBit(i, &bits);
  }
  return bits;
}

// The low bytes of each value, in the machine's byte order.
template <typename T>
std::vector<uint8_t> Narrow(const std::vector<int64_t>& values) {
  std::vector<uint8_t> out(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
  }
  return out;
}

// Sets the buffer of values; the int64 of the fixed lane are kept only where they are shown.
void SetFixed(CqlType kind, ArrayParts* parts) {
  std::vector<int64_t>& fixed = parts->data.fixed;
  switch (kind) {
    case CqlType::kBoolean: parts->packed = PackBits(fixed); break;
    case CqlType::kTinyint: parts->packed = Narrow<int8_t>(fixed); break;
    case CqlType::kSmallint: parts->packed = Narrow<int16_t>(fixed); break;
    case CqlType::kInt:
    case CqlType::kDate: parts->packed = Narrow<int32_t>(fixed); break;
    case CqlType::kFloat: parts->packed = Narrow<uint32_t>(fixed); break;
    default: parts->buffers[1] = fixed.data(); return;
  }
  parts->buffers[1] = parts->packed.data();
  fixed = {};
}

// Sixteen bytes for each cell, null or not.
Status SetUuids(ArrayParts* parts) {
  const ColumnData& data = parts->data;
  for (size_t i = 0; i < data.size(); ++i) {
    if (data.state(i) == CellState::kValue && data.bytes(i).size() != kUuidBytes) {
      return Status::InvalidArgument(Concat({"a uuid is 16 bytes, got ", data.bytes(i).size()}));
    }
  }
  if (parts->validity.empty()) {
    parts->buffers[1] = data.heap.data();
    return Status::Ok();
  }
  parts->packed.assign(data.size() * kUuidBytes, 0);
  for (size_t i = 0; i < data.size(); ++i) {
    if (data.state(i) != CellState::kValue) continue;
    std::memcpy(parts->packed.data() + i * kUuidBytes, data.bytes(i).data(), kUuidBytes);
  }
  parts->data = {};
  parts->buffers[1] = parts->packed.data();
  return Status::Ok();
}

// Values that Arrow has no type for, which is one for all cells.
bool IsShownAsText(CqlType kind) { return IsOpaque(kind) && !IsCollection(kind); }

// Those as literals: varints and decimals as digits.
Status FormatLiterals(const ColumnType& type, const ColumnData& data, size_t offset_max,
                     ColumnData* out) {
  out->lane = Lane::kBytes;
  std::string text;
  for (size_t i = 0; i < data.size(); ++i) {
    if (data.state(i) != CellState::kValue) {
      out->AppendMissing(CellState::kNull);
      continue;
    }
    CISTERN_RETURN_IF_ERROR(CheckWireBytes(type, data.bytes(i)));
    text.clear();
    FormatValueText(type, 0, data.bytes(i), &text);
    // Here, before the offsets of 32 bits of what comes next could wrap.
    if (text.size() > offset_max - out->heap.size()) return TooLarge("bytes of text", offset_max);
    out->AppendBytes(text);
  }
  return Status::Ok();
}

Status AppendElement(const ColumnType& type, std::string_view wire, ColumnData* out) {
  CellValue value;
  CISTERN_RETURN_IF_ERROR(ParseWireValue(type, wire, &value));
  type.lane() == Lane::kFixed ? out->AppendFixed(value.fixed) : out->AppendBytes(value.bytes);
  return Status::Ok();
}

// The elements of all cells, one behind another, as one column for each argument of the type.
Status SplitCells(const ColumnType& type, const ColumnData& data, size_t offset_max,
                  std::vector<int32_t>* offsets, std::vector<ColumnData>* columns) {
  const size_t width = type.arguments.size();
  columns->resize(width);
  for (size_t k = 0; k < width; ++k) (*columns)[k].lane = type.arguments[k].lane();
  offsets->assign(1, 0);
  std::vector<std::string_view> elements;
  for (size_t i = 0; i < data.size(); ++i) {
    elements.clear();
    if (data.state(i) == CellState::kValue) {
      CISTERN_RETURN_IF_ERROR(SplitCollection(type, data.bytes(i), &elements));
    }
    const size_t count = columns->front().size() + elements.size() / width;
    if (count > offset_max) return TooLarge("elements of collections", offset_max);
    for (size_t e = 0; e < elements.size(); ++e) {
      const size_t k = e % width;
      CISTERN_RETURN_IF_ERROR(AppendElement(type.arguments[k], elements[e], &(*columns)[k]));
    }
    offsets->push_back(static_cast<int32_t>(count));
  }
  return Status::Ok();
}

Status ExportCollections(const ColumnType& type, const ColumnData& data, size_t offset_max,
                         ArrowArray* array) {
  auto parts = std::make_unique<ArrayParts>(1);
  std::vector<ColumnData> columns;
  CISTERN_RETURN_IF_ERROR(SplitCells(type, data, offset_max, &parts->offsets, &columns));
  ArrowArray* const child = parts->children[0];
  if (type.kind == CqlType::kMap) {
    MakeStructArray(columns.size(), columns[0].size(), child);
  }
  for (size_t k = 0; k < columns.size(); ++k) {
    ArrowArray* const into = type.kind == CqlType::kMap ? child->children[k] : child;
    CISTERN_RETURN_IF_ERROR(
        ExportColumn(type.arguments[k], std::move(columns[k]), offset_max, into));
  }
  const int64_t null_count = SetValidity(data.states, parts.get());
  parts->buffers[1] = parts->offsets.data();
  Fill(std::move(parts), data.size(), null_count, 2, array);
  return Status::Ok();
}

}  // namespace

void MakeStructArray(size_t count, size_t length, ArrowArray* array) {
  Fill(std::make_unique<ArrayParts>(count), length, 0, 1, array);
}

Status ExportColumn(const ColumnType& type, ColumnData data, size_t offset_max,
                    ArrowArray* array) {
  if (IsCollection(type.kind)) return ExportCollections(type, data, offset_max, array);
  auto parts = std::make_unique<ArrayParts>(0);
  if (IsShownAsText(type.kind)) {
    CISTERN_RETURN_IF_ERROR(FormatLiterals(type, data, offset_max, &parts->data));
  } else {
    parts->data = std::move(data);
  }
  ColumnData& kept = parts->data;
  const size_t length = kept.size();
  const int64_t null_count = SetValidity(kept.states, parts.get());
  if (type.lane() == Lane::kFixed) {
    SetFixed(type.kind, parts.get());
    Fill(std::move(parts), length, null_count, 2, array);
    return Status::Ok();
  }
  if (type.kind == CqlType::kUuid || type.kind == CqlType::kTimeuuid) {
    CISTERN_RETURN_IF_ERROR(SetUuids(parts.get()));
    Fill(std::move(parts), length, null_count, 2, array);
    return Status::Ok();
  }
  if (kept.offsets.empty()) kept.offsets.push_back(0);
  if (kept.offsets.back() > offset_max) return TooLarge("bytes of values", offset_max);
  parts->buffers[1] = kept.offsets.data();  // up to 2^31 - 1 the same as int32
  parts->buffers[2] = kept.heap.data();
  Fill(std::move(parts), length, null_count, 3, array);
  return Status::Ok();
}

}  // namespace cistern
