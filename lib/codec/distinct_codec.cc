#include "lib/codec/distinct_codec.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace cistern {

// Numbers the distinct values in order of first appearance; false if there are too many.
bool DistinctCodec::Collect(std::span<const int64_t> values) {
  const size_t slot_count = std::bit_ceil(values.size() * 2);
  const auto shift = static_cast<unsigned>(64 - std::bit_width(slot_count - 1));
  const size_t entries_max = values.size() * 7 / 8;
  slots_.assign(slot_count, 0);
  entries_.clear();
  codes_.clear();
  for (const int64_t v : values) {
    size_t slot = static_cast<size_t>((static_cast<uint64_t>(v) * 0x9e3779b97f4a7c15) >> shift);
    while (slots_[slot] != 0 && entries_[slots_[slot] - 1] != v) {
      slot = (slot + 1) & (slot_count - 1);
    }
    if (slots_[slot] == 0) {
      if (entries_.size() == entries_max) return false;
      entries_.push_back(v);
      slots_[slot] = static_cast<uint32_t>(entries_.size());
    }
    codes_.push_back(static_cast<int64_t>(slots_[slot]) - 1);
  }
  return true;
}

// Brings the entries into rising order, so that their steps are small.
void DistinctCodec::SortEntries(NumberKind kind) {
  std::vector<std::pair<int64_t, size_t>> order;
  order.reserve(entries_.size());
  for (const int64_t entry : entries_) order.emplace_back(OrderedBits(kind, entry), order.size());
  std::sort(order.begin(), order.end());
  const std::vector<int64_t> unsorted = entries_;
  std::vector<int64_t> code_of(entries_.size());
  for (size_t i = 0; i < order.size(); ++i) {
    entries_[i] = unsorted[order[i].second];
    code_of[order[i].second] = static_cast<int64_t>(i);
  }
  for (int64_t& code : codes_) code = code_of[static_cast<size_t>(code)];
}

bool DistinctCodec::Analyze(const FixedRun& run, const ColumnMemory& memory) {
  entry_codec_ = plain_.Find(memory.entry_encoding);
  if (entry_codec_ == nullptr || !Collect(run.values)) return false;
  SortEntries(run.shape.kind);
  ColumnMemory of_entries;
  of_entries.encoding = memory.entry_encoding;
  of_entries.exponent = memory.exponent;
  const FixedRun entries{entries_, run.shape};
  if (!entry_codec_->Analyze(entries, of_entries)) {
    entry_codec_ = plain_.OfAny(run.shape.kind);
    if (!entry_codec_->Analyze(entries, ColumnMemory())) return false;
  }
  codes_plan_ = PlanIntegers(codes_, memory.encoding == EncodingId::kDistinct ? memory.integers
                                                                              : IntegerForm::kAny);
  byte_count_ = VarintBytes(entries_.size()) + 1 + entry_codec_->Score() + codes_plan_.byte_count;
  return true;
}

void DistinctCodec::Encode(std::string* out) const {
  PutVarint(out, entries_.size());
  out->push_back(static_cast<char>(entry_codec_->id()));
  entry_codec_->Encode(out);
  EncodeIntegers(codes_, codes_plan_, out);
}

void DistinctCodec::Remember(ColumnMemory* memory) const {
  entry_codec_->Remember(memory);
  memory->entry_encoding = entry_codec_->id();
  memory->integers = codes_plan_.form();
}

void DecodeDistinct(const NumberShape& shape, ByteReader* in, const WantedValues& wanted,
                    std::span<int64_t> out) {
  const size_t entry_count = in->ReadCount("entry count", wanted.count);
  if (in->ok() && entry_count == 0) in->Fail("entry count", "is zero");
  const auto encoding = static_cast<EncodingId>(in->ReadU8("entry encoding"));
  if (!in->ok()) return;
  std::vector<int64_t> entries(entry_count);
  if (!DecodePlain(encoding, shape, in, WantedValues::All(entry_count), entries)) {
    return in->Fail("entry encoding", "is not one of the column's type");
  }
  if (in->ok()) DecodeIntegers(in, wanted, out);
  if (!in->ok()) return;
  for (int64_t& v : out.subspan(wanted.begin)) {
    if (static_cast<uint64_t>(v) >= entry_count) {
      return in->Fail("code", "names none of the distinct values");
    }
    v = entries[static_cast<size_t>(v)];
  }
}

}  // namespace cistern
