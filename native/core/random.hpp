// Counter-based random numbers: every draw is a function of (seed, node address, counter), never of time or
// thread.
#pragma once

#include <cstdint>

namespace spinney {

/// Scramble the state of the generator below.  U: std::uint64_t, or a register of such
template <class U>
inline U scramble(U z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
}

inline constexpr std::uint64_t kMixStep = 0x9E3779B97F4A7C15ull;

/// Hash two 64-bit numbers: output b + 1 of the generator SplitMix64 with seed a (Steele, Lea & Flood 2014,
/// "Fast splittable pseudorandom number generators").
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return scramble(a + kMixStep * (b + 1)); }

/// The stream of draws at one address.
class Draws {
  public:
    explicit Draws(std::uint64_t address) : address_(address) {}

    std::uint64_t next_u64() { return mix(address_, counter_++); }

    /// Uniform on [0, 1).
    double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1.0p-53; }

    /// Uniform on 0..n-1. The product's high half is free of the modulo's bias for any n met here (n < 2^32).
    std::uint32_t below(std::uint32_t n) {
        return static_cast<std::uint32_t>(((next_u64() >> 32) * static_cast<std::uint64_t>(n)) >> 32);
    }

  private:
    std::uint64_t address_;
    std::uint64_t counter_ = 0;
};

}  // namespace spinney
