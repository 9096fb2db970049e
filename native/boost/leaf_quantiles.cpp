#include "boost/leaf_quantiles.hpp"

#include <algorithm>

#include "core/exponential.hpp"
#include "core/types.hpp"

namespace spinney {

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

}  // namespace spinney
