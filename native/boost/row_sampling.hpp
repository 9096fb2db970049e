// Which rows a boosted tree is grown on: drawn evenly, by gradient (GOSS) or for least variance (MVS).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "boost/boost_options.hpp"
#include "core/random.hpp"

namespace spinney {

/// How rows are drawn: a row of importance s is kept with probability p(s), and counts 1 / p(s) times.
struct SamplingRule {
    double always = 0;            // rows of at least this importance are kept
    double chance = 1;            // of the others, if not proportional
    bool proportional = false;    // p = importance / always
    bool counts_for_more = true;  // a kept row stands for those that were not

    /// 0: the row is out; else how many rows it stands for. Chance decides, so there is no branch to foresee.
    double multiplier(double importance, std::uint64_t address) const {
        const bool sure = importance >= always;
        const double p = sure ? 1.0 : proportional ? importance / always : chance;
        const bool kept = sure | (Draws(address).uniform() < p);
        const double stands_for = counts_for_more ? 1 / p : 1.0;
        return kept ? stands_for : 0.0;
    }
};

/// Counts of importances by the upper bits of their float: whole numbers, so threads may count in any order.
/// A bin spans a sixteenth of a power of two.
class ImportanceCounts {
  public:
    static constexpr Size n_bins = 4096;
    ImportanceCounts() : counts_(n_bins, 0) {}

    void add(double importance) { ++counts_[bin_of(importance)]; }
    void merge(const ImportanceCounts& other) {
        for (Size i = 0; i < n_bins; ++i) counts_[i] += other.counts_[i];
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

    /// The μ for which the chances min(1, s / μ) add up to about `wanted`.
    double threshold_of_sum(double wanted) const {
        double below = 0, above = 0;
        for (Size i = 0; i < n_bins; ++i) below += mass_of(i);
        for (Size i = n_bins; i-- > 1;) {
            // Were every bin from i on kept for sure, μ would be start_of(i).
            above += static_cast<double>(counts_[i]);
            below -= mass_of(i);
            if (above + below / start_of(i) >= wanted) {
                // The answer is in bin i: its rows are then below μ.
                const double rest = wanted - (above - static_cast<double>(counts_[i]));
                return rest > 0 ? std::max((below + mass_of(i)) / rest, start_of(i)) : start_of(i + 1);
            }
        }
        return 0;
    }

  private:
    static Size bin_of(double s) {
        return static_cast<Size>(std::bit_cast<std::uint32_t>(static_cast<float>(s)) >> 19) % n_bins;
    }
    static double start_of(Size bin) {
        return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bin) << 19));
    }
    double mass_of(Size bin) const {
        if (counts_[bin] == 0) return 0;
        return static_cast<double>(counts_[bin]) * 0.5 * (start_of(bin) + start_of(bin + 1));
    }
    std::vector<std::int64_t> counts_;
};

/// The rule for a tree on n_rows rows, whose importances were counted.
inline SamplingRule make_rule(const BoostOptions& o, const ImportanceCounts& counts, double n_rows) {
    SamplingRule rule;
    switch (o.sampling) {
        case Sampling::uniform:
            rule = {std::numeric_limits<double>::infinity(), o.row_fraction, false, false};
            break;
        case Sampling::gradient: {
            const double rest = std::min(1.0, o.other_fraction / std::max(1 - o.top_fraction, 1e-9));
            rule = {counts.threshold_of_top(o.top_fraction * n_rows), rest, false, true};
            break;
        }
        case Sampling::variance:
            rule = {counts.threshold_of_sum(o.row_fraction * n_rows), 1, true, true};
            break;
        default:
            break;
    }
    return rule;
}

}  // namespace spinney
