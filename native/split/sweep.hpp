// The sweep over the thresholds of a numeric feature of a node.
#pragma once

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "data/code_matrix.hpp"
#include "split/options.hpp"
#include "split/scorer.hpp"

namespace spinney {

namespace detail {

/// Entropy of a split into two parts of these weights.
inline double split_information(double left, double right) {
    const double w = left + right;
    return (xlog2x(w) - xlog2x(left) - xlog2x(right)) / w;
}

}  // namespace detail

/// Draw a random threshold between the values of two codes (Extra-Trees).
inline double draw_threshold(const CodeColumn& c, Code first, Code last, std::uint64_t address) {
    const double lo = c.max_of(first), hi = c.min_of(last), u = Draws(address).uniform();
    // lo + u·(hi − lo) could overflow; rounding must not reach hi.
    const double drawn = lo * (1 - u) + hi * u;
    return drawn < hi ? drawn : std::nextafter(hi, lo);
}

/// Inputs of the search on one feature of one node.
struct FeatureSearch {
    const Statistics& s;
    const GrowOptions& options;
    const CodeColumn& column;
    std::int32_t feature;
    const Stat* total;    // sum over all rows; over rows with a known value with fractional instances
    const Stat* missing;  // sum over the rows with a missing value; null: none, or fractional instances
    const Limits& limits;
    double known_fraction = 1.0;  // of the weight, with fractional instances
    double node_weight_fraction = 1.0;
    std::uint64_t address = 0;  // of the random draws
    Stat* keep_left = nullptr;  // (width,) receives the left sum of the best split, or null
};

/// Fill in the scores of the best split, after out.charge.  left (width,): its left sum
inline void finish(Candidate& out, ScorerBase& scorer, const FeatureSearch& q, double quality,
                   const Stat* left) {
    const double w = scorer.weight(q.total), base = scorer.quality(q.total);
    out.feature = q.feature;
    out.gain = q.known_fraction * (quality - base) / w;
    out.improvement = q.node_weight_fraction * out.gain;
    out.gain -= out.charge;
    if (q.options.needs_gain_ratio()) {
        const double wl = scorer.weight(left);
        const double information = detail::split_information(wl, w - wl);
        out.gain_ratio = information > 0 ? out.gain / information : 0.0;
    }
    out.score = cost_adjusted(q.options, out.gain, q.feature);
    if (q.keep_left) std::copy_n(left, q.s.width, q.keep_left);
}

/// Sweep the thresholds of a numeric feature in ascending order.
/// Groups: bool next(Code&, Stat* sum) adds the next group of equal code to sum; bool more() const.
/// each(threshold(), quality, missing, copy_left(sum)) is called for every candidate (for the ledger).
template <class Groups, class Each>
Candidate sweep_numeric(ScorerBase& scorer, const FeatureSearch& q, Groups& groups, Each&& each) {
    const Size width = static_cast<Size>(q.s.width);
    Buffer<Stat, 24> sums(2 * width);
    Stat *left = sums.data(), *best_left = left + width;
    std::fill_n(left, width, 0);

    Candidate out;
    Code before = 0;
    if (!groups.next(before, left)) return out;
    out.constant = !groups.more() && !q.missing;
    const CodeColumn& c = q.column;
    constexpr Code none = ~Code{0};
    double quality = kImpossible;
    Code after_best = none;
    // Thresholds are computed last: the values of a column's codes are scattered in memory.
    const auto threshold = [&](Code bin, Code after) {
        return after == none ? DBL_MAX : midpoint(c.max_of(bin), c.min_of(after));
    };
    // Candidates are scored one register at a time.
    struct Waiting {
        Code before, after;
        std::int32_t missing;
    };
    std::array<Waiting, kRegister> waiting;
    Buffer<Stat, 24 * kRegister> left_sums(width * kRegister);
    std::fill_n(left_sums.data(), width * kRegister, 0);  // unused lanes are scored as well
    Size n_waiting = 0, n_allowed = 0;
    const auto score_waiting = [&] {
        std::array<double, kRegister> value;
        scorer.score_all(left_sums.data(), value.data());
        for (Size i = 0; i < n_waiting; ++i) {
            const Waiting& w = waiting[i];
            each([&] { return threshold(w.before, w.after); }, value[i], w.missing,
                 [&](Stat* sum) {
                     for (Size k = 0; k < width; ++k) sum[k] = left_sums[k * kRegister + i];
                 });
            n_allowed += value[i] > kImpossible;
            if (!(value[i] > quality)) continue;
            quality = value[i];
            out.threshold_bin = w.before;
            after_best = w.after;
            out.missing = w.missing;
            for (Size k = 0; k < width; ++k) best_left[k] = left_sums[k * kRegister + i];
        }
        n_waiting = 0;
    };
    const auto offer = [&](const Stat* extra, Code after, std::int32_t missing) {
        for (Size w = 0; w < width; ++w)
            left_sums[w * kRegister + n_waiting] = left[w] + (extra ? extra[w] : 0);
        waiting[n_waiting++] = {before, after, missing};
        if (n_waiting == kRegister) score_waiting();
    };
    const auto offer_both = [&](Code after) {
        offer(nullptr, after, q.missing ? 1 : -1);
        if (q.missing) offer(q.missing, after, 0);
    };
    // Extra-Trees: one threshold, drawn between the first bin and the last.
    const bool random = q.options.random_splitter();
    const double drawn = random ? draw_threshold(c, before, groups.last(), q.address) : 0.0;
    for (; groups.more(); groups.next(before, left)) {
        const Code after = groups.peek();
        if (random && drawn >= c.min_of(after)) continue;
        offer_both(after);
        if (random) break;
    }
    // Known against missing values: the threshold is the largest double.
    if (q.missing && !groups.more()) offer(nullptr, none, 1);
    if (n_waiting > 0) score_waiting();
    if (quality == kImpossible) return out;
    out.kind = SplitKind::numeric;
    out.threshold = threshold(out.threshold_bin, after_best);
    if (random && after_best != none && drawn >= c.max_of(out.threshold_bin)) out.threshold = drawn;
    out.charge = threshold_charge(q.options, n_allowed, scorer.weight(q.total));
    finish(out, scorer, q, quality, best_left);
    // As in C4.5, a feature whose gain does not pay for its threshold does not count in the average gain.
    if (out.charge > 0 && out.gain <= 0) out.kind = SplitKind::leaf;
    return out;
}

}  // namespace spinney
