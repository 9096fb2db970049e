// The grower of boosted trees: few leaves, packed gradient/hessian sums, all threads on one node, or one
// thread to a tree.
//
// The rows of a node are a range of each chunk's list of rows, in ascending order. The histogram of the
// smaller child is built from its rows, that of the larger child by histogram subtraction.
#pragma once

#include <cstdint>
#include <memory>

#include "boost/boost_options.hpp"
#include "boost/boosted_tree.hpp"

namespace spinney {

class BoostedGrower {
  public:
    virtual ~BoostedGrower() = default;

    /// Grow one tree, leaf-wise, level-wise or symmetric.  address: of its random draws
    virtual BoostedTree grow(BoostRows& rows, std::uint64_t address, Interrupt& interrupt) = 0;
};

/// Borrows all three.
std::unique_ptr<BoostedGrower> make_boosted_grower(const BoostTable& table, const BoostOptions& options,
                                                   PhaseTimes& times);

}  // namespace spinney
