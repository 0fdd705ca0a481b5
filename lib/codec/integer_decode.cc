// Reads integer streams. Trusts nothing: checks each field before it is used.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "lib/base/scratch_array.h"
#include "lib/codec/bit_pack.h"
#include "lib/codec/integer_codec.h"
#include "lib/codec/integer_stream.h"

namespace cistern {
namespace {

using integer_stream::kHasDivisor;
using integer_stream::kHasPatches;
using integer_stream::kOrderMask;
using integer_stream::kRuns;
using integer_stream::kWidthApart;
using integer_stream::kWidthShift;

// Runs and patches of a stream are few.
using Side = ScratchArray<int64_t, 64>;

uint64_t U(int64_t v) { return static_cast<uint64_t>(v); }
int64_t S(uint64_t v) { return static_cast<int64_t>(v); }

void DecodeStream(ByteReader* in, const WantedValues& wanted, std::span<int64_t> out, bool nested);
void DecodeStream(ByteReader* in, std::span<int64_t> out, bool nested) {
  DecodeStream(in, WantedValues::All(out.size()), out, nested);
}

// What a descriptor says of its stream. Fails, and is all zero then, if a stream of `count` values
// cannot have it.
struct StreamShape {
  uint8_t order = 0;  // kRuns: runs
  bool has_divisor = false;
  bool has_patches = false;
  unsigned width = 0;  // as the descriptor has it
};
StreamShape ReadShape(ByteReader* in, size_t count, bool nested) {
  const uint8_t descriptor = in->ReadU8("descriptor");
  StreamShape shape;
  shape.order = descriptor & kOrderMask;
  shape.has_divisor = (descriptor & kHasDivisor) != 0;
  shape.has_patches = (descriptor & kHasPatches) != 0;
  shape.width = descriptor >> kWidthShift;
  const bool is_runs = shape.order == kRuns;
  if (nested && (is_runs || shape.has_patches)) {
    in->Fail("descriptor", "nests too deep");
  } else if (is_runs && descriptor != kRuns) {
    in->Fail("descriptor", "mixes runs with other bits");
  } else if (shape.has_divisor && shape.width == 0) {
    in->Fail("descriptor", "has a divisor without a width");
  } else if (!is_runs && count <= shape.order) {
    in->Fail("descriptor", "has an order beyond the rows");
  }
  return in->ok() ? shape : StreamShape();
}

size_t ReadRunCount(ByteReader* in, size_t count) {
  const size_t run_count = in->ReadCount("run count", count);
  if (in->ok() && run_count == 0) in->Fail("run count", "is zero");
  return run_count;
}

size_t ReadPatchCount(ByteReader* in, size_t count) {
  const size_t patch_count = in->ReadCount("patch count", count);
  if (in->ok() && patch_count == 0) in->Fail("patch count", "is zero");
  return patch_count;
}

void ReadRuns(ByteReader* in, size_t count, std::span<int64_t> out) {
  const size_t run_count = ReadRunCount(in, count);
  if (!in->ok()) return;
  Side of_lengths(run_count);
  Side of_values(run_count);
  const std::span<int64_t> lengths = of_lengths.all();
  const std::span<int64_t> values = of_values.all();
  DecodeStream(in, lengths, /*nested=*/true);
  DecodeStream(in, values, /*nested=*/true);
  if (!in->ok()) return;
  size_t position = 0;
  for (size_t i = 0; i < run_count; ++i) {
    if (lengths[i] < 1 || U(lengths[i]) > count - position) {
      return in->Fail("run length", "does not fit the rows");
    }
    const size_t begin = std::min(position, out.size());
    position += U(lengths[i]);
    std::fill(out.begin() + begin, out.begin() + std::min(position, out.size()), values[i]);
  }
  if (position != count) in->Fail("run length", "leaves rows without a value");
}

// Of `count` residuals, into the first ones.
void ReadPatches(ByteReader* in, size_t count, std::span<int64_t> residuals) {
  const size_t patch_count = ReadPatchCount(in, count);
  if (!in->ok()) return;
  Side of_positions(patch_count);
  Side of_values(patch_count);
  const std::span<int64_t> positions = of_positions.all();
  const std::span<int64_t> values = of_values.all();
  DecodeStream(in, positions, /*nested=*/true);
  DecodeStream(in, values, /*nested=*/true);
  if (!in->ok()) return;
  int64_t previous = -1;
  for (size_t i = 0; i < patch_count; ++i) {
    if (positions[i] <= previous || U(positions[i]) >= count) {
      return in->Fail("patch position", "is out of order or out of range");
    }
    if (U(positions[i]) < residuals.size()) residuals[U(positions[i])] = values[i];
    previous = positions[i];
  }
}

// 0: all residuals are the base.
unsigned ReadWidth(ByteReader* in, const StreamShape& shape) {
  if (shape.width < kWidthApart) return shape.width;
  const unsigned apart = in->ReadU8("width");
  if (in->ok() && (apart < kWidthApart || apart > 64)) in->Fail("width", "is not 15..64");
  return apart;
}

uint64_t ReadDivisor(ByteReader* in, const StreamShape& shape) {
  if (!shape.has_divisor) return 1;
  const uint64_t divisor = in->ReadVarint("divisor");
  if (in->ok() && divisor < 2) in->Fail("divisor", "is below 2");
  return divisor;
}

// Residuals as they are in the stream: base + divisor x what is packed; without a width the base.
struct PackedRun {
  uint64_t base = 0;
  uint64_t divisor = 1;
  unsigned width = 0;
  std::string_view packed;

