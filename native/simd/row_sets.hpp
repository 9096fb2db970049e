// Sets of up to 64 rows, one bit each, and comparisons of the rows' byte codes as such sets.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/types.hpp"

namespace spinney {

using RowSet = std::uint64_t;
inline constexpr Size kSetRows = 64;

/// Whether the processor has instructions for these functions; without them they are loops.
#if defined(__AVX2__)
inline constexpr bool kFastRowSets = true;
#else
inline constexpr bool kFastRowSets = false;
#endif

inline Size first_of(RowSet rows) { return static_cast<Size>(std::countr_zero(rows)); }

// codes (kSetRows,), aligned to 64 bytes

#if defined(__AVX512BW__)

/// The rows whose code is at most `last`, or is `code`.
[[gnu::always_inline]] inline RowSet at_most(const std::uint8_t* codes, std::uint8_t last) {
    return _mm512_cmple_epu8_mask(_mm512_load_si512(codes), _mm512_set1_epi8(static_cast<char>(last)));
}
[[gnu::always_inline]] inline RowSet equal_to(const std::uint8_t* codes, std::uint8_t code) {
    return _mm512_cmpeq_epi8_mask(_mm512_load_si512(codes), _mm512_set1_epi8(static_cast<char>(code)));
}

#elif defined(__AVX2__)

namespace detail {

template <class Compare>
[[gnu::always_inline]] inline RowSet compare_halves(const std::uint8_t* codes, Compare&& compare) {
    const auto half = [&](Size i) {
        const __m256i code = _mm256_load_si256(reinterpret_cast<const __m256i*>(codes + 32 * i));
        return RowSet{static_cast<std::uint32_t>(_mm256_movemask_epi8(compare(code)))};
    };
    return half(0) | half(1) << 32;
}

}  // namespace detail

[[gnu::always_inline]] inline RowSet at_most(const std::uint8_t* codes, std::uint8_t last) {
    const __m256i all = _mm256_set1_epi8(static_cast<char>(last));
    return detail::compare_halves(
        codes, [&](__m256i code) { return _mm256_cmpeq_epi8(_mm256_max_epu8(code, all), all); });
}
[[gnu::always_inline]] inline RowSet equal_to(const std::uint8_t* codes, std::uint8_t code) {
    const __m256i all = _mm256_set1_epi8(static_cast<char>(code));
    return detail::compare_halves(codes, [&](__m256i own) { return _mm256_cmpeq_epi8(own, all); });
}

#else

inline RowSet at_most(const std::uint8_t* codes, std::uint8_t last) {
    RowSet out = 0;
    for (Size i = 0; i < kSetRows; ++i) out |= RowSet{codes[i] <= last} << i;
    return out;
}
inline RowSet equal_to(const std::uint8_t* codes, std::uint8_t code) {
    RowSet out = 0;
    for (Size i = 0; i < kSetRows; ++i) out |= RowSet{codes[i] == code} << i;
    return out;
}

#endif

/// The smallest code of the rows, at least one, where each differs by `flip` bits: with all bits flipped, the
/// complement of the largest.
template <std::uint8_t flip>
[[gnu::always_inline]] inline std::uint8_t smallest_flipped(const std::uint8_t* codes, RowSet rows) {
#if defined(__AVX2__)
#if defined(__AVX512BW__) && defined(__AVX512VL__)
    const auto half = [&](Size i) {
        const __m256i code = _mm256_load_si256(reinterpret_cast<const __m256i*>(codes + 32 * i));
        const __m256i own = _mm256_xor_si256(code, _mm256_set1_epi8(static_cast<char>(flip)));
        return _mm256_mask_mov_epi8(_mm256_set1_epi8(-1), static_cast<__mmask32>(rows >> (32 * i)), own);
    };
#else
    const auto half = [&](Size i) {
        const __m256i code = _mm256_load_si256(reinterpret_cast<const __m256i*>(codes + 32 * i));
        const __m256i own = _mm256_xor_si256(code, _mm256_set1_epi8(static_cast<char>(flip)));
        // One byte per row: byte i / 8 of the set, of which bit i % 8 is looked at.
        const __m256i set = _mm256_set1_epi32(static_cast<int>(rows >> (32 * i)));
        const __m256i byte_of =
            _mm256_setr_epi64x(0, 0x0101010101010101ll, 0x0202020202020202ll, 0x0303030303030303ll);
        const __m256i bit_of = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
        const __m256i bits = _mm256_and_si256(_mm256_shuffle_epi8(set, byte_of), bit_of);
        const __m256i left_out = _mm256_cmpeq_epi8(bits, _mm256_setzero_si256());
        return _mm256_or_si256(own, left_out);
    };
#endif
    const __m256i two = _mm256_min_epu8(half(0), half(1));
    const __m128i one = _mm_min_epu8(_mm256_castsi256_si128(two), _mm256_extracti128_si256(two, 1));
    // The smaller byte of each two, as a number of two bytes.
    const __m128i pairs = _mm_min_epu8(one, _mm_srli_epi16(one, 8));
    return static_cast<std::uint8_t>(_mm_cvtsi128_si32(_mm_minpos_epu16(pairs)));
#else
    std::uint8_t out = 255;
    for (; rows != 0; rows &= rows - 1)
        out = std::min(out, static_cast<std::uint8_t>(codes[first_of(rows)] ^ flip));
    return out;
#endif
}

[[gnu::always_inline]] inline std::uint8_t smallest_code(const std::uint8_t* codes, RowSet rows) {
    return smallest_flipped<0>(codes, rows);
}
[[gnu::always_inline]] inline std::uint8_t largest_code(const std::uint8_t* codes, RowSet rows) {
    return static_cast<std::uint8_t>(~smallest_flipped<0xff>(codes, rows));
}

/// The sum of the values of the rows, which are among the first 8 · n_eights.  values (kSetRows,), aligned to
/// 64 bytes
[[gnu::always_inline]] inline std::int64_t sum_over(const std::int64_t* values, RowSet rows,
                                                    [[maybe_unused]] Size n_eights) {
#if defined(__AVX512F__)
    __m512i sum = _mm512_setzero_si512();
    for (Size i = 0; i < n_eights; ++i)
        sum = _mm512_mask_add_epi64(sum, static_cast<__mmask8>(rows >> (8 * i)), sum,
                                    _mm512_load_si512(values + 8 * i));
    return _mm512_reduce_add_epi64(sum);
#else
    std::int64_t sum = 0;
    for (; rows != 0; rows &= rows - 1) sum += values[first_of(rows)];
    return sum;
#endif
}

}  // namespace spinney
