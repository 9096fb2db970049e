#include "boost/leaf_quantiles.hpp"

#include <algorithm>

#include "core/exponential.hpp"
#include "core/types.hpp"

namespace spinney {

namespace {

/// Bound of a leaf, in deltas that follow the residuals: in a leaf most of whose rows are outliers the median
/// is one of them. Rows that are no outliers reach their targets in a few rounds more.
constexpr double kMaxDeltas = 3;

}  // namespace

double weighted_quantile(std::span<Residual> residuals, double alpha) {
    if (residuals.empty()) return 0;
    std::sort(residuals.begin(), residuals.end());
    double total = 0, below = 0;
    for (const auto& [r, w] : residuals) total += w;
    const double wanted = alpha * total, slack = 1e-12 * total;
    for (Size i = 0; i + 1 < residuals.size(); ++i) {
        below += residuals[i].second;
        if (below > wanted + slack) return residuals[i].first;
        if (below >= wanted - slack) return residuals[i].first / 2 + residuals[i + 1].first / 2;
    }
    return residuals.back().first;
}

double huber_step(std::span<Residual> residuals, double delta) {
    const double median = weighted_quantile(residuals, 0.5);
    double sum = 0, total = 0;
    for (const auto& [r, w] : residuals) {
        sum += w * hold(r - median, -delta, delta);
        total += w;
    }
    return total > 0 ? median + sum / total : median;
}

double fit_residuals(std::span<Residual> residuals, const Loss& loss, Size k) {
    if (loss.name == LossName::absolute) return weighted_quantile(residuals, 0.5);
    const double parameter = loss.parameter(k);
    if (loss.name == LossName::quantile) return weighted_quantile(residuals, parameter);
    const double step = huber_step(residuals, parameter), most = kMaxDeltas * parameter;
    return loss.name == LossName::adaptive_huber ? hold(step, -most, most) : step;
}

}  // namespace spinney
