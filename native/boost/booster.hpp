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

/// An interface, so that bindings need not know the types of the kernels.
class Booster {
  public:
    virtual ~Booster() = default;

    /// y (n_outputs, n_rows): 1, or one per score; weights (n_rows,) or null; scores (n_rows, n_scores)
    virtual void set_rows(const double* y, Size n_outputs, const double* weights, const double* scores,
                          Size n_scores) = 0;

    /// Boost by a built-in loss: n_scores trees per round.
    virtual std::vector<FlatTree> run(const Loss& loss, Size n_rounds, Interrupt& interrupt) = 0;

    /// Boost one round by given gradients and hessians.  both (n_rows, n_scores), without weights
    /// bounded: the steps of leaves are bounded, as those of losses whose hessian depends on the score
    virtual std::vector<FlatTree> step(const double* gradient, const double* hessian, bool bounded,
                                       Interrupt& interrupt) = 0;

    /// The weighted mean of a loss.  weights (n_rows,), or null for those of training
    virtual double mean_loss(const Loss& loss, const double* weights) = 0;

    virtual const std::vector<std::vector<double>>& scores() const = 0;
    virtual const PhaseTimes& times() const = 0;
    virtual std::uint64_t round() const = 0;
    virtual Size n_rows() const = 0;
};

std::unique_ptr<Booster> make_booster(const CodeMatrix& x, BoostOptions options);

}  // namespace spinney
