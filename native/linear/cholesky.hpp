// Solutions of symmetric positive definite systems.
#pragma once

#include "core/thread_pool.hpp"

namespace spinney {

/// Solve A x = b for each right side by A = L Lᵀ, with the same bits on every machine. The upper triangle is
/// not read.  right (k, n) in and out; matrix (n, n).  -> the smallest pivot; if it is not above 0, `right`
/// is of no use
double cholesky_solve(double* right, const double* matrix, Size n, Size k, Interrupt& interrupt);

}  // namespace spinney
