// GrowOptions: the parameters of a tree algorithm, under the names that Python uses.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "core/fields.hpp"
#include "core/types.hpp"

namespace spinney {

/// Score of a split that is not allowed.
inline constexpr double kImpossible = -std::numeric_limits<double>::infinity();

enum class CriterionName : std::uint8_t { gini, entropy, error, squared_error, poisson, absolute_error };
enum class SplitScore : std::uint8_t { gain, gain_ratio };
enum class Splitter : std::uint8_t { best, random };
/// How the categories of a node are divided.
enum class CategorySplit : std::uint8_t { subset, one_vs_rest, multiway };
enum class MissingRule : std::uint8_t { direction, fractional };
enum class CostRule : std::uint8_t { none, tan, tan_linear, nunez };
enum class LedgerLevel : std::uint8_t { off, features, thresholds };

template <>
inline constexpr std::array spellings<CriterionName>{"gini",          "entropy", "error",
                                                     "squared_error", "poisson", "absolute_error"};
template <>
inline constexpr std::array spellings<SplitScore>{"gain", "gain_ratio"};
template <>
inline constexpr std::array spellings<Splitter>{"best", "random"};
template <>
inline constexpr std::array spellings<CategorySplit>{"subset", "one-vs-rest", "multiway"};
template <>
inline constexpr std::array spellings<MissingRule>{"direction", "fractional"};
template <>
inline constexpr std::array spellings<CostRule>{"none", "tan", "tan-linear", "nunez"};

struct GrowOptions {
    CriterionName criterion = CriterionName::gini;
    SplitScore score = SplitScore::gain;  // gain_ratio: among features of at least average gain (C4.5)
    Splitter splitter = Splitter::best;
    CategorySplit categorical_split = CategorySplit::subset;
    MissingRule missing =
        MissingRule::direction;        // fractional: to every child with part of the weight (C4.5)
    bool use_categories_once = false;  // a categorical feature is not used again below its node
    int oblique_directions = 0;        // > 0: also search oblique splits
    int max_depth = std::numeric_limits<int>::max();
    Limit min_samples_split = 2;
    Limit min_samples_leaf = 1;  // rows; 1 with fractional instances, whose limit is min_weight_leaf
    double min_weight_leaf = 0.0;
    double min_impurity_decrease = 0.0;
    double min_gain = -std::numeric_limits<double>::infinity();
    double mdl_row_weight = 0.0;      // > 0: numeric splits are charged for their thresholds (C4.5 release 8)
    Limit max_leaf_nodes = kNoLimit;  // given: best-first growth
    int max_features = std::numeric_limits<int>::max();
    CostRule cost_rule = CostRule::none;
    double omega = 1.0;
    std::vector<double> feature_costs;       // (n_features,) with a cost rule
    std::vector<std::int8_t> monotonic_cst;  // (n_features,) or empty
    std::uint64_t seed = 0;
    std::uint64_t tie_seed = 0;  // orders features of equal score, together with the node's path
    int n_threads = 1;
    LedgerLevel ledger = LedgerLevel::off;

    bool gain_ratio() const { return score == SplitScore::gain_ratio; }
    bool random_splitter() const { return splitter == Splitter::random; }
    bool fractional() const { return missing == MissingRule::fractional; }
    bool best_first() const { return max_leaf_nodes != kNoLimit; }

    /// Whether gain ratios are used or recorded.
    bool needs_gain_ratio() const { return gain_ratio() || ledger != LedgerLevel::off; }

    /// Whether the histogram grower supports these options; the exact grower supports all.
    bool fit_histograms() const {
        return !fractional() && !gain_ratio() && categorical_split != CategorySplit::multiway &&
               criterion != CriterionName::absolute_error && ledger == LedgerLevel::off &&
               oblique_directions == 0;
    }

    static constexpr auto fields() {
        using O = GrowOptions;
        return std::make_tuple(
            SPINNEY_FIELD(O, criterion), SPINNEY_FIELD(O, score), SPINNEY_FIELD(O, splitter),
            SPINNEY_FIELD(O, categorical_split), SPINNEY_FIELD(O, missing),
            SPINNEY_FIELD(O, use_categories_once), SPINNEY_FIELD(O, oblique_directions),
            SPINNEY_FIELD(O, max_depth), SPINNEY_FIELD(O, min_samples_split),
            SPINNEY_FIELD(O, min_samples_leaf), SPINNEY_FIELD(O, min_weight_leaf),
            SPINNEY_FIELD(O, min_impurity_decrease), SPINNEY_FIELD(O, min_gain),
            SPINNEY_FIELD(O, mdl_row_weight), SPINNEY_FIELD(O, max_leaf_nodes),
            SPINNEY_FIELD(O, max_features), SPINNEY_FIELD(O, cost_rule), SPINNEY_FIELD(O, omega),
            SPINNEY_FIELD(O, feature_costs), SPINNEY_FIELD(O, monotonic_cst), SPINNEY_FIELD(O, seed),
            SPINNEY_FIELD(O, tie_seed), SPINNEY_FIELD(O, n_threads), SPINNEY_FIELD(O, ledger));
    }
};

/// Charge on the gain of a numeric split: the bits that tell which of the thresholds it is, per row with a
/// known value (Quinlan 1996).
inline double threshold_charge(const GrowOptions& o, Size n_thresholds, double weight) {
    if (o.mdl_row_weight <= 0 || n_thresholds == 0) return 0.0;
    return std::log2(static_cast<double>(n_thresholds)) * o.mdl_row_weight / weight;
}

/// Score of a gain under the attribute-cost rule (Tan 1993, Núñez 1991), for a split of this cost.
inline double score_at_cost(const GrowOptions& o, double gain, double cost) {
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

/// The same for a split on one feature.
inline double cost_adjusted(const GrowOptions& o, double gain, int feature) {
    if (o.cost_rule == CostRule::none) return gain;
    return score_at_cost(o, gain, o.feature_costs[static_cast<Size>(feature)]);
}

}  // namespace spinney
