// The scorer of the splits of one node after the other.
#pragma once

#include "split/context.hpp"
#include "split/scorer.hpp"

namespace spinney::detail {

/// What the searches of one node share.
template <Layout L, class Criterion>
struct NodeScorer {
    Limits limits;  // of the current feature
    SplitScorer<L, Criterion> scorer;
    double base = 0, weight = 0, weight_fraction = 0;

    explicit NodeScorer(const GrowContext& c) : limits(make_limits(c, {})), scorer(c.s, nullptr, limits) {}

    /// Switch to a node.
    void begin(const GrowContext& c, const NodeState& state, const Stat* total) {
        limits.lower = state.lower;
        limits.upper = state.upper;
        scorer.set_total(total);
        base = scorer.node_quality();
        weight = scorer.weight(total);
        weight_fraction = weight / c.all_weight;
    }
};

}  // namespace spinney::detail
