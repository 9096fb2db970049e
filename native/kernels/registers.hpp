// Vectors as wide as the processor's registers.
//
// Lanes are eight numbers everywhere, which the compiler takes apart where registers hold fewer; comparisons
// and choices it then does number by number. Where lanes do not meet, the width changes no bit of a result.
#pragma once

#include <bit>
#include <cstdint>

#include "dtypes.hpp"

namespace spinney {

#if defined(__AVX512F__)
inline constexpr Size kRegister = 8;
#elif defined(__AVX2__)
inline constexpr Size kRegister = 4;
#else
inline constexpr Size kRegister = 2;
#endif

using Register = double __attribute__((vector_size(8 * kRegister)));
using StatRegister = Stat __attribute__((vector_size(8 * kRegister)));

#if !defined(__AVX512F__)  // else they are Lanes and StatLanes
inline Register where(StatRegister condition, Register a, Register b) { return condition ? a : b; }

inline void split_exponent(Register x, Register& e, Register& m) {
    constexpr std::int64_t root_half = 0x3FE6A09E667F3BCD;
    const auto bits = std::bit_cast<StatRegister>(x);
    const StatRegister exponent = (bits - root_half) >> 52;
    e = __builtin_convertvector(exponent, Register);
    m = std::bit_cast<Register>(bits - (exponent << 52));
}

namespace detail {
inline StatRegister bits_of(Register x) { return std::bit_cast<StatRegister>(x); }
inline Register from_bits(StatRegister x) { return std::bit_cast<Register>(x); }
}  // namespace detail
#endif

}  // namespace spinney
