#include "lib/codec/text_codec.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "cistern/limits.h"
#include "lib/base/checksum.h"
#include "lib/base/scratch_array.h"
#include "lib/base/short_bytes.h"
#include "lib/codec/integer_codec.h"
#include "lib/codec/zstd_codec.h"

namespace cistern {
namespace {

constexpr size_t kUuidBytes = 16;
constexpr size_t kShortEntryBytes = 16;
constexpr size_t kZstdBytesMin = 64;  // a frame has 9 or more bytes of its own
constexpr size_t kGoodBytes = 64;

// How the bytes of a blob follow its lengths.
constexpr uint8_t kBlobRaw = 0;
constexpr uint8_t kBlobZstd = 1;
constexpr uint8_t kBlobTrained = 2;  // zstd with a trained dictionary

// --- blob: lengths, then all bytes in one piece

// With the dictionary; empty if that is not shorter.
std::string TrainedFrame(const std::string& heap, size_t byte_count_max,
                         const NumberedDictionary& trained) {
  if (trained.dictionary == nullptr || heap.size() > kDictionaryCellBytesMax) return {};
  return trained.dictionary->Compress(heap, byte_count_max - VarintBytes(trained.number));
}

// The bytes of cells behind one another, as short as zstd makes them. True: by the dictionary.
bool EncodeHeap(const std::string& heap, const NumberedDictionary& trained, std::string* out) {
  const size_t byte_count_max = heap.size() - heap.size() / 32;
  uint8_t form = kBlobRaw;
  std::string frame;
  if (heap.size() >= kZstdBytesMin) {
    frame = TrainedFrame(heap, byte_count_max, trained);
    form = frame.empty() ? kBlobZstd : kBlobTrained;
    if (frame.empty()) frame = ZstdCompress(heap, byte_count_max);
  }
  if (frame.empty()) {
    out->push_back(static_cast<char>(kBlobRaw));
    out->append(heap);
    return false;
  }
  out->push_back(static_cast<char>(form));
  if (form == kBlobTrained) PutVarint(out, trained.number);
  PutVarint(out, frame.size());
  out->append(frame);
  return form == kBlobTrained;
}

bool EncodeBlob(std::span<const std::string_view> cells, const NumberedDictionary& trained,
                std::string* out) {
  std::vector<int64_t> lengths;
  lengths.reserve(cells.size());
  std::string heap;
  for (const std::string_view cell : cells) {
    lengths.push_back(static_cast<int64_t>(cell.size()));
    heap.append(cell);
  }
  EncodeIntegers(lengths, out);
  return EncodeHeap(heap, trained, out);
}

std::string_view ReadFrame(ByteReader* in) {
  const size_t frame_size = in->ReadCount("blob frame size", limits::kPageBytesMax);
  return in->ReadBytes("blob frame", frame_size);
}

// What follows in a blob of form kBlobTrained.
void DecodeTrained(size_t heap_bytes, const DictionarySource& dictionaries, ByteReader* in,
                   std::string* heap) {
  const uint64_t number = in->ReadVarint("dictionary");
  const std::string_view frame = ReadFrame(in);
  if (!in->ok()) return;
  const auto dictionary = dictionaries.Find(number);
  if (!dictionary.ok()) return in->Fail(dictionary.status());
  (*dictionary)->Decompress(frame, heap_bytes, "blob frame", in, heap);
}

void DecodeBlob(size_t count, size_t heap_bytes_max, const DictionarySource* dictionaries,
                ByteReader* in, TextRun* out) {
  ScratchArray<int64_t, 64> of_lengths(count);
  const std::span<int64_t> lengths = of_lengths.all();
  DecodeIntegers(in, lengths);
  if (!in->ok()) return;
  uint64_t total = 0;
  out->offsets.resize(count + 1);
  out->offsets[0] = 0;
  for (size_t i = 0; i < count; ++i) {
    if (lengths[i] < 0 || static_cast<uint64_t>(lengths[i]) > limits::kCellBytesMax) {
      return in->Fail("cell length", "is beyond the limit of a cell");
    }
    total += static_cast<uint64_t>(lengths[i]);
    if (total > heap_bytes_max) return in->Fail("cell length", "is beyond the limit of a page");
    out->offsets[i + 1] = static_cast<uint32_t>(total);
  }
  const uint8_t form = in->ReadU8("blob form");
  if (form == kBlobRaw) {
    out->heap = in->ReadBytes("blob bytes", total);
  } else if (form == kBlobZstd) {
    ZstdDecompress(ReadFrame(in), total, "blob frame", in, &out->heap);
  } else if (form == kBlobTrained && dictionaries != nullptr) {
    DecodeTrained(total, *dictionaries, in, &out->heap);
  } else {
    in->Fail("blob form", "is none that may be here");
  }
}

// --- dictionary

// Numbers the distinct cells in order of first appearance. Gives up beyond half as many
// distinct values as cells.
class Dictionary {
 public:
  explicit Dictionary(std::span<const std::string_view> cells) {
    slots_.assign(std::bit_ceil(cells.size() * 2), 0);
    codes_.reserve(cells.size());
    const size_t entries_max = cells.size() / 2 + 1;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0 && EqualBytes(cells[i], cells[i - 1])) {
        codes_.push_back(codes_.back());
        continue;
      }
      codes_.push_back(CodeOf(cells[i]));
      if (entries_.size() > entries_max) return;
    }
    complete_ = true;
  }

