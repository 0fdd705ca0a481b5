// Rng: the random numbers of tests. Equal seeds give equal runs on every machine.
#ifndef CISTERN_TESTS_SUPPORT_RNG_H_
#define CISTERN_TESTS_SUPPORT_RNG_H_

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>

namespace cistern::testing {

// Mixes a number into a well spread one (the finaliser of SplitMix64).
inline uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// SplitMix64. One thread at a time.
class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    const uint64_t value = Mix(state_);
    state_ += 0x9e3779b97f4a7c15ull;
    return value;
  }
  // 0 <= result < bound; bound > 0.
  uint64_t Below(uint64_t bound) { return Next() % bound; }
  // first <= result <= last.
  int64_t Between(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(Below(static_cast<uint64_t>(last - first) + 1));
  }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

 private:
  uint64_t state_;
};

// A number from the environment, or `fallback`.
inline uint64_t EnvNumber(const char* name, uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr || *text == '\0' ? fallback : std::strtoull(text, nullptr, 10);
}

// CISTERN_SEED, or a fresh one. Print it: it is what a failure is replayed with.
inline uint64_t SeedFromEnv() {
  const uint64_t given = EnvNumber("CISTERN_SEED", 0);
  return given != 0 ? given : (static_cast<uint64_t>(std::random_device{}()) | 1);
}

}  // namespace cistern::testing

#endif  // CISTERN_TESTS_SUPPORT_RNG_H_
