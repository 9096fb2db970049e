// GrownTree and GrownForest: fitted trees on their way to Python, their arrays borrowed without copies.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

#include "core/types.hpp"
#include "grow/flat_tree.hpp"
#include "grow/forest_arrays.hpp"

namespace spinney {

/// A tree and the number of columns it was grown on.
struct GrownTree {
    FlatTree arrays;
    Size n_features;
};

/// The trees of a forest and the number of columns they were grown on.
struct GrownForest {
    ForestArrays arrays;
    Size n_features;
};

inline nanobind::list to_list(std::vector<FlatTree> trees, Size n_features) {
    nanobind::list out;
    for (FlatTree& tree : trees) out.append(nanobind::cast(GrownTree{std::move(tree), n_features}));
    return out;
}

}  // namespace spinney
