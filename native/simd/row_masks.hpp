// Comparisons of the codes of many rows with one split, as masks over rows.
//
// With AVX-512 a mask has one bit per row and SPINNEY_ROW_BITS is defined; else it has one byte per row, all
// bits set or none.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <cstring>

#include "simd/vectors.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define SPINNEY_ROW_BITS
#endif

namespace spinney {

#ifdef SPINNEY_ROW_BITS

using RowMask = std::uint64_t;  // one bit per row
using RowBytes = __m512i;       // one byte per row
inline constexpr Size kMaskRows = 64;

/// The rows whose code is greater.  codes: 64 bytes
[[gnu::always_inline]] inline RowMask greater_bytes(const std::uint8_t* codes, std::int8_t rank) {
    return _mm512_cmpgt_epi8_mask(_mm512_loadu_si512(codes), _mm512_set1_epi8(rank));
}
/// codes: 64 of two bytes
[[gnu::always_inline]] inline RowMask greater_words(const std::uint8_t* codes, std::int16_t rank) {
    const __m512i all = _mm512_set1_epi16(rank);
    const auto low = _mm512_cmpgt_epi16_mask(_mm512_loadu_si512(codes), all);
    const auto high = _mm512_cmpgt_epi16_mask(_mm512_loadu_si512(codes + 64), all);
    return _mm512_kunpackd(high, low);
}

/// The rows whose code is in a set of 256 bits. The byte code / 8 of the set is found by two shuffles of
/// sixteen, then its bit code % 8.  codes (64,); set (32,)
[[gnu::always_inline]] inline RowMask in_set(const std::uint8_t* codes, const std::uint8_t* set) {
    const auto half = [&](Size i) {
        return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(set + 16 * i)));
    };
    const __m512i code = _mm512_loadu_si512(codes);
    const __m512i bit_of = _mm512_set1_epi64(static_cast<long long>(0x8040201008040201ull));
    const __m512i number = _mm512_and_si512(_mm512_srli_epi16(code, 3), _mm512_set1_epi8(15));
    const __mmask64 upper = _mm512_movepi8_mask(code);  // codes of 128 and more
    const __m512i byte =
        _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(half(0), number), upper, half(1), number);
    return _mm512_test_epi8_mask(byte,
                                 _mm512_shuffle_epi8(bit_of, _mm512_and_si512(code, _mm512_set1_epi8(7))));
}

/// Add a number to the bytes of the masked rows.
[[gnu::always_inline]] inline RowBytes add_where(RowBytes bytes, RowMask rows, std::uint8_t number) {
    return _mm512_mask_add_epi8(bytes, rows, bytes, _mm512_set1_epi8(static_cast<char>(number)));
}

/// Add weight · table[id] to each sum; the table is held in Tables registers of eight.  sums, ids (n,)
template <int Tables>
inline void add_looked_up(double* sums, const std::uint8_t* ids, const double* table, Size n) {
    __m512d values[Tables];
    for (int k = 0; k < Tables; ++k) values[k] = _mm512_loadu_pd(table + 8 * k);
    for (Size i = 0; i < n; i += 8) {
        const __mmask8 rows = n - i >= 8 ? 0xff : static_cast<__mmask8>((1u << (n - i)) - 1);
        const __m512i id = _mm512_cvtepu8_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(ids + i)));
        __m512d value = _mm512_permutex2var_pd(values[0], id, values[1]);
        for (int k = 2; k < Tables; k += 2) {
            const auto later = _mm512_cmpge_epu64_mask(id, _mm512_set1_epi64(8 * k));
            value = _mm512_mask_mov_pd(value, later, _mm512_permutex2var_pd(values[k], id, values[k + 1]));
        }
        _mm512_mask_storeu_pd(sums + i, rows, _mm512_add_pd(_mm512_maskz_loadu_pd(rows, sums + i), value));
    }
}

#else

using RowMask = VectorOf<std::uint8_t, 8 * kRegister>::type;  // one byte per row
using RowBytes = RowMask;
inline constexpr Size kMaskRows = sizeof(RowMask);

namespace detail {

template <class T>
[[gnu::always_inline]] inline auto load_codes(const std::uint8_t* from) {
    typename VectorOf<T, sizeof(RowMask) / sizeof(T)>::type out;
    std::memcpy(&out, from, sizeof out);
    return out;
}

}  // namespace detail

/// The rows whose code is greater.  codes: kMaskRows bytes
[[gnu::always_inline]] inline RowMask greater_bytes(const std::uint8_t* codes, std::int8_t rank) {
    return std::bit_cast<RowMask>(detail::load_codes<std::int8_t>(codes) > rank);
}
/// codes: kMaskRows of two bytes
[[gnu::always_inline]] inline RowMask greater_words(const std::uint8_t* codes, std::int16_t rank) {
    const auto low = detail::load_codes<std::int16_t>(codes) > rank;
    const auto high = detail::load_codes<std::int16_t>(codes + kMaskRows) > rank;
#if defined(__AVX2__)
    const __m256i both = _mm256_packs_epi16(std::bit_cast<__m256i>(low), std::bit_cast<__m256i>(high));
    return std::bit_cast<RowMask>(_mm256_permute4x64_epi64(both, 0xD8));
#elif defined(__SSE2__)
    return std::bit_cast<RowMask>(_mm_packs_epi16(std::bit_cast<__m128i>(low), std::bit_cast<__m128i>(high)));
#else
    RowMask out;
    for (Size i = 0; i < kMaskRows / 2; ++i) {
        out[i] = static_cast<std::uint8_t>(low[i]);
        out[i + kMaskRows / 2] = static_cast<std::uint8_t>(high[i]);
    }
    return out;
#endif
}

/// The rows whose code is in a set of 256 bits.  codes (kMaskRows,); set (32,)
inline RowMask in_set(const std::uint8_t* codes, const std::uint8_t* set) {
    RowMask out;
    for (Size i = 0; i < kMaskRows; ++i) out[i] = set[codes[i] / 8] >> codes[i] % 8 & 1 ? 0xff : 0;
    return out;
}

/// Add a number to the bytes of the masked rows.
[[gnu::always_inline]] inline RowBytes add_where(RowBytes bytes, RowMask rows, std::uint8_t number) {
    return bytes + (rows & number);
}

#endif

}  // namespace spinney
