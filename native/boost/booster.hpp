// The gradient booster: gradients of a loss, a tree on them, and new raw scores, round after round.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "boost/boost_options.hpp"
#include "boost/losses.hpp"
#include "data/code_matrix.hpp"
#include "grow/flat_tree.hpp"

namespace spinney {

class Booster {
  public:
    Booster(const CodeMatrix& x, BoostOptions options);
    ~Booster();

    /// y (n_rows,); weights (n_rows,) or null; scores (n_rows, n_scores)
    void set_rows(const double* y, const double* weights, const double* scores, Size n_scores);

    /// Boost by a built-in loss: n_scores trees per round.
    std::vector<FlatTree> run(const Loss& loss, Size n_rounds, Interrupt& interrupt);

    /// Boost one round by given gradients and hessians.  both (n_rows, n_scores), without weights
    std::vector<FlatTree> step(const double* gradient, const double* hessian, Interrupt& interrupt);

    /// The weighted mean of a loss.  weights (n_rows,), or null for those of training
    double mean_loss(const Loss& loss, const double* weights);

    const std::vector<std::vector<double>>& scores() const;
    const PhaseTimes& times() const;
    std::uint64_t round() const;
    Size n_rows() const;

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace spinney