  [[nodiscard]] bool complete() const { return complete_; }
  // True: by the trained one.
  bool Encode(const NumberedDictionary& trained, std::string* out) const {
    PutVarint(out, entries_.size());
    const bool has_dictionary = EncodeBlob(entries_, trained, out);
    EncodeIntegers(codes_, out);
    return has_dictionary;
  }

 private:
  int64_t CodeOf(std::string_view cell) {
    const size_t mask = slots_.size() - 1;
    for (size_t slot = Checksum(cell) & mask;; slot = (slot + 1) & mask) {
      if (slots_[slot] == 0) {
        entries_.push_back(cell);
        slots_[slot] = static_cast<uint32_t>(entries_.size());
        return static_cast<int64_t>(entries_.size() - 1);
      }
      if (entries_[slots_[slot] - 1] == cell) return slots_[slot] - 1;
    }
  }
  std::vector<uint32_t> slots_;  // entry + 1, 0: empty
  std::vector<std::string_view> entries_;
  std::vector<int64_t> codes_;
  bool complete_ = false;
};

// Puts the entries that the codes name, of `total` bytes, behind one another. Where all are short
// each is copied with what follows it, which the next one is put over: a store instead of a call.
void CopyEntries(std::span<const int64_t> codes, size_t total, TextRun* entries,
                 std::string* heap) {
  uint32_t longest = 0;
  for (size_t e = 0; e + 1 < entries->offsets.size(); ++e) {
    longest = std::max(longest, entries->offsets[e + 1] - entries->offsets[e]);
  }
  const bool is_short = longest <= kShortEntryBytes;
  if (is_short) entries->heap.append(kShortEntryBytes, '\0');
  heap->resize(total + (is_short ? kShortEntryBytes : 0));
  char* to = heap->data();
  for (const int64_t code : codes) {
    const uint32_t* const at = entries->offsets.data() + code;
    const char* const from = entries->heap.data() + at[0];
    const size_t size = at[1] - at[0];
    if (is_short) {
      std::memcpy(to, from, kShortEntryBytes);
    } else {
      std::memcpy(to, from, size);
    }
    to += size;
  }
  heap->resize(total);
}

void DecodeDictionary(const WantedValues& wanted, size_t heap_bytes_max,
                      const DictionarySource* dictionaries, ByteReader* in, TextRun* out) {
  const size_t entry_count = in->ReadCount("entry count", wanted.count);
  if (in->ok() && entry_count == 0) in->Fail("entry count", "is zero");
  if (!in->ok()) return;
  TextRun entries;
  DecodeBlob(entry_count, heap_bytes_max, dictionaries, in, &entries);
  if (!in->ok()) return;
  ScratchArray<int64_t, 512> read(wanted.end);
  DecodeIntegers(in, wanted, read.all());
  if (!in->ok()) return;
  const std::span<const int64_t> codes = read.all().subspan(wanted.begin);
  const size_t count = codes.size();
  uint64_t total = 0;
  out->offsets.resize(count + 1);
  out->offsets[0] = 0;
  for (size_t i = 0; i < count; ++i) {
    if (codes[i] < 0 || static_cast<uint64_t>(codes[i]) >= entry_count) {
      return in->Fail("code", "names no entry of the dictionary");
    }
    const size_t code = static_cast<size_t>(codes[i]);
    total += entries.offsets[code + 1] - entries.offsets[code];
    if (total > heap_bytes_max) return in->Fail("code", "makes the cells larger than a page");
    out->offsets[i + 1] = static_cast<uint32_t>(total);
  }
  CopyEntries(codes, total, &entries, &out->heap);
}

// --- uuids

