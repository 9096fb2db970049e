#include "split/level_search.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/random.hpp"
#include "simd/register_loops.hpp"
#include "split/packed_registers.hpp"

namespace spinney {

namespace {

/// G²/H of both sides; a side without rows has none.
template <class V>
[[gnu::always_inline]] inline V split_quality(V gl, V hl, V gr, V hr, double l2) {
    const V dl = hl + l2, dr = hr + l2;
    const V one = V{} + 1.0;
    const V left = dl > 0.0 ? dl : one, right = dr > 0.0 ? dr : one;
    return (gl * gl * right + gr * gr * left) / (left * right);
}

/// A draw with mean 0 and deviation 1: the sum of four uniform ones, nearly normal and the same everywhere.
double normal_draw(std::uint64_t address, std::uint64_t counter) {
    const std::uint64_t bits = mix(address, counter);
    std::uint64_t sum = 0;
    for (int shift = 0; shift < 64; shift += 16) sum += bits >> shift & 0xFFFF;
    constexpr double kRootOfThree = 1.7320508075688772;  // the sum has variance 4/12
    return (static_cast<double>(sum) / 65536 - 2) * kRootOfThree;
}

constexpr double kLargestDraw = 3.4642;

/// Added to the numbers of draws for candidates with missing values on the left. Models depend on it, so it
/// may not change, nor depend on the width of registers.
constexpr std::uint64_t kMissingLeftDraws = 264;

/// Whether none of some gains can have a score above `score`, which is at least 0, whatever their noise is.
[[gnu::always_inline]] inline bool all_below(const double* gains, Size n, const ScoreNoise& noise,
                                             double score) {
    Register best = load_register(gains, n);
    if (noise.deviation > 0)
        best = root((best + noise.parents) * noise.unit) + noise.deviation * kLargestDraw;
    for (Size i = n; i < kRegister; ++i) best[i] = score;
    return nonzero_lanes(best > score) == 0;
}

}  // namespace

void LevelSearch::start(const Stat* bins, Size n_bins, bool categorical, const NewtonNode& facts) {
    n_ = 0;
    n_bins_ = n_bins;
    categorical_ = categorical;
    has_missing_ = !categorical && bins[n_bins] != 0;
    for (Size code = 0; code < n_bins + categorical; ++code)
        if (bins[code] != 0) bins_[n_++] = static_cast<std::int32_t>(code);
    subset_ = categorical && facts.categories == CategorySplit::subset && n_ > 2;
    l2_ = facts.l2 + (subset_ ? facts.category_l2 : 0.0);
    if (subset_) {
        std::array<double, padded> ratio;
        for (Size i = 0; i < n_; ++i) {
            const Stat sum = bins[bins_[i]];
            ratio[static_cast<Size>(bins_[i])] =
                static_cast<double>(gradient_of(sum)) /
                (static_cast<double>(hessian_of(sum)) + facts.category_smoothing);
        }
        std::stable_sort(bins_.begin(), bins_.begin() + static_cast<long>(n_),
                         [&](std::int32_t a, std::int32_t b) {
                             return ratio[static_cast<Size>(a)] < ratio[static_cast<Size>(b)];
                         });
    }
    // All known values on one side are a split only where missing ones are on the other.
    const bool with_last = has_missing_ || (categorical_ && !subset_);
    tried_ = facts.candidates(n_, with_last);
    if (!facts.random && n_ > 0 && !with_last) --tried_.end;
    std::fill_n(gains_.begin(), n_ + kRegister, 0.0);
    if (has_missing_) std::fill_n(left_.begin(), n_ + kRegister, 0.0);
}

// Aligned: where its loop crosses a cache line, which depends on what is linked before, fits take 4 % longer.
[[gnu::aligned(64)]] void LevelSearch::add(const Stat* bins, Stat total) {
    Stat sum = 0;
    const bool prefix = !categorical_ || subset_;
    for (Size i = 0; i < n_; ++i) {
        const Stat bin = bins[bins_[i]];
        sums_[i] = prefix ? sum += bin : bin;
    }
    add_gains(gains_, 0, total);
    if (has_missing_) add_gains(left_, bins[n_bins_], total);
}

void LevelSearch::add_gains(std::array<double, padded>& gains, Stat extra, Stat total) const {
    const double g = static_cast<double>(gradient_of(total)), h = static_cast<double>(hessian_of(total));
    const double whole = quality_of(total, l2_);
    for (Size i = tried_.begin; i < tried_.end; i += kRegister) {
        StatRegister left;
        std::memcpy(&left, sums_.data() + i, sizeof left);
        left += extra;
        const Register gl = gradients_of(left), hl = hessians_of(left);
        Register sum;
        std::memcpy(&sum, gains.data() + i, sizeof sum);
        sum += split_quality<Register>(gl, hl, g - gl, h - hl, l2_) - whole;
        std::memcpy(gains.data() + i, &sum, sizeof sum);
    }
}

LevelSplit LevelSearch::best(const ScoreNoise& noise, std::uint64_t address) const {
    LevelSplit found;
    NewtonSplit& out = found.split;
    if (n_ == 0) return found;
    Size at = 0;
    const auto score_of = [&](double gain, std::uint64_t candidate) {
        if (noise.deviation == 0 || !(gain > 0)) return gain;
        const double score = std::sqrt((gain + noise.parents) * noise.unit);
        return std::max(score + noise.deviation * normal_draw(address, candidate), 0.0);
    };
    const auto look = [&](const std::array<double, padded>& gains, Candidates tried, std::int32_t missing) {
        for (Size begin = tried.begin; begin < tried.end; begin += kRegister) {
            const Size end = std::min(begin + kRegister, tried.end);
            if (found.score >= 0 && all_below(gains.data() + begin, end - begin, noise, found.score))
                continue;
            for (Size i = begin; i < end; ++i) {
                const double score = score_of(gains[i], missing == 0 ? i + kMissingLeftDraws : i);
                if (!(score > found.score)) continue;
                found.score = score;
                out.gain = gains[i];
                out.missing = missing;
                at = i;
            }
        }
    };
    look(gains_, tried_, has_missing_ ? 1 : -1);
    if (has_missing_) look(left_, {tried_.begin, std::min(tried_.end, n_ - 1)}, 0);
    if (!out.found()) return found;
    if (!categorical_) {
        out.last = at + 1 == n_;
        out.threshold_bin =
            out.last ? static_cast<std::int32_t>(n_bins_) - 1 : (bins_[at] + bins_[at + 1] - 1) / 2;
        return found;
    }
    const auto missing = static_cast<Code>(n_bins_);
    for (Size i = subset_ ? 0 : at; i <= at; ++i) out.set.put(static_cast<Code>(bins_[i]));
    for (Size i = 0; i < n_; ++i) out.seen.put(static_cast<Code>(bins_[i]));
    if (out.seen.holds(missing)) out.missing = out.set.holds(missing) ? 0 : 1;
    if (out.set.size() == 1 && out.missing == 0) {  // a set must contain a category
        out.set = out.seen;
        out.missing = 1;
    }
    return found;
}

Stat LevelSearch::left_sum(const NewtonSplit& split, const Stat* bins, Size n_bins, bool categorical) {
    Stat sum = split.missing == 0 ? bins[n_bins] : 0;
    for (Size code = 0; code < n_bins; ++code)
        if (categorical ? split.set.holds(static_cast<Code>(code))
                        : static_cast<std::int32_t>(code) <= split.threshold_bin)
            sum += bins[code];
    return sum;
}

double LevelSearch::quality_of(Stat sum, double l2) {
    const double g = static_cast<double>(gradient_of(sum)), h = static_cast<double>(hessian_of(sum)) + l2;
    return h > 0 ? g * g / h : 0.0;
}

double LevelSearch::gain_of(Stat left, Stat total, double l2) {
    return quality_of(left, l2) + quality_of(total - left, l2) - quality_of(total, l2);
}

}  // namespace spinney
