// Split candidates and the constraints on them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/split_kind.hpp"
#include "data/code_matrix.hpp"
#include "split/options.hpp"

namespace spinney {

/// One term of an oblique split: coefficient · x, with `fill` for a missing x.
struct LinearTerm {
    std::int32_t feature;
    double coefficient, fill;
};

/// Best split found on one feature, or the best oblique split.
struct Candidate {
    double score = kImpossible;  // compared between features
    double gain = 0;             // impurity decrease within the node
    double improvement = 0;      // weighted gain, compared with min_impurity_decrease
    double gain_ratio = 0;
    double charge = 0;  // numeric: what the choice of the threshold has taken off the gain
    std::int32_t feature = -1;
    SplitKind kind = SplitKind::leaf;
    Code threshold_bin = 0;  // numeric: codes up to this one go to child 0
    double threshold = 0;
    std::int32_t missing = -1;  // child of missing values; −1: the node has none
    bool unseen_left = false;   // category set: categories that are not in the node go to child 0
    bool constant = true;  // the node has one value only: the feature does not count towards max_features
    std::array<double, 2>
        child_values{};             // absolute error with monotonic constraints: medians of the children
    std::vector<Code> bins;         // category set: bins of child 0; multiway: the bin of each child
    std::vector<Code> seen;         // category set: all bins of the node
    std::vector<LinearTerm> terms;  // oblique split Σ coefficient · x ≤ threshold

    bool found() const { return kind != SplitKind::leaf; }
};

/// Constraints on the children of a split.
struct Limits {
    Stat min_weight = 1;  // in steps of weight_unit
    Stat min_count = 0;   // rows; 0: not checked
    bool monotone = false;
    int direction = 0;  // of the current feature: +1 increasing, −1 decreasing
    double lower = kImpossible, upper = -kImpossible;

    /// Select the current feature. As in scikit-learn, bounds are checked only for features with a monotonic
    /// constraint; node values are clipped to the bounds at the end.
    void set_direction(const std::vector<std::int8_t>& directions, std::int32_t feature) {
        direction = directions.empty() ? 0 : directions[static_cast<Size>(feature)];
        monotone = direction != 0;
    }
};

}  // namespace spinney
