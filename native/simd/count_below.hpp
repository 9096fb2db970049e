// How many of a few sorted thresholds lie below a number.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <cstdint>

#include "core/types.hpp"

namespace spinney {

/// thresholds (4,)
[[gnu::always_inline]] inline std::uint32_t count_below_4(const double* thresholds, double x) {
#if defined(__AVX2__)
    const __m256d below = _mm256_cmp_pd(_mm256_set1_pd(x), _mm256_loadu_pd(thresholds), _CMP_GT_OQ);
    return static_cast<std::uint32_t>(__builtin_popcount(static_cast<unsigned>(_mm256_movemask_pd(below))));
#else
    std::uint32_t count = 0;
    for (Size i = 0; i < 4; ++i) count += x > thresholds[i];
    return count;
#endif
}

/// thresholds (16,), ascending
[[gnu::always_inline]] inline std::uint32_t count_below_16(const double* thresholds, double x) {
#if defined(__AVX512F__) && defined(__AVX512DQ__)
    const __m512d wide = _mm512_set1_pd(x);
    const auto low = _mm512_cmp_pd_mask(wide, _mm512_loadu_pd(thresholds), _CMP_GT_OQ);
    const auto high = _mm512_cmp_pd_mask(wide, _mm512_loadu_pd(thresholds + 8), _CMP_GT_OQ);
    return static_cast<std::uint32_t>(__builtin_popcount(_mm512_kunpackb(high, low)));
#elif defined(__AVX2__)
    const __m256d wide = _mm256_set1_pd(x);
    const auto below = [&](int k) {
        return _mm256_castpd_si256(_mm256_cmp_pd(wide, _mm256_loadu_pd(thresholds + 4 * k), _CMP_GT_OQ));
    };
    // Each comparison is packed into two bytes.
    const __m256i bytes =
        _mm256_packs_epi16(_mm256_packs_epi32(below(0), below(1)), _mm256_packs_epi32(below(2), below(3)));
    const auto bits = static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes));
    return static_cast<std::uint32_t>(__builtin_popcount(bits)) / 2;
#else
    // Without branches: the half that a number is in is unpredictable.
    std::uint32_t count = static_cast<std::uint32_t>(x > thresholds[7]) << 3;
    count += static_cast<std::uint32_t>(x > thresholds[count + 3]) << 2;
    count += static_cast<std::uint32_t>(x > thresholds[count + 1]) << 1;
    count += static_cast<std::uint32_t>(x > thresholds[count]);
    return count;
#endif
}

}  // namespace spinney
