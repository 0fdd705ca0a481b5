#include "storage/head_run.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/base/short_bytes.h"

namespace cistern {

namespace {

// Rows of the first chunk, and chunks between doublings: four of either.
constexpr uint32_t kFirstLog = 2;
constexpr uint32_t kGroupLog = 2;
constexpr size_t kChunkBytesMax = 32 * 1024;

uint8_t WidthOf(const ColumnType& type) {
  switch (type.kind) {
    case CqlType::kBoolean:
    case CqlType::kTinyint:
      return 1;
    case CqlType::kSmallint:
      return 2;
    case CqlType::kInt:
    case CqlType::kDate:
    case CqlType::kFloat:
      return 4;
    default:
      return 8;
  }
}

// Stores the low bytes of each column's slot.
template <typename T>
void PutFixed(const std::vector<HeadLayout::Column>& columns, const int64_t* slots, char* row) {
  for (const HeadLayout::Column& c : columns) {
    const T value = static_cast<T>(slots[c.column]);
    std::memcpy(row + c.offset, &value, sizeof(value));
  }
}

template <typename T>
T* NewLane(HeadArena* arena, size_t count) {
  char* memory = arena->AllocateOnce(count * sizeof(T));
  std::memset(memory, 0, count * sizeof(T));
  return reinterpret_cast<T*>(memory);
}

}  // namespace

HeadLayout::HeadLayout(std::shared_ptr<const TableSchema> table_schema)
    : schema(std::move(table_schema)),
      row_bytes(kFlagsOffset + 1),
      cells(schema->columns.size()) {
  const auto add = [this](size_t column) {
    const ColumnType& type = schema->columns[column].type;
    Column c;
    c.column = static_cast<uint32_t>(column);
    c.offset = row_bytes;
    c.is_text = type.lane() == Lane::kBytes;
    c.is_float = type.kind == CqlType::kFloat;
    c.width = c.is_text ? uint8_t{HeadLayout::kTextBytes} : WidthOf(type);
    row_bytes += c.width;
    columns.push_back(c);
    cells.Add(column);
    if (c.is_text) {
      texts.push_back(c);
    } else {
      (c.width == 8 ? wide8 : c.width == 4 ? wide4 : c.width == 2 ? wide2 : wide1).push_back(c);
    }
  };
  for (const size_t column : schema->clustering_columns) add(column);
  clustering_count = columns.size();
  for (const size_t column : schema->regular_columns) add(column);
  const size_t rows = std::max<size_t>(kChunkBytesMax / row_bytes, size_t{1} << kFirstLog);
  chunk_log = static_cast<uint32_t>(std::bit_width(rows)) - 1;
}

int64_t HeadLayout::FixedOf(const Column& c, const char* row) {
  const char* at = row + c.offset;
  switch (c.width) {
    case 1:
      return Load<int8_t>(at);
    case 2:
      return Load<int16_t>(at);
    case 4:
      return c.is_float ? int64_t{Load<uint32_t>(at)} : int64_t{Load<int32_t>(at)};
    default:
      return Load<int64_t>(at);
  }
}

uint32_t HeadRun::ChunkRows(const HeadLayout& layout, uint32_t chunk) {
  const uint32_t group = chunk >> kGroupLog;
  const uint32_t log = group == 0 ? kFirstLog : kFirstLog + group - 1;
  return uint32_t{1} << std::min(log, layout.chunk_log);
}

HeadRun::Ref HeadRun::At(const HeadLayout& layout, uint32_t i) const {
  // Group g > 0 holds the rows [2^(g + 3), 2^(g + 4)), until chunks grow no more.
  const auto row_log = static_cast<uint32_t>(std::bit_width(i | 1)) - 1;
  const uint32_t log = std::clamp(row_log, kFirstLog + kGroupLog, layout.chunk_log + kGroupLog) -
                       kGroupLog;
  const uint32_t first = (log - kFirstLog) << kGroupLog;  // chunk, were all so long
  const uint32_t chunk = first + (i >> log);
  const uint32_t index = i & ((uint32_t{1} << log) - 1);
  const Chunk& c = chunks_[chunk];
  return {c.rows + size_t{index} * layout.row_bytes, &c, index};
}

void HeadRun::GetPieces(const HeadLayout& layout, uint32_t begin, uint32_t end,
                        std::vector<Piece>* out) const {
  while (begin < end) {
    const Ref first = At(layout, begin);
    const uint32_t chunk_rows = ChunkRows(layout, static_cast<uint32_t>(first.chunk - chunks_));
    const uint32_t count = std::min(end - begin, chunk_rows - first.index);
    out->push_back({first, count});
    begin += count;
  }
}

void HeadRun::AddChunk(const HeadLayout& layout, HeadArena* arena) {
  if (chunk_count_ == chunk_room_) {
    const size_t bytes = HeadArena::ClassBytes((size_t{chunk_room_} + 1) * sizeof(Chunk));
    auto* grown = reinterpret_cast<Chunk*>(arena->Allocate(bytes));
    std::copy(chunks_, chunks_ + chunk_count_, grown);
    if (chunks_ != nullptr) {
      arena->Free(reinterpret_cast<char*>(chunks_), chunk_room_ * sizeof(Chunk));
    }
    chunks_ = grown;
    chunk_room_ = static_cast<uint32_t>(bytes / sizeof(Chunk));
  }
  left_ = ChunkRows(layout, chunk_count_);
  next_ = arena->AllocateOnce(size_t{left_} * layout.row_bytes);
  chunks_[chunk_count_++] = Chunk{next_, nullptr, nullptr, nullptr};
}

// What most rows do not have. Rows without it read as 0: lanes begin so.
void HeadRun::PutRare(const HeadLayout& layout, HeadArena* arena, const CellState* states,
                      bool missing, const RowStamp& stamp) {
  Chunk& chunk = chunks_[chunk_count_ - 1];
  const uint32_t capacity = ChunkRows(layout, chunk_count_ - 1);
  const uint32_t index = capacity - left_;
  if (stamp.expiry_s != 0) {
    if (chunk.expiry == nullptr) chunk.expiry = NewLane<uint32_t>(arena, capacity);
    chunk.expiry[index] = stamp.expiry_s;
  }
  if (stamp.boot != 0) {
    if (chunk.boot == nullptr) chunk.boot = NewLane<uint32_t>(arena, capacity);
    chunk.boot[index] = stamp.boot;
  }
  if (!missing) return;
  const size_t width = layout.columns.size();
  if (chunk.states == nullptr) chunk.states = NewLane<uint8_t>(arena, capacity * width);
  for (size_t k = 0; k < width; ++k) {
    chunk.states[index * width + k] = static_cast<uint8_t>(states[layout.columns[k].column]);
  }
}

// A text's eight bytes. A long one that is equal to the previous row's is stored once.
uint64_t HeadRun::TextWord(const HeadLayout::Column& c, HeadArena* arena,
                           std::string_view text) const {
  if (text.size() <= HeadLayout::kWordBytesMax) return HeadLayout::WordOf(text);
  if (last_ != nullptr && EqualBytes(HeadLayout::TextOf(c, last_), text)) {
    return GetLittle<uint64_t>(last_ + c.offset);
  }
  const auto address = reinterpret_cast<uintptr_t>(arena->CopyText(text));
  CISTERN_CHECK(uint64_t{address} >> 56 == 0);
  return address;
}

void HeadRun::Append(const HeadLayout& layout, HeadArena* arena, const RowBatch& batch, size_t row,
                     const RowStamp& stamp) {
  if (left_ == 0) AddChunk(layout, arena);
  const int64_t* slots = batch.slots(row);
  const CellState* states = batch.states(row);
  char* at = next_;
  std::memcpy(at, &stamp.write_us, sizeof(stamp.write_us));
  at[HeadLayout::kFlagsOffset] = static_cast<char>(stamp.flags);
  PutFixed<int64_t>(layout.wide8, slots, at);
  PutFixed<int32_t>(layout.wide4, slots, at);
  PutFixed<int16_t>(layout.wide2, slots, at);
  PutFixed<int8_t>(layout.wide1, slots, at);
  for (const HeadLayout::Column& c : layout.texts) {
    SetLittle<uint64_t>(at + c.offset, TextWord(c, arena, batch.bytes(row, c.column)));
  }
  const bool missing = layout.cells.AnyMissing(states);
  if (missing || (stamp.expiry_s | stamp.boot) != 0) {
    PutRare(layout, arena, states, missing, stamp);
  }
  last_ = at;
  next_ = at + layout.row_bytes;
  --left_;
  ++count_;
}

}  // namespace cistern