  // Calls take(i, residual) for each of begin..count-1 in turn.
  template <typename Take>
  void ForEach(size_t begin, size_t count, const Take& take) const {
    if (width == 0) {
      for (size_t i = begin; i < count; ++i) take(i, base);
    } else if (divisor == 1) {  // nearly always: no multiplication
      ForEachPackedFrom(packed, begin, count, width,
                        [&](size_t i, uint64_t v) { take(i, base + v); });
    } else {
      ForEachPackedFrom(packed, begin, count, width,
                        [&](size_t i, uint64_t v) { take(i, base + divisor * v); });
    }
  }
  // Of the first ones.
  [[nodiscard]] uint64_t Sum(size_t count) const {
    return base * count + (width == 0 ? 0 : divisor * SumPacked(packed, count, width));
  }
};

PackedRun ReadPackedRun(ByteReader* in, const StreamShape& shape, size_t count) {
  PackedRun run;
  run.base = U(in->ReadSigned("base"));
  run.divisor = ReadDivisor(in, shape);
  run.width = ReadWidth(in, shape);
  if (!in->ok() || run.width == 0) return run;
  run.packed = in->ReadBytes("packed", PackedBytes(count, run.width));
  if (in->ok() && !PaddingIsZero(run.packed, count, run.width)) {
    in->Fail("packed", "does not end in zero bits");
  }
  return run;
}

// Values from residuals, as many as `for_each` has behind the first `order` of them. There may be
// fewer values than `order`.
template <typename ForEach>
void AddUp(uint8_t order, uint64_t value, uint64_t step, std::span<int64_t> out,
           const ForEach& for_each) {
  if (order == 0) {
    for_each([&](size_t i, uint64_t r) { out[i] = S(r); });
    return;
  }
  out[0] = S(value);
  if (order == 1) {
    for_each([&](size_t i, uint64_t r) { out[i + 1] = S(value += r); });
    return;
  }
  if (out.size() < 2) return;
  out[1] = S(value += step);
  for_each([&](size_t i, uint64_t r) { out[i + 2] = S(value += step += r); });
}

// Values begin..out.size()-1 of order 0 or 1, without those before them.
void DecodeLast(const PackedRun& run, uint8_t order, uint64_t first, size_t begin,
                std::span<int64_t> out) {
  if (order == 0) {
    return run.ForEach(begin, out.size(), [&](size_t i, uint64_t r) { out[i] = S(r); });
  }
  uint64_t value = first + run.Sum(begin - 1);
  run.ForEach(begin - 1, out.size() - 1, [&](size_t i, uint64_t r) { out[i + 1] = S(value += r); });
}

// In one pass, unless patches have to be put in before residuals are added up.
void DecodeStream(ByteReader* in, const WantedValues& wanted, std::span<int64_t> out,
                  bool nested) {
  const size_t count = wanted.count;
  const StreamShape shape = ReadShape(in, count, nested);
  if (!in->ok()) return;
  if (shape.order == kRuns) return ReadRuns(in, count, out);
  const uint64_t first = shape.order >= 1 ? U(in->ReadSigned("first value")) : 0;
  const uint64_t step = shape.order == 2 ? U(in->ReadSigned("first step")) : 0;
  if (!in->ok()) return;
  const PackedRun run = ReadPackedRun(in, shape, count - shape.order);
  if (!in->ok()) return;
  const std::span<int64_t> residuals = out.subspan(std::min<size_t>(shape.order, out.size()));
  if (!shape.has_patches && shape.order <= 1 && wanted.begin > shape.order) {
    return DecodeLast(run, shape.order, first, wanted.begin, out);
  }
  if (!shape.has_patches) {
    AddUp(shape.order, first, step, out,
          [&](const auto& take) { run.ForEach(0, residuals.size(), take); });
    return;
  }
  run.ForEach(0, residuals.size(), [&](size_t i, uint64_t r) { residuals[i] = S(r); });
  ReadPatches(in, count - shape.order, residuals);
  if (!in->ok()) return;
  AddUp(shape.order, first, step, out, [&](const auto& take) {
    for (size_t i = 0; i < residuals.size(); ++i) take(i, U(residuals[i]));
  });
}

// As DecodeStream, to the end of the stream alone.
void SkipStream(ByteReader* in, size_t count, bool nested) {
  const StreamShape shape = ReadShape(in, count, nested);
  if (!in->ok()) return;
  const bool is_runs = shape.order == kRuns;
  if (!is_runs) {
    if (shape.order >= 1) (void)in->ReadSigned("first value");
    if (shape.order == 2) (void)in->ReadSigned("first step");
    (void)in->ReadSigned("base");
    (void)ReadDivisor(in, shape);
    const unsigned width = ReadWidth(in, shape);
    if (!in->ok()) return;
    if (width > 0) (void)in->ReadBytes("packed", PackedBytes(count - shape.order, width));
    if (!shape.has_patches) return;
  }
  const size_t side_count =
      is_runs ? ReadRunCount(in, count) : ReadPatchCount(in, count - shape.order);
  for (int side = 0; side < 2 && in->ok(); ++side) SkipStream(in, side_count, /*nested=*/true);
}

}  // namespace

void DecodeIntegers(ByteReader* in, std::span<int64_t> out) {
  DecodeStream(in, out, /*nested=*/false);
}

void DecodeIntegers(ByteReader* in, const WantedValues& wanted, std::span<int64_t> out) {
  DecodeStream(in, wanted, out, /*nested=*/false);
}

void SkipIntegers(ByteReader* in, size_t count) { SkipStream(in, count, /*nested=*/false); }

}  // namespace cistern
