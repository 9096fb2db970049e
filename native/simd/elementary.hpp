// Exponentials and logarithms of arrays: the same bits on every processor, unlike those of NumPy and the C
// library.
#pragma once

#include "core/types.hpp"

namespace spinney {

/// out[i] = e^x[i], over the whole range of doubles.  out, x (n,)
void exp_array(double* out, const double* x, Size n);

/// out[i] = ln x[i], −∞ for 0 and NaN below.  out, x (n,)
void log_array(double* out, const double* x, Size n);

}  // namespace spinney
