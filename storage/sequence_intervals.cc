#include "storage/sequence_intervals.h"

#include <algorithm>

#include "lib/base/check.h"

namespace cistern {

namespace {

constexpr uint64_t kSequencesMax = 1 << 20;  // rotations of one family

}  // namespace

bool HasSequence(const SequenceIntervals& intervals, uint64_t sequence) {
  const auto behind = std::upper_bound(
      intervals.begin(), intervals.end(), sequence,
      [](uint64_t value, const SequenceInterval& i) { return value < i.first; });
  return behind != intervals.begin() && sequence - (behind - 1)->first < (behind - 1)->length;
}

void AddSequence(uint64_t sequence, SequenceIntervals* intervals) {
  CISTERN_CHECK(!HasSequence(*intervals, sequence));
  auto at = std::find_if(intervals->begin(), intervals->end(),
                         [&](const SequenceInterval& i) { return i.first > sequence; });
  at = intervals->insert(at, {sequence, 1});
  if (const auto next = at + 1; next != intervals->end() && next->first == sequence + 1) {
    at->length += next->length;
    intervals->erase(next);
  }
  if (at != intervals->begin()) {
    const auto before = at - 1;
    if (before->first + before->length == sequence) {
      before->length += at->length;
      intervals->erase(at);
    }
  }
}

SequenceIntervals IntervalsOf(std::vector<uint64_t> sequences) {
  std::sort(sequences.begin(), sequences.end());
  SequenceIntervals intervals;
  for (const uint64_t sequence : sequences) {
    if (!intervals.empty()) {
      SequenceInterval& last = intervals.back();
      if (sequence - last.first < last.length) continue;
      if (sequence - last.first == last.length) {
        ++last.length;
        continue;
      }
    }
    intervals.push_back({sequence, 1});
  }
  return intervals;
}

uint64_t CountSequences(const SequenceIntervals& intervals) {
  uint64_t count = 0;
  for (const SequenceInterval& i : intervals) count += i.length;
  return count;
}

void PutIntervals(std::string* out, const SequenceIntervals& intervals) {
  PutVarint(out, intervals.size());
  for (const SequenceInterval& i : intervals) {
    PutVarint(out, i.first);
    PutVarint(out, i.length);
  }
}

void ReadIntervals(ByteReader* in, SequenceIntervals* out) {
  const uint64_t count = in->ReadCount("intervals", kSequencesMax);
  uint64_t above = 0;
  uint64_t sequences_left = kSequencesMax;
  for (uint64_t i = 0; i < count && in->ok(); ++i) {
    const uint64_t first = in->ReadVarint("interval first");
    const uint64_t length = in->ReadCount("interval length", sequences_left);
    if ((i > 0 && first <= above) || length == 0 || first + length < first) {
      in->Fail("interval", "touches the one before or is empty");
      return;
    }
    above = first + length;
    sequences_left -= length;
    out->push_back({first, length});
  }
}

}  // namespace cistern
