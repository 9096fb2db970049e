// Chooses the bins of a numeric column from its sorted keys, and finds the bin of a value.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/types.hpp"
#include "core/radix_sort.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include <immintrin.h>
#endif

namespace spinney {

/// The bins of a numeric column: the least and greatest value of each, in order.
struct Bins {
    std::vector<double> lo, hi;

    Size size() const { return lo.size(); }
    void add(double low, double high) {
        lo.push_back(low);
        hi.push_back(high);
    }
};

namespace detail {

/// Call visit(key, mass) for each distinct key of a sorted column.  keys (n,); mass_of(i) is the weight at
/// place i
template <class Key, class Mass, class Visit>
void for_each_run(std::span<const Key> keys, Mass&& mass_of, Visit&& visit) {
    for (Size i = 0; i < keys.size();) {
        const Key key = keys[i];
        double mass = 0;
        do mass += mass_of(i);
        while (++i < keys.size() && keys[i] == key);
        visit(key, mass);
    }
}

/// Fills bins with whole runs, so that no value straddles an edge.
///
/// A run of at least a bin's fair share is heavy and closes a bin of its own; what is left over is shared
/// evenly by the rest. Everything is a ratio of sums: weight 2 acts as two rows, and a common factor cancels.
class BinFiller {
  public:
    BinFiller(Bins& bins, double total, std::uint32_t max_bins, double heavy_mass, Size n_heavy)
        : bins_(bins),
          heavy_from_(total / max_bins),
          light_left_(total - heavy_mass),
          bins_left_(n_heavy < max_bins ? static_cast<double>(max_bins - n_heavy) : 0) {}

    void operator()(double value, double mass) { mass >= heavy_from_ ? heavy(value) : light(value, mass); }

    void finish() {
        if (!open_) return;
        if (bins_left_ > 0 || bins_.size() == 0) return close(last_);
        bins_.hi.back() = last_;
    }

  private:
    void light(double value, double mass) {
        if (!open_) first_ = value;
        open_ = true;
        last_ = value;
        mass_ += mass;
        if (bins_left_ > 0 && mass_ * bins_left_ >= light_left_) close_light();
    }

    void heavy(double value) {
        // Half a share or more before a heavy value is worth a bin; less joins the heavy value.
        if (open_ && bins_left_ > 0 && 2 * mass_ * bins_left_ >= light_left_) close_light();
        if (!open_) first_ = value;
        light_left_ -= mass_;
        close(value);
    }

    void close_light() {
        light_left_ -= mass_;
        bins_left_ -= 1;
        close(last_);
    }

    void close(double last) {
        bins_.add(first_, last);
        open_ = false;
        mass_ = 0;
    }

    Bins& bins_;
    double heavy_from_, light_left_, bins_left_;
    double first_ = 0, last_ = 0, mass_ = 0;
    bool open_ = false;
};

}  // namespace detail

/// Put each distinct key into a bin of its own if there are at most max_bins; gives whether there are.
template <class Key>
bool bins_of_distinct(Bins& bins, std::span<const Key> sorted, std::uint32_t max_bins) {
    bins = {};
    for (Size i = 0; i < sorted.size(); ++i) {
        if (i > 0 && sorted[i] == sorted[i - 1]) continue;
        if (bins.size() == max_bins) return false;
        bins.add(number_of(sorted[i]), number_of(sorted[i]));
    }
    return true;
}

/// Share sorted keys out to at most max_bins bins of about equal weight.  mass_of(i): weight of the key at
/// place i
template <class Key, class Mass>
void bins_of_quantiles(Bins& bins, std::span<const Key> sorted, double total, std::uint32_t max_bins,
                       Mass&& mass_of) {
    bins = {};
    const double heavy_from = total / max_bins;
    double heavy_mass = 0;
    Size n_heavy = 0;
    detail::for_each_run(sorted, mass_of, [&](Key, double mass) {
        heavy_mass += mass >= heavy_from ? mass : 0;
        n_heavy += mass >= heavy_from;
    });
    detail::BinFiller filler(bins, total, max_bins, heavy_mass, n_heavy);
    detail::for_each_run(sorted, mass_of, [&](Key key, double mass) { filler(number_of(key), mass); });
    filler.finish();
}

/// The number midway between two, at least `low` and below `high`, whatever they are.
inline double midway(double low, double high) {
    const double middle = low / 2 + high / 2;
    return middle >= low && middle < high ? middle : low;
}

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
