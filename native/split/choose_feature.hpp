// The choice among the candidates of the features.
#pragma once

#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "split/candidate.hpp"
#include "split/options.hpp"

namespace spinney {

/// Rank of a feature among features with equal scores: its index in ID3 and C4.5, otherwise a hash per node,
/// because ties are common in small nodes and the first columns would win all of them. A single tree hashes
/// the node's path only, so the same data give the same tree. Trees of a forest add their seed, so that they
/// do not all choose the same one of two equivalent features.
inline std::uint64_t tie_order(const GrowOptions& o, std::uint64_t path, std::int32_t feature) {
    const bool textbook = o.gain_ratio() || o.categorical_split == CategorySplit::multiway;
    if (textbook || feature < 0) return feature < 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(feature);
    return mix(path ^ o.tie_seed, static_cast<std::uint64_t>(feature)) >> 1;
}

/// Whether a candidate replaces the best one. Scores that are equal in exact arithmetic may differ in the
/// last bits, so a better score must exceed them by more than that. `first`: whether the candidate wins ties.
template <class First>
bool replaces(double score, double best, First&& first) {
    const auto better = [](double a, double b) { return a > b + 1e-12 * std::abs(b); };
    return better(score, best) || (!better(best, score) && first());
}

/// Index of the best candidate, or −1. Candidates are in ascending order of feature. With gain ratio, only
/// features of at least average gain are eligible (C4.5); attribute costs replace the ratio.
inline int choose(const std::vector<Candidate>& candidates, const GrowOptions& o, std::uint64_t path) {
    double sum = 0;
    int n = 0, best = -1;
    for (const auto& c : candidates)
        if (c.found()) {
            sum += c.gain;
            ++n;
        }
    const bool by_ratio = o.gain_ratio() && o.cost_rule == CostRule::none;
    const double average = n ? sum / n : 0.0, min_gain = average - 1e-12 * std::max(1.0, std::abs(average));
    double best_score = 0;
    std::uint64_t best_order = 0;
    for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
        const auto& c = candidates[static_cast<Size>(i)];
        if (!c.found() || (by_ratio && c.gain < min_gain)) continue;
        const double score = by_ratio ? c.gain_ratio : c.score;
        const std::uint64_t order = tie_order(o, path, c.feature);
        if (best < 0 || replaces(score, best_score, [&] { return order < best_order; })) {
            best_score = score;
            best_order = order;
            best = i;
        }
    }
    return best;
}

}  // namespace spinney
