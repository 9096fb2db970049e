// Products of a dense feature matrix: Gram matrix, X W, and leave-one-out errors of ridge regression.
//
// Sums run over fixed chunks of rows, which are added in their order, so that results have the same bits for
// any number of threads and any register width.
#pragma once

#include "core/thread_pool.hpp"
#include "linear/matrix_view.hpp"

namespace spinney {

/// Σ_r w_r z_r z_rᵀ with z_r = (x_r − shift, 1), and Σ_r z_r residuals_rᵀ.
/// gram (p+1, p+1) or null; cross (n_residuals, p+1); shift (p,); weights (n_rows,) or null for 1;
/// residuals (n_rows, n_residuals) or null
void gram_matrix(double* gram, double* cross, const MatrixView& x, const double* shift, const double* weights,
                 const double* residuals, Size n_residuals, int n_threads, Interrupt& interrupt);

/// out = X Wᵀ + intercept.  out (n_rows, k); w (k, p); intercept (k,)
void matrix_product(double* out, const MatrixView& x, const double* w, const double* intercept, Size k,
                    int n_threads, Interrupt& interrupt);

/// What leave-one-out errors of ridge regression need, see `leave_one_out`.
struct RidgePath {
    const double* shift;      // (p,) weighted means of the features
    const double* vectors;    // (p, p) eigenvectors of the Gram matrix, one per column
    const double* shrink;     // (n_alphas, p) 1 / (eigenvalue + alpha)
    const double* responses;  // (n_targets, p) projections of Xᵀ W y on the eigenvectors
    const double* base;       // (n_rows,) leverage of the intercept, w_r / Σ w, or null for 0
    const double* weights;    // (n_rows,) or null for 1
    const double* targets;    // (n_rows, n_targets) centered
    Size n_alphas, n_targets;
};

/// Errors of each row when it is left out of the fit.  out (n_rows, n_alphas, n_targets), or null;
/// sums (n_alphas, n_targets): weighted sums of their squares
void leave_one_out(double* sums, double* out, const MatrixView& x, const RidgePath& path, int n_threads,
                   Interrupt& interrupt);

}  // namespace spinney
