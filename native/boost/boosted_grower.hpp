// The grower of boosted trees: few leaves, packed gradient/hessian sums, all threads on one node.
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
    /// Borrows all three.
    BoostedGrower(const BoostTable& table, const BoostOptions& options, PhaseTimes& times);
    ~BoostedGrower();

    /// Grow one tree, leaf-wise, level-wise or symmetric.  address: of its random draws
    BoostedTree grow(BoostRows& rows, std::uint64_t address, Interrupt& interrupt);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace spinney
