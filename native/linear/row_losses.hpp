// Losses of raw scores with their derivatives, for all rows at once.
#pragma once

#include <cstdint>

#include "core/thread_pool.hpp"

namespace spinney {

/// log(1 + e^s) − y s, with gradient p − y and curvature p (1 − p), times the weights.
/// gradient, curvature, scores, y (n,); weights (n,) or null for 1.  -> sum of the losses
double logistic_loss(double* gradient, double* curvature, const double* scores, const double* y,
                     const double* weights, Size n, int n_threads, Interrupt& interrupt);

/// Cross-entropy of the softmax, with its probabilities and its gradient times the weights.
/// probabilities, gradient, scores (n, k); classes, weights (n,).  -> sum of the losses
double softmax_loss(double* probabilities, double* gradient, const double* scores,
                    const std::int32_t* classes, const double* weights, Size n, Size k, int n_threads,
                    Interrupt& interrupt);

}  // namespace spinney
