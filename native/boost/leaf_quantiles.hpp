// Leaf values of losses that a Newton step does not fit: weighted quantiles of the residuals.
#pragma once

#include <span>
#include <utility>

#include "boost/losses.hpp"

namespace spinney {

/// A residual and its weight.
using Residual = std::pair<double, double>;

/// The smallest residual at which the cumulative weight reaches alpha of the total; where it is reached
/// exactly, the midpoint of that residual and the next. Sorts the residuals.
double weighted_quantile(std::span<Residual> residuals, double alpha);

/// One step towards the minimum of the Huber loss, from the median. Sorts the residuals.
double huber_step(std::span<Residual> residuals, double delta);

/// The value of a leaf of score k for its residuals, which are sorted: their quantile, or a Huber step.
double fit_residuals(std::span<Residual> residuals, const Loss& loss, Size k);

}  // namespace spinney
