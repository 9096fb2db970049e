// EdgeTable: finds the bins of values.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/types.hpp"
#include "data/bin_edges.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include <immintrin.h>
#endif

namespace spinney {

/// The edges between at most 256 bins, padded so that the search has no branch.
class EdgeTable {
  public:
    explicit EdgeTable(const Bins& bins) : edges_(256, std::numeric_limits<double>::infinity()) {
        while ((Size{1} << steps_) < bins.size()) ++steps_;
        for (Size b = 0; b + 1 < bins.size(); ++b) edges_[b] = midway(bins.hi[b], bins.lo[b + 1]);
        for (Size k = 0; k < 16; ++k) coarse_[k] = edges_[16 * k + 15];
    }

    /// Write the bin of each value, or `missing` for NaN.  codes, values (n,)
    void code(std::uint8_t* codes, const double* values, Size n, std::uint8_t missing) const {
        switch (steps_) {
            case 0:
                return by_halves<0>(codes, values, n, missing);
            case 1:
                return by_halves<1>(codes, values, n, missing);
            case 2:
                return by_halves<2>(codes, values, n, missing);
            case 3:
                return by_halves<3>(codes, values, n, missing);
#if defined(__AVX512F__) && defined(__AVX512BW__)
            default:
                return by_sixteenths(codes, values, n, missing);
#else
            case 4:
                return by_halves<4>(codes, values, n, missing);
            case 5:
                return by_halves<5>(codes, values, n, missing);
            case 6:
                return by_halves<6>(codes, values, n, missing);
            case 7:
                return by_halves<7>(codes, values, n, missing);
            default:
                return by_halves<8>(codes, values, n, missing);
#endif
        }
    }

  private:
    // Counts the edges below x by halving; searches are independent and overlap in the processor.
    template <int Steps>
    void by_halves(std::uint8_t* codes, const double* values, Size n, std::uint8_t missing) const {
        const double* const edges = edges_.data();
        for (Size i = 0; i < n; ++i) {
            const double x = values[i];
            Size at = 0;
#pragma GCC unroll 8
            for (int s = Steps - 1; s >= 0; --s) {
                at += static_cast<Size>(x > edges[at + (Size{1} << s) - 1]) << s;
            }
            codes[i] = x == x ? static_cast<std::uint8_t>(at) : missing;
        }
    }

#if defined(__AVX512F__) && defined(__AVX512BW__)
    // The same count by two comparisons with 16 edges each: first which sixteenth, then where in it.
    void by_sixteenths(std::uint8_t* codes, const double* values, Size n, std::uint8_t missing) const {
        const __m512d low = _mm512_loadu_pd(coarse_.data()), high = _mm512_loadu_pd(coarse_.data() + 8);
        const auto below = [](__m512d x, __m512d first, __m512d second) {
            const auto mask = _mm512_kunpackb(_mm512_cmp_pd_mask(x, second, _CMP_GT_OQ),
                                              _mm512_cmp_pd_mask(x, first, _CMP_GT_OQ));
            return static_cast<unsigned>(__builtin_popcount(mask));
        };
        for (Size i = 0; i < n; ++i) {
            const __m512d x = _mm512_set1_pd(values[i]);
            const unsigned at = 16 * below(x, low, high);
            const double* fine = edges_.data() + at;
            const unsigned code = at + below(x, _mm512_loadu_pd(fine), _mm512_loadu_pd(fine + 8));
            codes[i] = values[i] == values[i] ? static_cast<std::uint8_t>(code) : missing;
        }
    }
#endif

    int steps_ = 0;
    std::vector<double> edges_;
    std::array<double, 16> coarse_;
};

}  // namespace spinney
