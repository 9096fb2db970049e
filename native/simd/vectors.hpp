// Vectors as wide as the processor's registers.
//
// Lanes are eight numbers everywhere, which the compiler takes apart where registers hold fewer; comparisons
// and choices it then does number by number. Where lanes do not meet, the width changes no bit of a result.
#pragma once

#if defined(SPINNEY_NO_VECTORS)
#error \
    "this source is compiled once for all vector levels, so it must not see types whose width depends on the level"
#endif

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/types.hpp"

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
using UnsignedRegister = std::uint64_t __attribute__((vector_size(8 * kRegister)));

/// Eight numbers at every vector level; each lane has the bits that a plain double would have.
using Lanes = double __attribute__((vector_size(64)));
using StatLanes = Stat __attribute__((vector_size(64)));
inline constexpr Size kLanes = 8;

inline double where(bool condition, double a, double b) { return condition ? a : b; }
inline Lanes where(StatLanes condition, Lanes a, Lanes b) { return condition ? a : b; }

/// A vector of N numbers of a type that is a parameter.
template <class T, Size N>
struct VectorOf {
    typedef T type __attribute__((vector_size(N * sizeof(T))));
};

/// One bit a lane: whether it is not 0.
inline std::uint64_t nonzero_lanes(StatRegister x) {
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask(std::bit_cast<__m512i>(x), std::bit_cast<__m512i>(x));
#elif defined(__AVX2__)
    return static_cast<std::uint64_t>(_mm256_movemask_pd(std::bit_cast<__m256d>(x != 0)));
#elif defined(__SSE2__)
    return static_cast<std::uint64_t>(_mm_movemask_pd(std::bit_cast<__m128d>(x != 0)));
#else
    std::uint64_t bits = 0;
    for (Size i = 0; i < kRegister; ++i) bits |= std::uint64_t{x[i] != 0} << i;
    return bits;
#endif
}

#if defined(__AVX512F__)
#define SPINNEY_LANE_PACKING
/// The sums of the lanes up to each.
[[gnu::always_inline]] inline StatRegister prefix_sums(StatRegister x) {
    // Masks of all lanes: GCC warns of the register that the others leave unset.
    const __m512i zero = _mm512_setzero_si512();
    __m512i sum = std::bit_cast<__m512i>(x);
    sum = _mm512_add_epi64(sum, _mm512_maskz_alignr_epi64(0xFF, sum, zero, 7));
    sum = _mm512_add_epi64(sum, _mm512_maskz_alignr_epi64(0xFF, sum, zero, 6));
    return std::bit_cast<StatRegister>(_mm512_add_epi64(sum, _mm512_maskz_alignr_epi64(0xFF, sum, zero, 4)));
}

/// The last lane in all lanes.
[[gnu::always_inline]] inline StatRegister every_last(StatRegister x) {
    return std::bit_cast<StatRegister>(
        _mm512_maskz_permutexvar_epi64(0xFF, _mm512_set1_epi64(7), std::bit_cast<__m512i>(x)));
}

/// Store some lanes side by side. A whole register is written.  lanes: one bit each
[[gnu::always_inline]] inline void store_packed(Stat* to, StatRegister x, std::uint64_t lanes) {
    // In two steps: a store of a part of the lanes is microcode on some processors.
    const __m512i packed =
        _mm512_maskz_compress_epi64(static_cast<__mmask8>(lanes), std::bit_cast<__m512i>(x));
    _mm512_storeu_si512(to, packed);
}
#endif

/// The same of eight numbers.
#if !defined(__AVX512F__)  // else they are a StatRegister
inline std::uint64_t nonzero_lanes(StatLanes x) {
    StatRegister part[kLanes / kRegister];
    std::memcpy(part, &x, sizeof x);
    std::uint64_t bits = 0;
    for (Size i = 0; i < kLanes / kRegister; ++i) bits |= nonzero_lanes(part[i]) << (i * kRegister);
    return bits;
}
#endif

/// How many numbers are at most x.
[[gnu::always_inline]] inline Size count_at_most(Register numbers, double x) {
#if defined(__AVX512F__)
    const auto at_most = _mm512_cmp_pd_mask(std::bit_cast<__m512d>(numbers), _mm512_set1_pd(x), _CMP_LE_OQ);
    return static_cast<Size>(std::popcount(static_cast<unsigned>(at_most)));
#else
    return static_cast<Size>(std::popcount(nonzero_lanes(numbers <= x)));
#endif
}

/// 0, 1, 2, …
inline StatRegister lane_numbers() {
    StatRegister out;
    for (Size i = 0; i < kRegister; ++i) out[i] = static_cast<Stat>(i);
    return out;
}

inline Register root(Register x) {
    for (Size i = 0; i < kRegister; ++i) x[i] = std::sqrt(x[i]);
    return x;
}

/// Split x into exponent e and mantissa m in [√½, √2), x = m·2^e.  Bits, Signed: the whole numbers of x's
/// size, for numbers that are not positive may overflow on the way
template <class Bits, class Signed, class V>
[[gnu::always_inline]] inline void split_exponent_as(V x, V& e, V& m) {
    constexpr std::uint64_t root_half = 0x3FE6A09E667F3BCD;
    const auto bits = std::bit_cast<Bits>(x);
    const auto exponent = std::bit_cast<Signed>(bits - root_half) >> 52;
    if constexpr (std::is_same_v<V, double>)
        e = static_cast<double>(exponent);
    else
        e = __builtin_convertvector(exponent, V);
    m = std::bit_cast<V>(bits - (std::bit_cast<Bits>(exponent) << 52));
}

