// Oblique splits Σ w·x ≤ t: promising directions at a node, the best of them improved by coordinate search
// (as in OC1, Murthy et al. 1994) and pruned of the terms that do not matter.
#pragma once

#include "split/context.hpp"

namespace spinney {

/// Best oblique split of a node. Its candidate is not found if it would be no better than the best split on
/// one feature, whose score is given.
LinearSplit best_oblique_split(const GrowContext& context, const NodeState& state, const NodeRows& node,
                               const Stat* total, const Limits& limits, double axis_score);

}  // namespace spinney
