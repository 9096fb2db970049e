#include "boost/row_sampling.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/random.hpp"
#include "simd/register_loops.hpp"

namespace spinney {

namespace {

constexpr Size n_bins = 4096;

double start_of(Size bin) {
    return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bin) << 19));
}

/// Counts of importances by the upper bits of their float: integers, so threads may count in any order. A bin
/// spans a sixteenth of a power of two.
class ImportanceCounts {
  public:
    void add(double importance) {
        ++counts_[std::bit_cast<std::uint32_t>(static_cast<float>(importance)) >> 19 & (n_bins - 1)];
    }

    void merge(const ImportanceCounts& other) {
        for (Size i = 0; i < n_bins; ++i) counts_[i] += other.counts_[i];
    }

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
        for (Size i = 0; i < n_bins; ++i) below += mass_of(i);
        for (Size i = n_bins; i-- > 1;) {
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
    /// unpredictable.
    double multiplier(double importance, std::uint64_t address) const {
        const bool sure = importance >= always;
        const double p = sure ? 1.0 : proportional ? importance / always : probability;
        const bool kept = sure | (Draws(address).uniform() < p);
        const double stands_for = reweight ? 1 / p : 1.0;
        return kept ? stands_for : 0.0;
    }
};

SamplingRule make_rule(const BoostOptions& o, const ImportanceCounts& counts) {
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

/// Write the importance of each row, and count those of rows with weight. The importance of a row is what it
/// may add to a gain: its gradient and, for MVS, its hessian times the mean gradient per hessian.
ImportanceCounts find_importances(double* importance, const BoostTable& table, const BoostOptions& o,
                                  const BoostTarget& target, const double* gradient, const double* hessian,
                                  const GradientSums& sums) {
    const double slope =
        o.sampling == Sampling::goss || !(sums.hessian > 0) ? 0.0 : sums.gradient / sums.hessian;
    std::vector<ImportanceCounts> counts(static_cast<Size>(o.n_threads));
    Pool::shared().parallel_for(o.n_threads, table.n_chunks(), [&](Size c, int thread) {
        const Size begin = c * kChunkRows, end = begin + table.chunk_size(c);
        const double* weights = target.weights_or_null();
        ImportanceCounts& own = counts[static_cast<Size>(thread)];
        for_registers(begin, end, [&](Size r, Size m, Size) {
            const Register g = load_register(gradient + r, m), h = slope * load_register(hessian + r, m);
            const Register w = weights ? load_register(weights + r, m) : every<Register>(1.0);
            const Register s = w * root(g * g + h * h);
            store_register(importance + r, s, m);
            for (Size i = 0; i < m; ++i)
                if (w[i] > 0) own.add(s[i]);
        });
    });
    ImportanceCounts all;
    for (const auto& part : counts) all.merge(part);
    return all;
}

}  // namespace

GradientSums draw_rows(std::vector<double>& multiplier, const BoostTable& table, const BoostOptions& o,
                       const BoostTarget& target, const double* gradient, const double* hessian,
                       const GradientSums& sums, std::uint64_t address) {
    const Size n_chunks = table.n_chunks();
    multiplier.resize(table.x.n_rows);
    ImportanceCounts counts;
    if (o.sampling != Sampling::uniform)
        counts = find_importances(multiplier.data(), table, o, target, gradient, hessian, sums);
    const SamplingRule rule = make_rule(o, counts);
    std::vector<GradientSums> parts(n_chunks);
    Pool::shared().parallel_for(o.n_threads, n_chunks, [&](Size c, int) {
        const Size begin = c * kChunkRows, end = begin + table.chunk_size(c);
        const std::uint64_t stream = mix(address, 0x5A);
        const double *g = gradient, *h = hessian, *weights = target.weights_or_null();
        double* out = multiplier.data();
        GradientSums sum;
        for (Size r = begin; r < end; ++r) {
            const double w = weights ? weights[r] : 1.0;
            const double m = w > 0 ? rule.multiplier(out[r], mix(stream, r)) : 0.0;
            out[r] = m;
            sum.gradient += w * m * std::abs(g[r]);
            sum.hessian += w * m * h[r];
        }
        parts[c] = sum;
    });
    GradientSums drawn;
    for (const GradientSums& part : parts) {
        drawn.gradient += part.gradient;
        drawn.hessian += part.hessian;
    }
    return drawn;
}

}  // namespace spinney
