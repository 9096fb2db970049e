// The parts that make up a tree algorithm, chosen by the caller.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "split/criteria.hpp"
#include "core/types.hpp"

namespace spinney {

enum class CategorySplit : std::uint8_t { subset, one_vs_rest, multiway };
enum class CostRule : std::uint8_t { none, tan, tan_linear, nunez };
enum class LedgerLevel : std::uint8_t { off, features, thresholds };

struct GrowOptions {
    CriterionName criterion = CriterionName::gini;
    bool gain_ratio = false;  // choose by gain ratio among features of at least average gain
    bool random_splitter = false;
    CategorySplit categories = CategorySplit::subset;
    bool fractional = false;  // missing rows go to every child with a part of their weight
    bool use_once = false;    // a categorical feature is not used again below its node
    bool best_first = false;
    int max_depth = std::numeric_limits<int>::max();
    Size min_samples_split = 2;
    Size min_samples_leaf = 1;  // rows; with fractional rows, weight
    double min_weight_leaf = 0.0;
    double min_impurity_decrease = 0.0;
    double min_gain = -std::numeric_limits<double>::infinity();
    Size max_leaf_nodes = std::numeric_limits<Size>::max();
    int max_features = std::numeric_limits<int>::max();
    int oblique_directions = 0;  // > 0: also try linear tests
    CostRule cost_rule = CostRule::none;
    double omega = 1.0;
    std::vector<double> costs;          // (n_features,) with a cost rule
    std::vector<std::int8_t> monotone;  // (n_features,) or empty
    std::uint64_t seed = 0;
    std::uint64_t tie_seed =
        0;  // by which features with equal scores are put in order, beside the node's path
    int n_threads = 1;
    LedgerLevel ledger = LedgerLevel::off;

    /// Will anybody look at gain ratios?
    bool wants_ratio() const { return gain_ratio || ledger != LedgerLevel::off; }
};

/// What a gain is worth when the test that brings it costs this much.
inline double price_at_cost(const GrowOptions& o, double gain, double cost) {
    switch (o.cost_rule) {
        case CostRule::none:
            return gain;
        case CostRule::tan:
            return gain * gain / cost;
        case CostRule::tan_linear:
            return gain / cost;
        default:
            return (std::exp2(gain) - 1.0) / std::pow(cost + 1.0, o.omega);
    }
}

/// What a gain is worth when its feature has a price.
inline double price(const GrowOptions& o, double gain, int feature) {
    if (o.cost_rule == CostRule::none) return gain;
    return price_at_cost(o, gain, o.costs[static_cast<Size>(feature)]);
}

}  // namespace spinney
