#include "engine/cql/lz4_search.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "lib/base/coding.h"

namespace cistern::cql {
namespace {

constexpr size_t kMatchBytesMin = 4;
constexpr size_t kLastLiterals = 5;
// A match begins so far before the end that it can be looked for by words; the format asks for 12.
constexpr size_t kTailBytes = 20;
constexpr size_t kPackBytesMin = 2 * kTailBytes;
constexpr size_t kCodeMax = 15;     // of a token's half; more follows in bytes
constexpr size_t kLengthByte = 255;
constexpr size_t kDistanceBytes = 2;
// What a sequence costs beside its literals: token and distance.
constexpr ptrdiff_t kSequenceBytes = 3;
// Where no row resumes within so many bytes, rows are not alike here.
constexpr size_t kSpanBytes = 12;
// A match of a whole row's constant part tells how long rows are.
constexpr size_t kRowMatchBytesMin = 24;
// Up to this length a match is worth replacing by one that reaches further.
constexpr size_t kShortMatchBytes = 64;
// A match beyond the resumed one counts as far as the value that it may cover.
constexpr ptrdiff_t kBeyondMax = 8;
constexpr size_t kShortCopy = 8;
constexpr uint64_t kHashFactor = 0x9E3779B97F4A7C15;  // 2^64 by the golden ratio: spreads all bits

uint64_t Next8(const char* bytes) { return GetLittle<uint64_t>(bytes); }

// The first byte in which the two words differ; they do.
size_t FirstDifference(uint64_t difference) {
  return static_cast<size_t>(std::countr_zero(difference)) / 8;
}

// What a length takes behind its half of the token.
size_t LengthBytes(size_t length) {
  return length < kCodeMax ? 0 : (length - kCodeMax) / kLengthByte + 1;
}

}  // namespace

size_t Lz4Search::Pack(std::string_view bytes, char* out, size_t room) {
  bytes_ = bytes.data();
  size_ = bytes.size();
  anchor_ = 0;
  pending_ = {};
  row_bytes_ = 0;
  out_ = out;
  out_end_ = out + room;
  fits_ = true;
  if (size_ >= kPackBytesMin) {
    start_end_ = size_ - kTailBytes;
    table_.fill(0);
    FindMatches();
    EmitPending();
  }
  EmitLiterals(size_ - anchor_, 0);
  return fits_ ? static_cast<size_t>(out_ - out) : 0;
}

void Lz4Search::FindMatches() {
  for (size_t at = 1; at < start_end_ && fits_;) {
    const Match resumed = Resumed(at);
    const size_t stop = resumed.to > 0 ? resumed.from : std::min(at + kSpanBytes, start_end_);
    const Find find = Search(at, stop, resumed);
    const Match& next = find.saved > 0 ? find.match : resumed;
    if (next.to == 0) {
      at = stop;
      continue;
    }
    if (resumed.to == 0 && next.to - next.from >= kRowMatchBytesMin) row_bytes_ = next.distance;
    if (!find.replaces_pending) EmitPending();
    pending_ = next;
    at = next.to;
  }
}

// Where the row goes on as the one before it did.
Lz4Search::Match Lz4Search::Resumed(size_t at) const {
  if (row_bytes_ == 0) return {};
  const size_t stop = std::min(at + kSpanBytes, start_end_);
  while (at < stop) {
    const auto difference =
        static_cast<uint32_t>(Next8(bytes_ + at) ^ Next8(bytes_ + at - row_bytes_));
    if (difference == 0) return {at, EqualUntil(at + kMatchBytesMin, row_bytes_), row_bytes_};
    // Behind the last of the four bytes that differs.
    at += kMatchBytesMin - static_cast<size_t>(std::countl_zero(difference)) / 8;
  }
  return {};
}

// The best match that begins between `at` and `stop`, or before. Notes these places in the table.
Lz4Search::Find Lz4Search::Search(size_t at, size_t stop, const Match& resumed) {
  Find best;
  size_t last_distance = 0;
  size_t i = at;
  bool covers = false;  // all that the resumed match does, without a literal
  for (; i < stop && !covers; ++i) {
    const uint64_t next_bytes = Next8(bytes_ + i);
    uint16_t* const slot = Slot(next_bytes);
    const size_t distance = static_cast<uint16_t>(i - *slot);
    *slot = static_cast<uint16_t>(i);
    // The same distance again is the same match.
    if (distance == 0 || distance > i || distance == last_distance) continue;
    const uint64_t difference = next_bytes ^ Next8(bytes_ + i - distance);
    if (static_cast<uint32_t>(difference) != 0) continue;
    last_distance = distance;
    const Find find = Widened(at, i, distance, difference, resumed);
    if (find.saved <= best.saved) continue;
    best = find;
    covers = resumed.to > 0 && best.match.from <= at && best.match.to >= resumed.to;
  }
  for (; i < stop; ++i) *Slot(Next8(bytes_ + i)) = static_cast<uint16_t>(i);
  return best;
}

// The match around place `i`, whose first four bytes are equal.
Lz4Search::Find Lz4Search::Widened(size_t at, size_t i, size_t distance, uint64_t difference,
                                   const Match& resumed) const {
  const size_t to =
      difference != 0 ? i + FirstDifference(difference) : EqualUntil(i + 8, distance);
  const bool may_replace = IsPendingShort(at);
  const size_t from_min = may_replace ? anchor_ : pending_.to;
  size_t from = i;
  while (from > from_min && from > distance && bytes_[from - 1] == bytes_[from - 1 - distance]) {
    --from;
  }
  Find find;
  // Up to two literals more are less than a sequence.
  find.replaces_pending = may_replace && from <= pending_.from + 2;
  const size_t begin = find.replaces_pending ? from : std::max(from, pending_.to);
  find.match = {begin, to, distance};
  const auto saved_by = [](size_t more, size_t less) {
    return static_cast<ptrdiff_t>(more) - static_cast<ptrdiff_t>(less);
  };
  const size_t new_from = std::max(from, pending_.to);
  if (resumed.to == 0) {
    find.saved = saved_by(to, new_from) - kSequenceBytes;
  } else if (to >= resumed.to) {
    find.saved =
        saved_by(resumed.from, new_from) + std::min(saved_by(to, resumed.to), kBeyondMax);
  } else {
    find.saved = saved_by(std::min(to, resumed.from), new_from) - kSequenceBytes;
  }
  if (find.replaces_pending) find.saved += kSequenceBytes + saved_by(pending_.from, from);
  return find;
}

// Behind the last byte from `i` on that is equal to that `distance` before.
size_t Lz4Search::EqualUntil(size_t i, size_t distance) const {
  const size_t end = size_ - kLastLiterals;
  for (; i + 8 <= end; i += 8) {
    const uint64_t difference = Next8(bytes_ + i) ^ Next8(bytes_ + i - distance);
    if (difference != 0) return i + FirstDifference(difference);
  }
  while (i < end && bytes_[i] == bytes_[i - distance]) ++i;
  return i;
}

bool Lz4Search::IsPendingShort(size_t at) const {
  return at == pending_.to && at - pending_.from < kShortMatchBytes;
}

uint16_t* Lz4Search::Slot(uint64_t next_bytes) {
  return &table_[(next_bytes << 8) * kHashFactor >> (64 - kTableBits)];
}

void Lz4Search::EmitPending() {
  if (pending_.to == 0) return;
  const size_t length = pending_.to - pending_.from - kMatchBytesMin;
  EmitLiterals(pending_.from - anchor_, static_cast<uint8_t>(std::min(length, kCodeMax)));
  if (!fits_) return;
  *out_++ = static_cast<char>(pending_.distance);
  *out_++ = static_cast<char>(pending_.distance >> 8);
  if (length >= kCodeMax) EmitLength(length - kCodeMax);
  anchor_ = pending_.to;
}

// The token and `count` literals from the anchor on; afterwards there is room for the rest of the
// sequence, if there is one.
void Lz4Search::EmitLiterals(size_t count, uint8_t match_length_code) {
  const bool is_last = anchor_ + count == size_;
  const size_t match_bytes =
      is_last ? 0 : kDistanceBytes + LengthBytes(pending_.to - pending_.from - kMatchBytesMin);
  const size_t needed = 1 + LengthBytes(count) + count + match_bytes;
  if (static_cast<size_t>(out_end_ - out_) < needed) {
    fits_ = false;
    return;
  }
  *out_++ = static_cast<char>(std::min(count, kCodeMax) << 4 | match_length_code);
  if (count >= kCodeMax) EmitLength(count - kCodeMax);
  if (count == 0) return;
  if (count <= kShortCopy && !is_last && static_cast<size_t>(out_end_ - out_) >= kShortCopy) {
    std::memcpy(out_, bytes_ + anchor_, kShortCopy);  // more than needed, but of fixed size
  } else {
    std::memcpy(out_, bytes_ + anchor_, count);
  }
  out_ += count;
}

void Lz4Search::EmitLength(size_t rest) {
  for (; rest >= kLengthByte; rest -= kLengthByte) *out_++ = static_cast<char>(kLengthByte);
  *out_++ = static_cast<char>(rest);
}

}  // namespace cistern::cql
