// Forests: many trees on one table, each on a bootstrap sample.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "grow/bootstrap.hpp"
#include "grow/grow_tree.hpp"

namespace spinney {

/// What differs between the trees of a forest.
struct ForestPlan {
    const BootstrapSampler& sampler;
    std::span<const std::uint64_t> sample_seeds;  // (n_trees,)
    std::span<const std::uint64_t> tree_seeds;    // (n_trees,)
    const double* factors = nullptr;              // (n_rows,) factors of the counts of the rows, or null
    bool balanced = false;                        // balance the classes of each bootstrap sample
};

/// Grow one tree per pair of seeds, one thread per tree. The trees do not depend on the number of threads.
/// take(FlatTree&&) is called for one tree at a time, in order, on any thread.
void grow_forest(const TreeGrower& grower, const Target& target, const GrowOptions& options, bool exact,
                 const ForestPlan& plan, Interrupt& interrupt, const std::function<void(FlatTree&&)>& take);

}  // namespace spinney
