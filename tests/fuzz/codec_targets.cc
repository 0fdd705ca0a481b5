#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cistern/limits.h"
#include "lib/base/check.h"
#include "lib/base/coding.h"
#include "lib/codec/codec_select.h"
#include "lib/codec/text_codec.h"
#include "tests/fuzz/decoder_targets.h"
#include "tests/golden/golden_dictionary.h"

namespace cistern {
namespace {

constexpr size_t kHeadBytes = 4;  // encoding, type, count
constexpr uint8_t kEncodingMask = 31;
constexpr size_t kHeapBytesMax = size_t{1} << 20;
constexpr std::array kTypes = {CqlType::kBoolean,  CqlType::kTinyint, CqlType::kSmallint,
                               CqlType::kInt,      CqlType::kBigint,  CqlType::kTimestamp,
                               CqlType::kFloat,    CqlType::kDouble,  CqlType::kText,
                               CqlType::kTimeuuid};
constexpr int kPages = 3;  // the first one searches, the others go by what it left

// --- the fixed lane

void Unpack(EncodingId encoding, const NumberShape& shape, std::string_view bytes,
            const std::vector<int64_t>& values) {
  std::vector<int64_t> back(values.size());
  ByteReader in(bytes, "values");
  DecodeFixed(encoding, shape, &in, back);
  CISTERN_CHECK(in.ok() && in.remaining() == 0);
  CISTERN_CHECK(back == values);
}

void PackFixed(const NumberShape& shape, const std::vector<int64_t>& values) {
  const size_t raw_bytes = values.size() * shape.byte_width;
  FixedEncoder encoder;
  ColumnMemory memory;
  for (int page = 0; page < kPages; ++page) {
    std::string bytes;
    const EncodingId encoding = encoder.Encode({values, shape}, &memory, &bytes);
    CISTERN_CHECK(bytes.size() <= raw_bytes + std::max<size_t>(raw_bytes / 50, 16));
    Unpack(encoding, shape, bytes, values);
  }
}

// The bytes as values of the shape, as many as there are.
std::vector<int64_t> ValuesOf(const NumberShape& shape, std::string_view bytes) {
  std::vector<int64_t> values;
  const size_t count = std::min<size_t>(bytes.size() / shape.byte_width, limits::kPageRowsMax);
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    for (size_t b = shape.byte_width; b-- > 0;) {
      bits = bits << 8 | static_cast<uint8_t>(bytes[i * shape.byte_width + b]);
    }
    auto value = static_cast<int64_t>(bits);
    if (shape.kind == NumberKind::kInteger && shape.byte_width < 8) {
      const int unused = 64 - 8 * shape.byte_width;
      value = static_cast<int64_t>(bits << unused) >> unused;
    }
    if (shape.kind == NumberKind::kInteger) value = std::clamp(value, shape.min, shape.max);
    values.push_back(value);
  }
  return values;
}

void FuzzFixed(EncodingId encoding, CqlType type, size_t count, std::string_view bytes) {
  const NumberShape shape = ShapeOf(type);
  std::vector<int64_t> values(count);
  ByteReader in(bytes, "values");
  DecodeFixed(encoding, shape, &in, values);
  CISTERN_CHECK(in.ok() || in.status().code() == StatusCode::kCorruption);
  if (in.ok()) PackFixed(shape, values);
  values = ValuesOf(shape, bytes);
  if (!values.empty()) PackFixed(shape, values);
}

// --- the bytes lane

void PackText(const std::vector<std::string_view>& cells, const NumberedDictionary& trained) {
  size_t raw_bytes = 0;
  for (const std::string_view cell : cells) raw_bytes += 1 + cell.size();
  std::string bytes;
  const EncodingId encoding = EncodeText(cells, trained, &bytes).id;
  CISTERN_CHECK(bytes.size() <= raw_bytes + std::max<size_t>(raw_bytes / 50, 16));
  TextRun back;
  const testing::GoldenDictionaries dictionaries;
  ByteReader in(bytes, "cells");
  DecodeText(encoding, cells.size(), raw_bytes, &dictionaries, &in, &back);
  CISTERN_CHECK(in.ok() && in.remaining() == 0 && back.offsets.size() == cells.size() + 1);
  for (size_t i = 0; i < cells.size(); ++i) {
    const size_t begin = back.offsets[i];
    CISTERN_CHECK(std::string_view(back.heap).substr(begin, back.offsets[i + 1] - begin) ==
                  cells[i]);
  }
}

void PackText(const std::vector<std::string_view>& cells) {
  PackText(cells, {});
  PackText(cells, testing::GoldenDictionaries().Only());
}

// The bytes as cells: each begins with a byte that says its length.
std::vector<std::string_view> CellsOf(std::string_view bytes) {
  std::vector<std::string_view> cells;
  while (!bytes.empty() && cells.size() < limits::kPageRowsMax) {
    const size_t size = static_cast<uint8_t>(bytes[0]) % 33;  // uuids among them
    cells.push_back(bytes.substr(1, size));
    bytes.remove_prefix(1 + cells.back().size());
  }
  return cells;
}

void FuzzText(EncodingId encoding, size_t count, std::string_view bytes) {
  TextRun run;
  const testing::GoldenDictionaries dictionaries;
  ByteReader in(bytes, "cells");
  DecodeText(encoding, count, kHeapBytesMax, &dictionaries, &in, &run);
  CISTERN_CHECK(in.ok() || in.status().code() == StatusCode::kCorruption);
  if (in.ok()) {
    CISTERN_CHECK(run.offsets.size() == count + 1 && run.heap.size() <= kHeapBytesMax);
    std::vector<std::string_view> cells;
    for (size_t i = 0; i < count; ++i) {
      CISTERN_CHECK(run.offsets[i] <= run.offsets[i + 1]);
      cells.push_back(
          std::string_view(run.heap).substr(run.offsets[i], run.offsets[i + 1] - run.offsets[i]));
    }
    PackText(cells);
  }
  const std::vector<std::string_view> cells = CellsOf(bytes);
  if (!cells.empty()) PackText(cells);
}

}  // namespace

void FuzzCodec(std::string_view input) {
  if (input.size() < kHeadBytes) return;
  const auto encoding = static_cast<EncodingId>(static_cast<uint8_t>(input[0]) & kEncodingMask);
  const CqlType type = kTypes[static_cast<uint8_t>(input[1]) % kTypes.size()];
  const size_t count = 1 + GetLittle<uint16_t>(&input[2]) % limits::kPageRowsMax;
  const std::string_view bytes = input.substr(kHeadBytes);
  if (LaneOf(type) == Lane::kFixed) {
    FuzzFixed(encoding, type, count, bytes);
  } else {
    FuzzText(encoding, count, bytes);
  }
}

}  // namespace cistern