inline void split_exponent(double x, double& e, double& m) {
    split_exponent_as<std::uint64_t, std::int64_t>(x, e, m);
}
inline void split_exponent(Lanes x, Lanes& e, Lanes& m) {
    split_exponent_as<VectorOf<std::uint64_t, kLanes>::type, StatLanes>(x, e, m);
}

#if !defined(__AVX512F__)  // else they are Lanes and StatLanes
inline Register where(StatRegister condition, Register a, Register b) { return condition ? a : b; }

inline void split_exponent(Register x, Register& e, Register& m) {
    using Bits = std::uint64_t __attribute__((vector_size(sizeof(Register))));
    split_exponent_as<Bits, StatRegister>(x, e, m);
}

namespace detail {
inline StatRegister bits_of(Register x) { return std::bit_cast<StatRegister>(x); }
inline Register from_bits(StatRegister x) { return std::bit_cast<Register>(x); }
}  // namespace detail
#endif

/// Whole numbers as the nearest real ones, as a conversion one by one would give them.
[[gnu::always_inline]] inline Register to_real(StatRegister x) {
#if defined(__AVX512DQ__)
    return __builtin_convertvector(x, Register);
#else
    // Processors without the instruction: the upper half in the digits of 2^84, the lower in those of 2^52.
    // All but the last sum is exact.
    using Unsigned = std::uint64_t __attribute__((vector_size(sizeof(StatRegister))));
    const Unsigned bits = std::bit_cast<Unsigned>(x);
    const Unsigned upper = ((bits >> 32) ^ 0x80000000ull) | 0x4530000000000000ull;  // as if 2^63 more
    const Unsigned lower = (bits & 0xFFFFFFFFull) | 0x4330000000000000ull;
    return (std::bit_cast<Register>(upper) - (0x1.0p84 + 0x1.0p63 + 0x1.0p52)) +
           std::bit_cast<Register>(lower);
#endif
}

/// The same for numbers from 0 to 2^32 − 1.
[[gnu::always_inline]] inline Register small_to_real(StatRegister x) {
#if defined(__AVX512DQ__)
    return __builtin_convertvector(x, Register);
#else
    return std::bit_cast<Register>(x | 0x4330000000000000ll) - 0x1.0p52;
#endif
}

inline double to_real(Stat x) { return static_cast<double>(x); }
inline double small_to_real(Stat x) { return static_cast<double>(x); }

/// One register of narrower integers, read from memory.
template <class T>
[[gnu::always_inline]] inline StatRegister widened(const T* from) {
    // GCC widens vectors of eight bytes or less number by number.
#if defined(__AVX512F__)
    if constexpr (sizeof(T) == 1) {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
        return std::bit_cast<StatRegister>(std::is_signed_v<T> ? _mm512_maskz_cvtepi8_epi64(0xFF, bytes)
                                                               : _mm512_maskz_cvtepu8_epi64(0xFF, bytes));
    }
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 1) {
        int four;
        std::memcpy(&four, from, sizeof four);
        const __m128i bytes = _mm_cvtsi32_si128(four);
        return std::bit_cast<StatRegister>(std::is_signed_v<T> ? _mm256_cvtepi8_epi64(bytes)
                                                               : _mm256_cvtepu8_epi64(bytes));
    }
#endif
    using Narrow = typename VectorOf<T, kRegister>::type;
    using Wider = VectorOf<std::int32_t, kRegister>::type;
    Narrow v;
    std::memcpy(&v, from, sizeof v);
    if constexpr (sizeof(T) == sizeof(Stat)) return v;
    // Via 32 bits: GCC has no single conversion for both steps.
    else
        return __builtin_convertvector(__builtin_convertvector(v, Wider), StatRegister);
}

/// All lanes of a register combined to one number, half with half.
template <class V, class Combine>
[[gnu::always_inline]] inline auto across_lanes(V x, Combine&& combine) {
    using Number = std::remove_cvref_t<decltype(x[0])>;
    constexpr Size n = sizeof(V) / sizeof(Number);
    if constexpr (n == 2) {
        const Number a = x[0], b = x[1];
        return combine(a, b);
    } else {
        typename VectorOf<Number, n / 2>::type half[2];
        std::memcpy(half, &x, sizeof x);
        return across_lanes(combine(half[0], half[1]), combine);
    }
}

/// Whether a number has a bit that is not 0.
[[gnu::always_inline]] inline bool any_nonzero(Lanes x) {
#if defined(__AVX512F__)
    return nonzero_lanes(std::bit_cast<StatRegister>(x)) != 0;
#else
    return across_lanes(std::bit_cast<StatLanes>(x), [](auto a, auto b) { return a | b; }) != 0;
#endif
}

/// to += from for two neighbouring numbers, in one instruction. Copied, because Clang takes vectors that are
/// read through a pointer for aligned ones.
[[gnu::always_inline]] inline void add_two(Stat* to, const Stat* from) {
    using Two = Stat __attribute__((vector_size(16)));
    Two sum, added;
    std::memcpy(&sum, to, sizeof sum);
    std::memcpy(&added, from, sizeof added);
    sum += added;
    std::memcpy(to, &sum, sizeof sum);
}

/// The upper halves of numbers of at least 0.
inline Stat upper_half(Stat x) { return x >> 32; }
[[gnu::always_inline]] inline StatRegister upper_half(StatRegister x) {
    using Unsigned = std::uint64_t __attribute__((vector_size(sizeof(StatRegister))));
    return std::bit_cast<StatRegister>(std::bit_cast<Unsigned>(x) >> 32);
}

}  // namespace spinney
