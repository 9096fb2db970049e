// The stable partition of a list of rows by a threshold on their byte codes.
#pragma once

#if defined(__AVX512F__) && !defined(SPINNEY_SMALL_INDEX)
#include <immintrin.h>
#define SPINNEY_COMPRESSED_ROWS
#endif

#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/types.hpp"

namespace spinney {

/// What a partition tells beside the order of the rows.
struct PartitionedRows {
    Size n_left = 0;
    bool bin_used = false;    // some row has the largest code of the left side
    std::uint32_t after = 0;  // the smallest code on the right
};

/// The codes that go left: those up to `last`, and `also`.
struct LeftCodes {
    std::uint32_t last, also;
};

#ifdef SPINNEY_COMPRESSED_ROWS

/// Rows from which sixteen at a time are faster than one at a time.
inline constexpr Size kCompressedRows = 16;

/// Whether offsets of codes fit into the gathers of sixteen.
inline bool can_compress(Size n_codes) {
    return n_codes <= static_cast<Size>(std::numeric_limits<std::int32_t>::max());
}

/// Move the rows whose codes go left to the front of the list, and the others to `right`; both keep their
/// order. The code of a row is codes[row * stride]; three bytes behind the last code must be readable.
/// list (n,), right (n + 16,)
inline PartitionedRows partition_compressed(Row* list, Size n, Row* right, const std::uint8_t* codes,
                                            Size stride, LeftCodes left_codes, std::uint32_t n_bins) {
    const __m512i step = _mm512_set1_epi32(static_cast<int>(stride)),
                  last = _mm512_set1_epi32(static_cast<int>(left_codes.last)),
                  also = _mm512_set1_epi32(static_cast<int>(left_codes.also));
    __m512i after = _mm512_set1_epi32(static_cast<int>(n_bins));
    unsigned used = 0;
    Size n_left = 0, n_right = 0;
    for (Size i = 0; i < n; i += 16) {
        const auto here = static_cast<__mmask16>(n - i >= 16 ? 0xffff : (1u << (n - i)) - 1);
        const __m512i rows = _mm512_maskz_loadu_epi32(here, list + i);
        const __m512i found = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), here,
                                                          _mm512_mullo_epi32(rows, step), codes, 1);
        const __m512i code = _mm512_and_si512(found, _mm512_set1_epi32(0xff));
        const auto left = static_cast<__mmask16>(_mm512_mask_cmple_epu32_mask(here, code, last) |
                                                 _mm512_mask_cmpeq_epu32_mask(here, code, also));
        const auto rest = static_cast<__mmask16>(here & ~left);
        const auto count = static_cast<unsigned>(__builtin_popcount(left));
        used |= _mm512_mask_cmpeq_epu32_mask(here, code, last);
        after = _mm512_mask_min_epu32(after, rest, after, code);
        // The list is written where it has been read.
        _mm512_mask_storeu_epi32(list + n_left, static_cast<__mmask16>((1u << count) - 1),
                                 _mm512_maskz_compress_epi32(left, rows));
        _mm512_storeu_si512(right + n_right, _mm512_maskz_compress_epi32(rest, rows));
        n_left += count;
        n_right += static_cast<unsigned>(__builtin_popcount(rest));
    }
    return {n_left, used != 0, _mm512_reduce_min_epu32(after)};
}

#endif

/// The same, one row at a time.  goes_left(code): 1 or 0; right (n,)
template <class Stride, class GoesLeft>
PartitionedRows partition_rows(Row* list, Size n, Row* right, const std::uint8_t* codes, Stride stride,
                               GoesLeft&& goes_left, std::uint32_t last, std::uint32_t n_bins) {
    Size n_left = 0;
    std::uint32_t used = 0, after = n_bins;
    for (Size i = 0; i < n; ++i) {
        const Row row = list[i];
        const std::uint32_t code = codes[row * stride], left = goes_left(code);
        list[n_left] = row;
        right[i - n_left] = row;
        n_left += left;
        used |= code == last;
        after = std::min(after, code | left << 8);
    }
    return {n_left, used != 0, after};
}

}  // namespace spinney
