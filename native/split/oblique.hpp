// Oblique splits Σ w·x ≤ t: promising directions at a node, the best of them improved by coordinate search
// (as in OC1, Murthy et al. 1994) and pruned of the terms that do not matter.
#pragma once

#include <span>

#include "split/context.hpp"

namespace spinney {

/// Projection Σ coefficient · x of a training row. Columns have rank codes, so a code stands for its value.
double project(std::span<const LinearTerm> terms, const CodeMatrix& x, Row row);

/// Best oblique split of a node; not found if it would be no better than the best split on one feature, whose
/// score is given.
Candidate best_oblique_split(const GrowContext& context, const NodeState& state, const NodeRows& node,
                             const Stat* total, const Limits& limits, double axis_score);

}  // namespace spinney
