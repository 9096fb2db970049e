// Limits and feature order of a node.
#include "split/context.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/random.hpp"

namespace spinney {

Limits make_limits(const GrowContext& c, const NodeState& node) {
    const GrowOptions& o = c.options;
    Limits limits;
    limits.min_weight = std::max<Stat>(1, static_cast<Stat>(std::ceil(o.min_weight_leaf / c.s.weight_unit)));
    limits.min_count = o.min_samples_leaf <= 1 ? 0 : static_cast<Stat>(o.min_samples_leaf);
    limits.monotone = !o.monotonic_cst.empty();
    limits.lower = node.lower;
    limits.upper = node.upper;
    return limits;
}

std::vector<std::int32_t> feature_order(const GrowContext& c, const NodeState& node) {
    std::vector<std::int32_t> order;
    const auto d = static_cast<std::int32_t>(c.x.columns.size());
    order.reserve(static_cast<Size>(d));
    for (std::int32_t f = 0; f < d; ++f)
        if (!node.used || !(*node.used)[static_cast<Size>(f)]) order.push_back(f);
    if (static_cast<int>(order.size()) > c.options.max_features) {
        Draws draws(mix(node.address, kFeatureDraws));
        for (Size i = 0; i + 1 < order.size(); ++i)
            std::swap(order[i], order[i + draws.below(static_cast<std::uint32_t>(order.size() - i))]);
    }
    return order;
}

}  // namespace spinney
