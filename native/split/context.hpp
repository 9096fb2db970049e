// What the searches know about the tree and about the current node.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

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
Limits make_limits(const GrowContext& c, const NodeState& node);

/// Address, within a node's, of the draws of features.
inline constexpr std::uint64_t kFeatureDraws = 0xFEA7;

/// Order in which the features of the node are searched: ascending, or drawn without replacement.
std::vector<std::int32_t> feature_order(const GrowContext& c, const NodeState& node);

}  // namespace spinney
