// Which rows a tree is grown on: a rule that follows from counts of the importances of all rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "boost/boost_options.hpp"
#include "core/random.hpp"

namespace spinney {

/// Counts of importances by the upper bits of their float: integers, so they may be counted in any order. A
/// bin spans a sixteenth of a power of two.
class ImportanceCounts {
  public:
    static constexpr Size n_bins = 4096;

    void add(double importance) { ++counts_[bin_of(importance)]; }

    void merge(const ImportanceCounts& other) { merge(other.counts_.data()); }

    /// counts (n_bins,)
    void merge(const std::int64_t* counts) {
        for (Size i = 0; i < n_bins; ++i) counts_[i] += counts[i];
    }

    const std::vector<std::int64_t>& counts() const { return counts_; }

    double n_rows() const {
        return static_cast<double>(std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0}));
    }

    /// The importance that about `wanted` rows reach.
    double threshold_of_top(double wanted) const {
        double above = 0;
        for (Size i = n_bins; i-- > 1;) {
            above += static_cast<double>(counts_[i]);
            if (above >= wanted) return start_of(i);
        }
        return 0;
    }

    /// The μ for which the probabilities min(1, s / μ) add up to about `wanted`.
    double threshold_of_sum(double wanted) const {
        double below = 0, above = 0;
        Size last = 0;  // with rows
        for (Size i = 0; i < n_bins; ++i) {
            if (counts_[i] == 0) continue;
            below += mass_of(i);
            last = i;
        }
        // The bins beyond, and beyond that of below / wanted, are too far up for μ.
        const Size far = wanted > 0 ? bin_of(below / wanted) + 2 : n_bins;
        for (Size i = std::min(n_bins, std::max(far, last + 1)); i-- > 1;) {
            // If all bins from i on were kept with probability 1, μ would be start_of(i).
            above += static_cast<double>(counts_[i]);
            below -= mass_of(i);
            if (above + below / start_of(i) >= wanted) {
                // μ is in bin i, whose rows then are below μ.
                const double rest = wanted - (above - static_cast<double>(counts_[i]));
                return rest > 0 ? std::max((below + mass_of(i)) / rest, start_of(i)) : start_of(i + 1);
            }
        }
        return 0;
    }

  private:
    static Size bin_of(double importance) {
        return std::bit_cast<std::uint32_t>(static_cast<float>(importance)) >> 19 & (n_bins - 1);
    }

    static double start_of(Size bin) {
        return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bin) << 19));
    }

    double mass_of(Size bin) const {
        if (counts_[bin] == 0) return 0;
        return static_cast<double>(counts_[bin]) * 0.5 * (start_of(bin) + start_of(bin + 1));
    }

    std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(n_bins, 0);
};

/// A row of importance s is kept with probability p(s), and then stands for 1 / p(s) rows.
struct SamplingRule {
    double always = 0;          // rows of at least this importance are kept
    double probability = 1;     // of the others, if not proportional
    bool proportional = false;  // p = importance / always
    bool reweight = true;       // a kept row stands for those that were not

    /// 0: the row is not drawn; else how many rows it stands for. Without branches: the draw is
    /// unpredictable.  draw: below 1
    double multiplier(double importance, double draw) const {
        const double p = importance >= always ? 1.0 : proportional ? importance / always : probability;
        const double stands_for = reweight ? 1 / p : 1.0;
        return draw < p ? stands_for : 0.0;
    }
};

inline SamplingRule make_rule(const BoostOptions& o, const ImportanceCounts& counts) {
    const double n_rows = counts.n_rows();
    switch (o.sampling) {
        case Sampling::uniform:
            return {std::numeric_limits<double>::infinity(), o.subsample, false, false};
        case Sampling::goss: {
            const double rest = std::min(1.0, o.other_fraction / std::max(1 - o.top_fraction, 1e-9));
            return {counts.threshold_of_top(o.top_fraction * n_rows), rest, false, true};
        }
        case Sampling::mvs:
            return {counts.threshold_of_sum(o.subsample * n_rows), 1, true, true};
        default:
            return {};
    }
}

/// The draw of a row of a tree.
inline double uniform_draw(std::uint64_t tree_address, Size row) {
    return Draws(mix(mix(tree_address, 0x5A), row)).uniform();
}

}  // namespace spinney
