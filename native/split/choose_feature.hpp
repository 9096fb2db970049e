// The choice among the features' candidates.
#pragma once

#include <cmath>
#include <vector>

#include "split/sweep.hpp"

namespace spinney {

/// The order of features whose scores are equal: by number in the textbook's algorithms; else drawn anew in
/// each node, because in small nodes ties are the rule, and the first columns would win them all. A single
/// tree draws by the node's path alone: the same data give the same tree. The trees of a forest have seeds,
/// so that they do not all choose the same one of two features that tell the same.
inline std::uint64_t tie_order(const GrowOptions& o, std::uint64_t path, std::int32_t feature) {
    const bool textbook = o.gain_ratio() || o.categorical_split == CategorySplit::multiway;
    if (textbook || feature < 0) return feature < 0 ? ~std::uint64_t{0} : static_cast<std::uint64_t>(feature);
    return mix(path ^ o.tie_seed, static_cast<std::uint64_t>(feature)) >> 1;
}

/// Does a candidate take the place of the best one? Scores that are equal in theory may differ in the last
/// bits, so a better one must be better by more than that. `first` tells whether the candidate comes first
/// among equals.
template <class First>
bool replaces(double score, double best, First&& first) {
    const auto better = [](double a, double b) { return a > b + 1e-12 * std::abs(b); };
    return better(score, best) || (!better(best, score) && first());
}

/// Choose among the features' candidates (in ascending order of feature): the index of the best, or −1.
/// By gain ratio, only features of at least the average gain count (C4.5); prices replace the ratio.
inline int choose(const std::vector<Candidate>& candidates, const GrowOptions& o, std::uint64_t path) {
    double sum = 0;
    int n = 0, best = -1;
    for (const auto& c : candidates)
        if (c.found()) {
            sum += c.gain;
            ++n;
        }
    const bool by_ratio = o.gain_ratio() && o.cost_rule == CostRule::none;
    const double average = n ? sum / n : 0.0, least = average - 1e-12 * std::max(1.0, std::abs(average));
    double best_score = 0;
    std::uint64_t best_order = 0;
    for (int i = 0; i < static_cast<int>(candidates.size()); ++i) {
        const auto& c = candidates[static_cast<Size>(i)];
        if (!c.found() || (by_ratio && c.gain < least)) continue;
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
