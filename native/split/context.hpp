// What the searches know about the tree and about the current node.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "core/thread_pool.hpp"
#include "data/code_matrix.hpp"
#include "data/code_starts.hpp"
#include "split/candidate.hpp"
#include "split/node_values.hpp"
#include "split/options.hpp"

namespace spinney {

/// What is fixed for the whole tree.
struct GrowContext {
    const CodeMatrix& x;
    const Target& target;
    const Statistics& s;
    const GrowOptions& options;
    const NodeValues& node_values;
    Interrupt& interrupt;
    double all_weight = 0;                 // of the rows in the root
    std::span<const CodeStarts> starts{};  // (n_features,), for random thresholds on bin codes
};

/// What every grower knows about a node that is not split yet.
struct NodeState {
    Node id = 0;  // in its fragment
    int depth = 0;
    std::uint64_t address = 0;  // of its random draws
    std::uint64_t path = 0;     // the same without the seed
    double lower = kImpossible, upper = -kImpossible;
    std::shared_ptr<const std::vector<bool>> used;  // features that must not be used again; null: none
};

inline double weight_of(const GrowContext& c, const Stat* sum) {
    return static_cast<double>(c.s.weight_steps(sum)) * c.s.weight_unit;
}

/// Limits of children, in the units of the sums.
inline Limits make_limits(const GrowContext& c, const NodeState& node) {
    const GrowOptions& o = c.options;
    Limits limits;
    limits.min_weight = std::max<Stat>(1, static_cast<Stat>(std::ceil(o.min_weight_leaf / c.s.weight_unit)));
    limits.min_count = o.min_samples_leaf <= 1 ? 0 : static_cast<Stat>(o.min_samples_leaf);
    limits.monotone = !o.monotonic_cst.empty();
    limits.lower = node.lower;
    limits.upper = node.upper;
    return limits;
}

/// Address, within a node's, of the draws of features.
inline constexpr std::uint64_t kFeatureDraws = 0xFEA7;

/// Order in which the features of the node are searched: ascending, or drawn without replacement.
inline std::vector<std::int32_t> feature_order(const GrowContext& c, const NodeState& node) {
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
