// Exponentials, logarithms and softmax of arrays: the same bits on every processor, unlike those of NumPy and
// the C library.
#pragma once

#include "core/types.hpp"

namespace spinney {

/// out[i] = e^x[i], over the whole range of doubles.  out, x (n,)
void exp_array(double* out, const double* x, Size n);

/// out[i] = 1 / (1 + e^−x[i]).  out, x (n,)
void expit_array(double* out, const double* x, Size n);

/// out[r][c] = e^scores[r][c] / Σ e^scores[r].  out, scores (n, k), k > 0
void softmax_rows(double* out, const double* scores, Size n, Size k);

/// out[i] = ln x[i], −∞ for 0 and NaN below.  out, x (n,)
void log_array(double* out, const double* x, Size n);

}  // namespace spinney
