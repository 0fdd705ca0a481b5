#include "lib/codec/integer_codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "lib/codec/bit_pack.h"
#include "lib/codec/integer_stream.h"

namespace cistern {
namespace {

using integer_stream::kHasDivisor;
using integer_stream::kHasPatches;
using integer_stream::kRuns;
using integer_stream::kWidthApart;
using integer_stream::kWidthShift;

// Narrower residuals cannot gain more by patches than patches cost, if not nearly all are equal.
constexpr unsigned kPatchWidthMin = 4;
// Residuals that are not as nearly all of them are: one in so many at most.
constexpr size_t kRareAmong = 8;

uint64_t U(int64_t v) { return static_cast<uint64_t>(v); }
int64_t S(uint64_t v) { return static_cast<int64_t>(v); }
unsigned BitWidth(uint64_t v) { return static_cast<unsigned>(std::bit_width(v)); }
size_t SignedBytes(int64_t v) { return VarintBytes(ZigZag(v)); }

template <int kOrder>
int64_t Residual(std::span<const int64_t> v, size_t i) {
  if constexpr (kOrder == 0) return v[i];
  if constexpr (kOrder == 1) return S(U(v[i + 1]) - U(v[i]));
  return S(U(v[i + 2]) - 2 * U(v[i + 1]) + U(v[i]));
}

struct Range {
  int64_t min = std::numeric_limits<int64_t>::max();
  int64_t max = std::numeric_limits<int64_t>::min();
  void Add(int64_t v) {
    min = std::min(min, v);
    max = std::max(max, v);
  }
  [[nodiscard]] uint64_t width() const { return U(max) - U(min); }
};

// Range of the residuals of every order, and the number of runs, in one pass.
struct Survey {
  std::array<Range, 3> ranges;
  size_t run_count = 1;
};

Survey SurveyRun(std::span<const int64_t> v) {
  Survey s;
  s.ranges[0].Add(v[0]);
  int64_t previous_step = 0;
  for (size_t i = 1; i < v.size(); ++i) {
    const int64_t step = S(U(v[i]) - U(v[i - 1]));
    s.ranges[0].Add(v[i]);
    s.ranges[1].Add(step);
    if (i > 1) s.ranges[2].Add(S(U(step) - U(previous_step)));
    if (step != 0) ++s.run_count;
    previous_step = step;
  }
  return s;
}

template <int kOrder>
Range RangeOf(std::span<const int64_t> v) {
  Range range;
  for (size_t i = 0; i + kOrder < v.size(); ++i) range.Add(Residual<kOrder>(v, i));
  return range;
}

// Bytes of the descriptor and of the leading values of an order.
template <int kOrder>
size_t LeadBytes(std::span<const int64_t> v) {
  size_t bytes = 1;
  if (kOrder >= 1) bytes += SignedBytes(v[0]);
  if (kOrder == 2) bytes += SignedBytes(Residual<1>(v, 0));
  return bytes;
}

// Greatest common divisor of the residuals' distances from the base that are at most
// `range`; 0 if all are zero.
template <int kOrder>
uint64_t CommonDivisor(std::span<const int64_t> v, int64_t base, uint64_t range) {
  uint64_t divisor = 0;
  for (size_t i = 0; i + kOrder < v.size(); ++i) {
    const uint64_t distance = U(Residual<kOrder>(v, i)) - U(base);
    if (distance > range || distance == 0) continue;
    if (divisor != 0 && distance % divisor == 0) continue;
    divisor = std::gcd(divisor, distance);
    if (divisor == 1) break;
  }
  return divisor;
}

IntegerPlan PlanFlat(std::span<const int64_t> v);

// Fills divisor, width and byte_count of a plan whose order, base, range and patches
// are known.
template <int kOrder>
void Finish(std::span<const int64_t> v, IntegerPlan* plan) {
  const uint64_t divisor = plan->range == 0 ? 0 : CommonDivisor<kOrder>(v, plan->base, plan->range);
  plan->divisor = divisor > 1 ? divisor : 1;
  plan->width = static_cast<uint8_t>(BitWidth(plan->range / plan->divisor));
  if (plan->width == 0) plan->divisor = 1;
  if (plan->width == 64) plan->base = 0;  // any base will do: the shortest
  plan->byte_count = LeadBytes<kOrder>(v) + SignedBytes(plan->base) +
                     (plan->divisor > 1 ? VarintBytes(plan->divisor) : 0);
  if (plan->width >= kWidthApart) ++plan->byte_count;
  if (plan->width > 0) plan->byte_count += PackedBytes(v.size() - kOrder, plan->width);
  if (!plan->side_a.empty()) {
    plan->byte_count += VarintBytes(plan->side_a.size());
    plan->byte_count += PlanFlat(plan->side_a).byte_count;
    plan->byte_count += PlanFlat(plan->side_b).byte_count;
  }
}

template <int kOrder>
IntegerPlan PlanWhole(std::span<const int64_t> v, const Range& range) {
  IntegerPlan plan;
  plan.order = kOrder;
  plan.base = range.min;
  plan.range = range.width();
  Finish<kOrder>(v, &plan);
  return plan;
}

// Where most residuals lie, by a small sample: the base for a patched plan. False if
// the sample shows that patches cannot pay.
template <int kOrder>
bool RobustBase(std::span<const int64_t> v, const Range& range, int64_t* base) {
  const size_t count = v.size() - kOrder;
  if (count < 16 || BitWidth(range.width()) < kPatchWidthMin) return false;
  std::array<int64_t, 32> sample;
  const size_t sample_count = count < 512 ? sample.size() / 2 : sample.size();
  for (size_t i = 0; i < sample_count; ++i) {
    sample[i] = Residual<kOrder>(v, i * count / sample_count);
  }
  std::sort(sample.begin(), sample.begin() + sample_count);
  const size_t cut = sample_count / 16 + 1;
  const int64_t low = sample[cut];
  const uint64_t spread = U(sample[sample_count - 1 - cut]) - U(low);
  if (BitWidth(spread) + 2 > BitWidth(range.width())) return false;
  // The lowest residual not much below the bulk.
  const uint64_t reach = spread + 1;
  int64_t lowest = low;
  for (size_t i = 0; i < count; ++i) {
    const int64_t r = Residual<kOrder>(v, i);
    if (r < lowest && U(low) - U(r) <= reach) lowest = r;
  }
  *base = lowest;
  return true;
}

// The packed width that gives the smallest estimate, patches counted; the full width if
// none is smaller.
unsigned BestPatchedWidth(const std::array<uint32_t, 65>& by_width, size_t count,
                          unsigned patch_bits) {
  size_t patches = 0;
  size_t best_cost = ~size_t{0};
  unsigned best_width = 64;
  for (unsigned width = 64;; --width) {
    const size_t cost = count * width + patches * patch_bits;
    if (cost < best_cost) {
      best_cost = cost;
      best_width = width;
    }
    patches += by_width[width];
    if (width == 0 || patches > count / 4) break;
  }
  return best_width;
}

template <int kOrder>
bool PlanPatched(std::span<const int64_t> v, const Range& range, IntegerPlan* plan) {
  int64_t base;
  if (!RobustBase<kOrder>(v, range, &base)) return false;
  const size_t count = v.size() - kOrder;
  // Most widths are alike: in four tables no count waits for the one before.
  std::array<std::array<uint32_t, 65>, 4> tables{};
  for (size_t i = 0; i < count; ++i) {
    ++tables[i % 4][BitWidth(U(Residual<kOrder>(v, i)) - U(base))];
  }
  std::array<uint32_t, 65> by_width;
  for (size_t w = 0; w < by_width.size(); ++w) {
    by_width[w] = tables[0][w] + tables[1][w] + tables[2][w] + tables[3][w];
  }
  const unsigned patch_bits = BitWidth(count) + BitWidth(range.width());
  const unsigned width = BestPatchedWidth(by_width, count, patch_bits);
  if (width == 64) return false;
  const uint64_t bound = (uint64_t{1} << width) - 1;
  plan->order = kOrder;
  plan->base = base;
  for (size_t i = 0; i < count; ++i) {
    const int64_t r = Residual<kOrder>(v, i);
    const uint64_t distance = U(r) - U(base);
    if (distance <= bound) {
      plan->range = std::max(plan->range, distance);
    } else {
      plan->side_a.push_back(S(i));
      plan->side_b.push_back(r);
    }
  }
  if (plan->side_a.empty()) return false;
  Finish<kOrder>(v, plan);
  return true;
}

// Nearly all residuals are equal, as states and the steps of a clock are: the others are patches
// of a base without a width. A small sample tells which value that is. There may be no others.
template <int kOrder>
bool PlanRare(std::span<const int64_t> v, IntegerPlan* plan) {
  constexpr size_t kSampleCount = 15;
  const size_t count = v.size() - kOrder;
  if (count < kSampleCount) return false;
  std::array<int64_t, kSampleCount> sample;
  for (size_t i = 0; i < kSampleCount; ++i) {
    sample[i] = Residual<kOrder>(v, i * count / kSampleCount);
  }
  std::nth_element(sample.begin(), sample.begin() + kSampleCount / 2, sample.end());
  const int64_t base = sample[kSampleCount / 2];
  const auto equal = static_cast<size_t>(std::count(sample.begin(), sample.end(), base));
  if (equal < kSampleCount - kSampleCount / 4) return false;
  plan->rare = true;
  plan->order = kOrder;
  plan->base = base;
  for (size_t i = 0; i < count; ++i) {
    const int64_t r = Residual<kOrder>(v, i);
    if (r == base) continue;
    if (plan->side_a.size() >= count / kRareAmong) return false;
    plan->side_a.push_back(S(i));
    plan->side_b.push_back(r);
  }
  Finish<kOrder>(v, plan);
  return true;
}

void PlanRuns(std::span<const int64_t> v, IntegerPlan* plan) {
  plan->runs = true;
  plan->side_a.reserve(v.size() / 8 + 2);
  plan->side_b.reserve(v.size() / 8 + 2);
  for (size_t i = 0; i < v.size(); ++i) {
    if (i > 0 && v[i] == v[i - 1]) {
      ++plan->side_a.back();
    } else {
      plan->side_a.push_back(1);
      plan->side_b.push_back(v[i]);
    }
  }
  plan->byte_count = 1 + VarintBytes(plan->side_a.size()) + PlanFlat(plan->side_a).byte_count +
                     PlanFlat(plan->side_b).byte_count;
}

// The best plan that needs no other streams: the only kind inside another stream, too.
IntegerPlan PlanFlat(std::span<const int64_t> v, const Survey& survey) {
  IntegerPlan best = PlanWhole<0>(v, survey.ranges[0]);
  if (v.size() >= 2) {
    IntegerPlan plan = PlanWhole<1>(v, survey.ranges[1]);
    if (plan.byte_count < best.byte_count) best = std::move(plan);
  }
  if (v.size() >= 3 && survey.ranges[2].width() < survey.ranges[1].width()) {
    IntegerPlan plan = PlanWhole<2>(v, survey.ranges[2]);
    if (plan.byte_count < best.byte_count) best = std::move(plan);
  }
  return best;
}

IntegerPlan PlanFlat(std::span<const int64_t> v) { return PlanFlat(v, SurveyRun(v)); }

void EncodeFlat(std::span<const int64_t> values, const IntegerPlan& plan, std::string* out);

// The two streams of patches or runs: flat, so that decoding never nests deeper.
void WriteSides(const IntegerPlan& plan, std::string* out) {
  PutVarint(out, plan.side_a.size());
  EncodeFlat(plan.side_a, PlanFlat(plan.side_a), out);
  EncodeFlat(plan.side_b, PlanFlat(plan.side_b), out);
}

template <int kOrder>
void WriteFlat(std::span<const int64_t> v, const IntegerPlan& plan, std::string* out) {
  const bool patched = !plan.side_a.empty();
  out->push_back(static_cast<char>(kOrder | (plan.divisor > 1 ? kHasDivisor : 0) |
                                   (patched ? kHasPatches : 0) |
                                   std::min<unsigned>(plan.width, kWidthApart) << kWidthShift));
  if (kOrder >= 1) PutSigned(out, v[0]);
  if (kOrder == 2) PutSigned(out, Residual<1>(v, 0));
  PutSigned(out, plan.base);
  if (plan.divisor > 1) PutVarint(out, plan.divisor);
  if (plan.width > 0) {
    if (plan.width >= kWidthApart) out->push_back(static_cast<char>(plan.width));
    BitWriter bits(out, v.size() - kOrder, plan.width);
    for (size_t i = 0; i + kOrder < v.size(); ++i) {
      uint64_t distance = U(Residual<kOrder>(v, i)) - U(plan.base);
      if (patched && distance > plan.range) distance = 0;
      bits.Put(plan.divisor > 1 ? distance / plan.divisor : distance);
    }
    bits.Finish();
  }
  if (patched) WriteSides(plan, out);
}

void EncodeFlat(std::span<const int64_t> values, const IntegerPlan& plan, std::string* out) {
  switch (plan.order) {
    case 0: return WriteFlat<0>(values, plan, out);
    case 1: return WriteFlat<1>(values, plan, out);
    default: return WriteFlat<2>(values, plan, out);
  }
}

}  // namespace

IntegerPlan PlanIntegers(std::span<const int64_t> values) {
  const Survey survey = SurveyRun(values);
  IntegerPlan best = PlanFlat(values, survey);
  const auto take = [&best](IntegerPlan plan) {
    if (plan.byte_count < best.byte_count) best = std::move(plan);
  };
  if (best.width == 0) return best;  // nothing left to gain but a few bytes
  IntegerPlan plan;
  if (PlanPatched<0>(values, survey.ranges[0], &plan)) take(std::move(plan));
  plan = IntegerPlan();
  if (values.size() >= 2 && PlanPatched<1>(values, survey.ranges[1], &plan)) take(std::move(plan));
  plan = IntegerPlan();
  if (PlanRare<0>(values, &plan)) take(std::move(plan));
  plan = IntegerPlan();
  if (values.size() >= 2 && PlanRare<1>(values, &plan)) take(std::move(plan));
  if (survey.run_count <= values.size() / 2) {
    plan = IntegerPlan();
    PlanRuns(values, &plan);
    take(std::move(plan));
  }
  return best;
}

IntegerForm IntegerPlan::form() const {
  if (runs) return IntegerForm::kRuns;
  // Whose residuals are all equal now has a few others sooner than it has other bits.
  const bool is_constant = width == 0 && side_a.empty() && order < 2;
  if (rare || is_constant) return order == 0 ? IntegerForm::kRare0 : IntegerForm::kRare1;
  if (!side_a.empty()) return order == 0 ? IntegerForm::kPatched0 : IntegerForm::kPatched1;
  return order == 0   ? IntegerForm::kOrder0
         : order == 1 ? IntegerForm::kOrder1
                      : IntegerForm::kOrder2;
}

namespace {

template <int kOrder>
IntegerPlan PlanOrder(std::span<const int64_t> v, IntegerForm form) {
  IntegerPlan plan;
  const bool is_rare = form == IntegerForm::kRare0 || form == IntegerForm::kRare1;
  if (is_rare && PlanRare<kOrder>(v, &plan)) return plan;
  const Range range = RangeOf<kOrder>(v);
  const bool is_patched = form == IntegerForm::kPatched0 || form == IntegerForm::kPatched1;
  plan = IntegerPlan();
  if (is_patched && PlanPatched<kOrder>(v, range, &plan)) return plan;
  return PlanWhole<kOrder>(v, range);
}

}  // namespace

IntegerPlan PlanIntegers(std::span<const int64_t> values, IntegerForm form) {
  if (form == IntegerForm::kAny) return PlanIntegers(values);
  IntegerPlan plan;
  if (form == IntegerForm::kRuns) {
    PlanRuns(values, &plan);
    return plan;
  }
  if (form == IntegerForm::kOrder2 && values.size() >= 3) {
    return PlanWhole<2>(values, RangeOf<2>(values));
  }
  const bool of_steps = form == IntegerForm::kOrder1 || form == IntegerForm::kPatched1 ||
                        form == IntegerForm::kRare1;
  return of_steps && values.size() >= 2 ? PlanOrder<1>(values, form) : PlanOrder<0>(values, form);
}

void EncodeIntegers(std::span<const int64_t> values, const IntegerPlan& plan, std::string* out) {
  if (plan.runs) {
    out->push_back(static_cast<char>(kRuns));
    return WriteSides(plan, out);
  }
  EncodeFlat(values, plan, out);
}

void EncodeIntegers(std::span<const int64_t> values, std::string* out) {
  EncodeIntegers(values, PlanIntegers(values), out);
}

bool IntegerCodec::Analyze(const FixedRun& run, const ColumnMemory& memory) {
  values_ = run.values;
  plan_ = PlanIntegers(values_, memory.integers);
  return true;
}

void IntegerCodec::Remember(ColumnMemory* memory) const { memory->integers = plan_.form(); }

}  // namespace cistern
