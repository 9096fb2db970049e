// One split for all nodes of a level, as symmetric (oblivious) trees have it.
#pragma once

#include <array>
#include <cstdint>

#include "split/newton.hpp"

namespace spinney {

/// Normal noise on the scores of a level's candidates, CatBoost's random strength. A score is the root of the
/// sum of G²/H over the children, so that noise matters most where scores are small.
struct ScoreNoise {
    double deviation = 0;  // 0: candidates are compared by their gain
    double unit = 1;       // real value of one step of G²/H
    double parents = 0;    // sum of G²/H over the nodes of the level, in steps
};

/// The best split of a feature for a level, and its score.
struct LevelSplit {
    NewtonSplit split;
    double score = kImpossible;
};

/// The split of a level of a symmetric tree: one split for all of its nodes, by the sum of their gains.
class LevelSearch {
  public:
    /// Begin with a feature.  bins (n_bins + 1,): its histogram over all nodes of the level
    void start(const Stat* bins, Size n_bins, bool categorical, const NewtonNode& facts);

    /// Add the gains of one node.  bins (n_bins + 1,)
    void add(const Stat* bins, Stat total);

    /// The split of largest total gain, or of largest score with noise; its left sum is that of no node.
    /// address: of the random draws
    LevelSplit best(const ScoreNoise& noise = {}, std::uint64_t address = 0) const;

    /// The sum of a node's rows that go left.  bins (n_bins + 1,)
    static Stat left_sum(const NewtonSplit& split, const Stat* bins, Size n_bins, bool categorical);

    /// G²/H of a node, in steps.
    static double quality_of(Stat sum, double l2);

    /// Twice the loss reduction of splitting a node, in steps.
    static double gain_of(Stat left, Stat total, double l2);

  private:
    static constexpr Size padded = 256 + kRegister;

    void add_gains(std::array<double, padded>& gains, Stat extra, Stat total) const;

    Size n_ = 0, n_bins_ = 0;  // candidates; bins without the missing one
    Candidates tried_;
    bool categorical_ = false, subset_ = false, has_missing_ = false;
    double l2_ = 0;
    std::array<std::int32_t, padded> bins_{};      // bins of the candidates, in their order
    std::array<Stat, padded> sums_{};              // left sums of the candidates in one node
    std::array<double, padded> gains_{}, left_{};  // with missing values on the right, and on the left
};

}  // namespace spinney
