// The losses of gradient boosting: value, gradient and hessian in the raw score.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/fields.hpp"
#include "core/types.hpp"

namespace spinney {

enum class LossName : std::uint8_t {
    squared,
    absolute,
    quantile,
    huber,
    adaptive_huber,
    poisson,
    gamma,
    tweedie,
    log,
    softmax,
    exponential
};

template <>
inline constexpr std::array spellings<LossName>{
    "squared", "absolute", "quantile", "huber",   "adaptive_huber", "poisson",
    "gamma",   "tweedie",  "log",      "softmax", "exponential"};

/// A loss and its parameter: the level of a quantile, delta of Huber, the power of Tweedie. It is one number
/// for all scores, or one per score. "adaptive_huber" is Huber with the delta of one round, which follows the
/// residuals; its leaves are bounded by it.
struct Loss {
    LossName name = LossName::squared;
    std::vector<double> parameters;

    double parameter(Size k) const { return parameters[parameters.size() == 1 ? 0 : k]; }
};

/// Sums over the rows with weight, of absolute gradients and of hessians, each times the weight of the row.
struct GradientSums {
    double gradient = 0, hessian = 0;
};

/// Sums over the rows of a leaf, as real numbers.
struct LeafSums {
    double gradient = 0, hessian = 0, weight = 0;
};

/// Smaller hessians are raised to this: every row has one.
inline constexpr double kMinHessian = 1e-16;

/// Targets, weights and raw scores, borrowed.
struct LossRows {
    const double* y;                        // (n_outputs, n_rows)
    Size n_outputs, n_rows;                 // 1 output, or one per score
    const double* weights;                  // (n_rows,), null: all ones
    std::span<const double* const> scores;  // (n_scores,) of (n_rows,)
    const double* log_sum_exp;              // (n_rows,), softmax only

    const double* output(Size k) const { return n_outputs == 1 ? y : y + k * n_rows; }
};

/// Write gradients and hessians of rows [begin, end) in score k, and return their weighted sums.
/// gradient, hessian (n_rows,), without weights
GradientSums compute_gradients(const Loss& loss, const LossRows& rows, Size k, Size begin, Size end,
                               double* gradient, double* hessian);

/// Write ln Σ e^score of rows [begin, end).  out (n_rows,)
void compute_log_sum_exp(double* out, std::span<const double* const> scores, Size begin, Size end);

/// Write the losses of rows [begin, end), as `loss_of_row` gives them.  out (n_rows,)
void compute_losses(double* out, const Loss& loss, const LossRows& rows, Size begin, Size end);

/// The loss of one row, without its weight; the mean over several outputs.
double loss_of_row(const Loss& loss, const LossRows& rows, Size row);

}  // namespace spinney
