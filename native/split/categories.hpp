// Splits on categorical features: two sets of categories, or one child per category.
#pragma once

#include <vector>

#include "split/sweep.hpp"

namespace spinney {

/// Sums per category of a node: code (g,) ascending, sums (g, width).
struct CategorySums {
    std::vector<Code> code;
    std::vector<Stat> sums;
    Size size() const { return code.size(); }
    void clear() {
        code.clear();
        sums.clear();
    }
};

/// Best division of the categories into two sets.
Candidate best_category_set(ScorerBase& scorer, const FeatureSearch& q, const CategorySums& groups);

/// Multiway split: one child per category in the node.
Candidate multiway_split(ScorerBase& scorer, const FeatureSearch& q, const CategorySums& groups);

}  // namespace spinney
