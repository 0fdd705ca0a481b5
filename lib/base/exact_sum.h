// ExactSum: sums of numbers that no order of adding can change.
//
// The sum is kept as an integer multiple of 2^-1074, the least double, in limbs that carry
// seldom: the superaccumulator of U. Kulisch, "Computer Arithmetic and Validity" (2008), with
// the lazy carries of R. M. Neal, "Fast Exact Summation Using Small and Large
// Superaccumulators" (2015). Integer operations alone: the same on every machine.
#ifndef CISTERN_BASE_EXACT_SUM_H_
#define CISTERN_BASE_EXACT_SUM_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cistern {

// A sum that fits few bytes: (high x 2^64 + low) x 2^exponent, two's complement; the integer is
// odd, or all is zero. `special`, if any, stands instead of it: bits kSumNan, kSumPlus, kSumMinus.
struct CompactSum {
  int64_t high = 0;
  uint64_t low = 0;
  int32_t exponent = 0;  // kSumExponentMin..kSumExponentMax
  uint8_t special = 0;
  friend bool operator==(const CompactSum&, const CompactSum&) = default;
};
// As ExactSum::Round of the same sum.
[[nodiscard]] double Round(const CompactSum& sum);
inline constexpr int32_t kSumExponentMin = -1074;
inline constexpr int32_t kSumExponentMax = 1024;
inline constexpr uint8_t kSumNan = 1;    // a NaN was added
inline constexpr uint8_t kSumPlus = 2;   // infinity was
inline constexpr uint8_t kSumMinus = 4;  // minus infinity was
inline constexpr uint8_t kSumSpecialKnown = 7;

// Up to 2^63 numbers. One thread at a time.
class ExactSum {
 public:
  void Clear();
  void AddIntegers(std::span<const int64_t> values);
  // Bits of doubles, and of floats zero-extended.
  void AddDoubles(std::span<const int64_t> bits);
  void AddFloats(std::span<const int64_t> bits);
  // As AddDoubles, of which all have one sign and magnitudes, the bits without the sign, of
  // least..greatest: who has looked for the bounds already saves looking again.
  void AddDoublesOfOneSign(std::span<const int64_t> bits, uint64_t least, uint64_t greatest);
  void Add(const CompactSum& sum);

  // The sum rounded once, to the nearest double, ties to even; 0.0 for zero, of whatever signs.
  // Beyond the largest double it is infinite. NaN if a NaN was added, or both infinities.
  [[nodiscard]] double Round() const;
  // The sum, if it is an integer of 64 bits.
  [[nodiscard]] std::optional<int64_t> ToInteger() const;
  // Nothing if it does not fit.
  [[nodiscard]] std::optional<CompactSum> Compact() const;

 private:
  static constexpr int kBias = 1088;  // limb i weighs 2^(32 i - kBias)
  static constexpr int kLimbs = 72;   // 2^1088 and a sign above it
  struct Magnitude;

  void AddOne(double value);
  void AddMixed(std::span<const int64_t> block);
  void AddScaled(int64_t value, int exponent);
  void Carry();
  [[nodiscard]] Magnitude Normalise() const;

  std::array<int64_t, kLimbs> limbs_{};  // zero outside of first_..last_
  int first_ = kLimbs;
  int last_ = -1;
  uint32_t added_ = 0;  // since the last carry
  uint8_t special_ = 0;
};

}  // namespace cistern

#endif  // CISTERN_BASE_EXACT_SUM_H_