// The high half with the fields of a time-based uuid in order of significance: time_hi
// with the version (16 bits), time_mid (16), time_low (32). One to one for every uuid.
uint64_t TimeOrdered(uint64_t high) {
  return high << 48 | (high << 16 & 0xffff'0000'0000) | high >> 32;
}
uint64_t TimeUnordered(uint64_t time) {
  return time << 32 | (time >> 16 & 0xffff'0000) | time >> 48;
}

void EncodeUuids(std::span<const std::string_view> cells, std::string* out) {
  std::vector<int64_t> high;
  std::vector<int64_t> low;
  high.reserve(cells.size());
  low.reserve(cells.size());
  for (const std::string_view cell : cells) {
    high.push_back(static_cast<int64_t>(TimeOrdered(GetBig<uint64_t>(cell.data()))));
    low.push_back(GetBig<int64_t>(cell.data() + 8));
  }
  EncodeIntegers(high, out);
  EncodeIntegers(low, out);
}

void DecodeUuids(const WantedValues& wanted, size_t heap_bytes_max, ByteReader* in, TextRun* out) {
  if (wanted.count * kUuidBytes > heap_bytes_max) {
    return in->Fail("uuids", "are larger than a page");
  }
  std::vector<int64_t> high(wanted.end);
  std::vector<int64_t> low(wanted.end);
  DecodeIntegers(in, wanted, high);
  if (in->ok()) DecodeIntegers(in, wanted, low);
  if (!in->ok()) return;
  const size_t count = wanted.end - wanted.begin;
  out->offsets.resize(count + 1);
  out->heap.reserve(count * kUuidBytes);
  for (size_t i = 0; i < count; ++i) {
    out->offsets[i] = static_cast<uint32_t>(i * kUuidBytes);
    PutBig(&out->heap, TimeUnordered(static_cast<uint64_t>(high[wanted.begin + i])));
    PutBig(&out->heap, low[wanted.begin + i]);
  }
  out->offsets[count] = static_cast<uint32_t>(count * kUuidBytes);
}

}  // namespace

TextEncoding EncodeText(std::span<const std::string_view> cells, const NumberedDictionary& trained,
                        std::string* out) {
  size_t raw_bytes = 0;
  bool uuids = true;
  for (const std::string_view cell : cells) {
    raw_bytes += cell.size();
    uuids = uuids && cell.size() == kUuidBytes;
  }
  std::string best;
  TextEncoding encoding;
  const auto take = [&](TextEncoding other, std::string bytes) {
    if (encoding.id != EncodingId::kNone && bytes.size() >= best.size()) return;
    best = std::move(bytes);
    encoding = other;
  };
  std::string bytes;
  if (const Dictionary dictionary(cells); dictionary.complete()) {
    const bool has_dictionary = dictionary.Encode(trained, &bytes);
    take({EncodingId::kDictionary, has_dictionary}, std::move(bytes));
  }
  if (uuids) {
    bytes.clear();
    EncodeUuids(cells, &bytes);
    take({EncodingId::kUuid, false}, std::move(bytes));
  }
  // What is small already is not worth zstd's time (a context costs 10 us).
  if (encoding.id == EncodingId::kNone || best.size() > std::max(kGoodBytes, raw_bytes / 6)) {
    bytes.clear();
    const bool has_dictionary = EncodeBlob(cells, trained, &bytes);
    take({EncodingId::kText, has_dictionary}, std::move(bytes));
  }
  out->append(best);
  return encoding;
}

namespace {

// Keeps the wanted cells of all.
void KeepWanted(const WantedValues& wanted, TextRun* run) {
  if (wanted.begin == 0 && wanted.end == wanted.count) return;
  const uint32_t first = run->offsets[wanted.begin];
  run->heap = run->heap.substr(first, run->offsets[wanted.end] - first);
  run->offsets.erase(run->offsets.begin() + static_cast<ptrdiff_t>(wanted.end) + 1,
                     run->offsets.end());
  run->offsets.erase(run->offsets.begin(),
                     run->offsets.begin() + static_cast<ptrdiff_t>(wanted.begin));
  for (uint32_t& offset : run->offsets) offset -= first;
}

}  // namespace

void DecodeText(EncodingId encoding, const WantedValues& wanted, size_t heap_bytes_max,
                const DictionarySource* dictionaries, ByteReader* in, TextRun* out) {
  switch (encoding) {
    case EncodingId::kText:
      DecodeBlob(wanted.count, heap_bytes_max, dictionaries, in, out);
      if (in->ok()) KeepWanted(wanted, out);
      return;
    case EncodingId::kDictionary:
      return DecodeDictionary(wanted, heap_bytes_max, dictionaries, in, out);
    case EncodingId::kUuid: return DecodeUuids(wanted, heap_bytes_max, in, out);
    default: in->Fail("encoding", "is not one of the bytes lane");
  }
}

}  // namespace cistern
