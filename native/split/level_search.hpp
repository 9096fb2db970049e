// One split for all nodes of a level, as symmetric (oblivious) trees have it.
#pragma once

#include <array>
#include <cstdint>

#include "split/newton.hpp"

namespace spinney {

/// The split of a level of a symmetric tree: one split for all of its nodes, by the sum of their gains.
class LevelSearch {
  public:
    /// Begin with a feature.  bins (n_bins + 1,): its histogram over all nodes of the level
    void start(const Stat* bins, Size n_bins, bool categorical, const NewtonNode& facts);

    /// Add the gains of one node.  bins (n_bins + 1,)
    void add(const Stat* bins, Stat total);

    /// The split of largest total gain; its left sum is that of no node.
    NewtonSplit best() const;

    /// The sum of a node's rows that go left.  bins (n_bins + 1,)
    static Stat left_sum(const NewtonSplit& split, const Stat* bins, Size n_bins, bool categorical);

    /// Twice the loss reduction of splitting a node, in steps.
    static double gain_of(Stat left, Stat total, double l2);

  private:
    static constexpr Size padded = 256 + kRegister;

    void add_gains(std::array<double, padded>& gains, Stat extra, Stat total) const;

    Size n_ = 0, n_bins_ = 0;  // candidates; bins without the missing one
    bool categorical_ = false, subset_ = false, has_missing_ = false;
    double l2_ = 0;
    std::array<std::int32_t, padded> bins_{};      // bins of the candidates, in their order
    std::array<Stat, padded> sums_{};              // left sums of the candidates in one node
    std::array<double, padded> gains_{}, left_{};  // with missing values on the right, and on the left
};

}  // namespace spinney
