#include "storage/head_run.h"

#include "lib/row/row_order.h"

namespace cistern {

namespace {

constexpr uint32_t kFirstCapacity = 4;

uint8_t WidthOf(CqlType kind) {
  switch (kind) {
    case CqlType::kBoolean:
    case CqlType::kTinyint: return 1;
    case CqlType::kSmallint: return 2;
    case CqlType::kInt:
    case CqlType::kDate:
    case CqlType::kFloat: return 4;
    default: return 8;
  }
}

}  // namespace

HeadLayout::HeadLayout(std::shared_ptr<const TableSchema> table_schema)
    : schema(std::move(table_schema)) {
  row_bytes = sizeof(int64_t);  // write timestamp
  const auto add = [this](size_t column) {
    const ColumnType& type = schema->columns[column].type;
    Column c;
    c.column = column;
    c.is_text = type.lane() == Lane::kBytes;
    c.is_float = type.kind == CqlType::kFloat;
    c.width = c.is_text ? uint8_t{sizeof(const char*)} : WidthOf(type.kind);
    c.offset = row_bytes;
    row_bytes += c.width;
    columns.push_back(c);
  };
  for (const size_t column : schema->clustering_columns) add(column);
  clustering_count = columns.size();
  for (const size_t column : schema->regular_columns) add(column);
  row_bytes += 1;  // flags
}

int64_t HeadRun::Fixed(const HeadLayout::Column& c, size_t i) const {
  const char* at = At(c, i);
  switch (c.width) {
    case 1: return static_cast<int8_t>(*at);
    case 2: {
      int16_t v;
      std::memcpy(&v, at, sizeof(v));
      return v;
    }
    case 4: {
      int32_t v;
      std::memcpy(&v, at, sizeof(v));
      return c.is_float ? static_cast<int64_t>(static_cast<uint32_t>(v)) : v;
    }
    default: {
      int64_t v;
      std::memcpy(&v, at, sizeof(v));
      return v;
    }
  }
}

std::string_view HeadRun::Text(const HeadLayout::Column& c, size_t i) const {
  const char* text = nullptr;
  std::memcpy(&text, At(c, i), sizeof(text));
  if (text == nullptr) return {};
  uint32_t length = 0;
  std::memcpy(&length, text, sizeof(length));
  return {text + sizeof(length), length};
}

int64_t HeadRun::write_us(size_t i) const {
  int64_t v;
  std::memcpy(&v, block_ + i * sizeof(v), sizeof(v));
  return v;
}

uint8_t HeadRun::flags(const HeadLayout& layout, size_t i) const {
  return static_cast<uint8_t>(block_[(layout.row_bytes - 1) * capacity_ + i]);
}

int64_t HeadRun::EventTimeOf(const HeadLayout& layout, size_t i) const {
  const HeadLayout::Column& c = layout.columns[0];
  return c.is_text ? TimeuuidTicks(Text(c, i)) : Fixed(c, i);
}

template <typename T>
void HeadRun::GrowLane(T** lane, size_t per_row, uint32_t capacity, HeadArena* arena) {
  if (*lane == nullptr) return;
  T* grown = reinterpret_cast<T*>(arena->Allocate(per_row * capacity * sizeof(T)));
  std::memset(grown, 0, per_row * capacity * sizeof(T));
  for (size_t i = 0; i < per_row; ++i) {
    std::memcpy(grown + i * capacity, *lane + i * capacity_, count_ * sizeof(T));
  }
  arena->Free(reinterpret_cast<char*>(*lane), per_row * capacity_ * sizeof(T));
  *lane = grown;
}

template <typename T>
void HeadRun::MakeLane(T** lane, size_t per_row, HeadArena* arena) {
  if (*lane != nullptr) return;
  *lane = reinterpret_cast<T*>(arena->Allocate(per_row * capacity_ * sizeof(T)));
  std::memset(*lane, 0, per_row * capacity_ * sizeof(T));
}

// Doubles every lane; what fits into the size class of the block is used whole.
void HeadRun::Grow(const HeadLayout& layout, HeadArena* arena) {
  const size_t asked = size_t{capacity_ == 0 ? kFirstCapacity : capacity_ * 2} * layout.row_bytes;
  const auto capacity = static_cast<uint32_t>(HeadArena::ClassBytes(asked) / layout.row_bytes);
  char* block = arena->Allocate(asked);
  if (count_ > 0) {
    std::memcpy(block, block_, count_ * sizeof(int64_t));
    for (const HeadLayout::Column& c : layout.columns) {
      std::memcpy(block + c.offset * capacity, At(c, 0), size_t{count_} * c.width);
    }
    const size_t flags = layout.row_bytes - 1;
    std::memcpy(block + flags * capacity, block_ + flags * capacity_, count_);
  }
  GrowLane(&states_, layout.columns.size(), capacity, arena);
  GrowLane(&expiry_, 1, capacity, arena);
  GrowLane(&boot_, 1, capacity, arena);
  if (block_ != nullptr) arena->Free(block_, size_t{capacity_} * layout.row_bytes);
  block_ = block;
  capacity_ = capacity;
}

void HeadRun::PutValue(const HeadLayout::Column& c, HeadArena* arena, int64_t slot,
                       std::string_view text) {
  char* at = At(c, count_);
  if (!c.is_text) {
    std::memcpy(at, &slot, c.width);  // little-endian: the low bytes
    return;
  }
  // A text equal to the previous row's is stored once.
  const char* copy = nullptr;
  if (count_ > 0 && Text(c, count_ - 1) == text)
    std::memcpy(&copy, At(c, count_ - 1), sizeof(copy));
  if (copy == nullptr && !text.empty()) copy = arena->CopyText(text);
  std::memcpy(at, &copy, sizeof(copy));
}

void HeadRun::Append(const HeadLayout& layout, HeadArena* arena, const RowBatch& batch, size_t row,
                     const RowStamp& stamp) {
  if (count_ == capacity_) Grow(layout, arena);
  const CellState* states = batch.states(row);
  const int64_t* slots = batch.slots(row);
  std::memcpy(block_ + count_ * sizeof(int64_t), &stamp.write_us, sizeof(int64_t));
  for (size_t k = 0; k < layout.columns.size(); ++k) {
    const HeadLayout::Column& c = layout.columns[k];
    const CellState state = states[c.column];
    if (state != CellState::kValue) {
      MakeLane(&states_, layout.columns.size(), arena);
      PutValue(c, arena, 0, {});
    } else {
      PutValue(c, arena, slots[c.column],
               c.is_text ? batch.bytes(row, c.column) : std::string_view());
    }
    if (states_ != nullptr) states_[k * capacity_ + count_] = static_cast<uint8_t>(state);
  }
  block_[(layout.row_bytes - 1) * capacity_ + count_] = static_cast<char>(stamp.flags);
  if (stamp.expiry_s != 0) MakeLane(&expiry_, 1, arena);
  if (expiry_ != nullptr) expiry_[count_] = stamp.expiry_s;
  if (stamp.boot != 0) MakeLane(&boot_, 1, arena);
  if (boot_ != nullptr) boot_[count_] = stamp.boot;
  ++count_;
}

void HeadRun::CopyColumn(const HeadLayout& layout, size_t column, std::span<const uint32_t> indices,
                         bool wanted, ColumnData* out) const {
  const HeadLayout::Column& c = layout.columns[column];
  for (const uint32_t i : indices) {
    const CellState s = state(column, i);
    if (!wanted) {
      out->states.push_back(s);
    } else if (s != CellState::kValue) {
      out->AppendMissing(s);
    } else if (c.is_text) {
      out->AppendBytes(Text(c, i));
    } else {
      out->AppendFixed(Fixed(c, i));
    }
  }
}

}  // namespace cistern
