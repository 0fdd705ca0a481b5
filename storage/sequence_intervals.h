// Sets of sequences, kept as ascending intervals that neither touch nor overlap. Bytes:
// KEYSPACE.md.
#ifndef CISTERN_STORAGE_SEQUENCE_INTERVALS_H_
#define CISTERN_STORAGE_SEQUENCE_INTERVALS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "lib/base/coding.h"

namespace cistern {

// Sequences first .. first + length - 1.
struct SequenceInterval {
  uint64_t first = 0;
  uint64_t length = 0;
  friend bool operator==(const SequenceInterval&, const SequenceInterval&) = default;
};

using SequenceIntervals = std::vector<SequenceInterval>;

[[nodiscard]] bool HasSequence(const SequenceIntervals& intervals, uint64_t sequence);
// Adds a sequence that is not there.
void AddSequence(uint64_t sequence, SequenceIntervals* intervals);
// The set of them, which may come in any order and more than once.
[[nodiscard]] SequenceIntervals IntervalsOf(std::vector<uint64_t> sequences);
[[nodiscard]] uint64_t CountSequences(const SequenceIntervals& intervals);

void PutIntervals(std::string* out, const SequenceIntervals& intervals);
// Fails `in` on what no PutIntervals wrote, and on more than 2^20 sequences.
void ReadIntervals(ByteReader* in, SequenceIntervals* out);

}  // namespace cistern

#endif  // CISTERN_STORAGE_SEQUENCE_INTERVALS_H_
