// Values of the leaves of a boosted tree, and the fitted tree.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "boost/boost_options.hpp"
#include "boost/boosted_tree.hpp"
#include "boost/losses.hpp"
#include "core/exponential.hpp"
#include "grow/flat_tree.hpp"

namespace spinney {

/// Bound of a Newton step in the raw score, for losses whose hessian depends on it: a few rows with hessians
/// near zero (a rare class of a softmax, the tail of a gamma loss) would otherwise make a leaf of any size.
inline constexpr double kMaxStep = 4;

/// With GOSS and MVS, which draw large gradients more often, a leaf is fitted to all rows: the sample served
/// to find the splits.
inline bool fits_all_rows(const BoostOptions& o) {
    return o.sampling == Sampling::goss || o.sampling == Sampling::mvs;
}

/// Whether leaves are fitted to quantiles of the residuals, not by a Newton step.
inline bool fits_quantiles(LossName loss) {
    return loss == LossName::absolute || loss == LossName::quantile || loss == LossName::huber ||
           loss == LossName::adaptive_huber;
}

/// The Newton step of a leaf. Where the hessian is below the minimum there is none: a root that was not
/// split, or, without a penalty, a leaf of a symmetric tree, whose level is split as a whole.
inline double newton_step(const BoostOptions& o, const LeafSums& sums, bool is_root, LossName loss) {
    if (is_root && sums.hessian < o.min_hessian) return 0;
    if (o.symmetric() && sums.hessian + o.l2_regularization < o.min_hessian) return 0;
    const double step = -sums.gradient / (sums.hessian + o.l2_regularization);
    if (!std::isfinite(step)) return 0;
    return loss == LossName::squared ? step : std::clamp(step, -kMaxStep, kMaxStep);
}

/// The deviation of the noise on split scores: random_strength times that of the gradients. As in CatBoost it
/// fades once the sum of the learning rates of the rounds exceeds the logarithm of the number of rows.
/// squares: Σ w·g²; hessians: Σ w·h
inline double noise_deviation(const BoostOptions& o, std::uint64_t round, double n_counted, double squares,
                              double hessians) {
    const double shrinkage = exp_same_bits(-o.learning_rate * static_cast<double>(round));
    const double rest = n_counted * shrinkage;
    return o.random_strength * std::sqrt(squares / hessians) * rest / (1 + rest);
}

/// The fitted tree. The value of an inner node is the weighted mean of its leaves; its impurity is the gain
/// of its split.  sums, values (n_leaves,)
FlatTree flatten(BoostedTree& tree, const std::vector<LeafSums>& sums, const std::vector<double>& values);

}  // namespace spinney
