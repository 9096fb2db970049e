// GrownTree: a fitted tree on its way to Python, its arrays borrowed without copies.
#pragma once

#include <nanobind/nanobind.h>

#include <utility>
#include <vector>

#include "core/types.hpp"
#include "grow/flat_tree.hpp"

namespace spinney {

/// A tree and the number of columns it was grown on.
struct GrownTree {
    FlatTree arrays;
    Size n_features;
};

inline nanobind::list to_list(std::vector<FlatTree> trees, Size n_features) {
    nanobind::list out;
    for (FlatTree& tree : trees) out.append(nanobind::cast(GrownTree{std::move(tree), n_features}));
    return out;
}

}  // namespace spinney
