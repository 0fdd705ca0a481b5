// Picks the cheapest codec for each run of the fixed lane, and reads any of them.
#ifndef CISTERN_CODEC_CODEC_SELECT_H_
#define CISTERN_CODEC_CODEC_SELECT_H_

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cistern/column_data.h"
#include "lib/codec/codec.h"
#include "lib/codec/distinct_codec.h"
#include "lib/codec/plain_codecs.h"
#include "lib/codec/zstd_codec.h"
#include "lib/codec/zstd_dictionary.h"

namespace cistern {

// What is remembered per column of one table, from page to page. Empty at first; a page
// written with a used cache may differ from one written with a new one, and reads the
// same. Small (a few dozen bytes a column). One thread at a time.
class CodecCache {
 public:
  // The memory of schema column `column`.
  [[nodiscard]] ColumnMemory* Column(size_t column) {
    if (column >= columns_.size()) columns_.resize(column + 1);
    return &columns_[column];
  }
  // The trained dictionary of a column of text; none at first.
  void SetDictionary(size_t column, NumberedDictionary dictionary) {
    dictionaries_[column] = std::move(dictionary);
  }
  [[nodiscard]] NumberedDictionary Dictionary(size_t column) const {
    const auto found = dictionaries_.find(column);
    return found == dictionaries_.end() ? NumberedDictionary() : found->second;
  }
  // The write timestamps: as they are, or as distances from what the event time predicts.
  struct WriteTimes : ColumnMemory {
    bool from_event = false;
  };
  [[nodiscard]] WriteTimes* write_times() { return &write_times_; }

 private:
  std::vector<ColumnMemory> columns_;
  std::map<size_t, NumberedDictionary> dictionaries_;
  WriteTimes write_times_;
};

// Whether a run of `count` values of byte_width bytes each, which takes byte_count bytes, is about
// as large as the column's pages were at the last search, and no larger than it is raw.
[[nodiscard]] bool IsAsBefore(const ColumnMemory& memory, size_t byte_count, size_t count,
                              size_t byte_width);
// Notes what a search found: `memory` serves the next pages.
void NoteSearch(size_t byte_count, size_t count, ColumnMemory* memory);

// Encodes runs of the fixed lane. Holds scratch space of a few pages' columns; make one
// for a page or more. One thread at a time.
class FixedEncoder {
 public:
  // Appends the run in the encoding with the best score and returns which one it is.
  // Tries what *memory names first, and searches when that went worse than before.
  [[nodiscard]] EncodingId Encode(const FixedRun& run, ColumnMemory* memory, std::string* out);

 private:
  [[nodiscard]] FixedCodec* Remembered(const FixedRun& run, ColumnMemory* memory);
  [[nodiscard]] FixedCodec* Search(const FixedRun& run, ColumnMemory* memory);

  PlainCodecs plain_;
  DistinctCodec distinct_;
  RawZstdCodec raw_zstd_;
};

// Reads values into wanted.end places. Damage is in in->status(), naming the field; so is a wanted
// value that the shape does not allow.
void DecodeFixed(EncodingId encoding, const NumberShape& shape, ByteReader* in,
                 const WantedValues& wanted, std::span<int64_t> out);
// All out.size() values, at least 1.
inline void DecodeFixed(EncodingId encoding, const NumberShape& shape, ByteReader* in,
                        std::span<int64_t> out) {
  DecodeFixed(encoding, shape, in, WantedValues::All(out.size()), out);
}

// Cell states as an integer stream: a bitmap, runs, or positions. `states` is not empty.
void EncodeStates(std::span<const CellState> states, std::string* out);
void DecodeStates(ByteReader* in, std::span<CellState> out);

}  // namespace cistern

#endif  // CISTERN_CODEC_CODEC_SELECT_H_
