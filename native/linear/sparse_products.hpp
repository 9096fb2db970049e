// Products of a sparse feature matrix in CSR form.
//
// Columns are summed over fixed chunks of rows, which are added in their order, so that results have the same
// bits for any number of threads.
#pragma once

#include <cstdint>

#include "core/thread_pool.hpp"
#include "linear/dual_descent.hpp"

namespace spinney {

/// out = X w + intercept.  out (n_rows,); w (n_columns,)
void sparse_product(double* out, const RowView& x, const double* w, double intercept, int n_threads,
                    Interrupt& interrupt);

/// out = Σ_r f_r (x_r, 1), or with `squares` Σ_r f_r (x_r², 1).  out (n_columns + 1,); factors (n_rows,)
void sparse_cross(double* out, const RowView& x, const double* factors, bool squares, int n_threads,
                  Interrupt& interrupt);

/// scores = X v + v_0, and out = Σ_r c_r scores_r (x_r, 1), both in one pass over the rows.
/// out (n_columns + 1,); scores (n_rows,); v (n_columns + 1,) with v_0 at its end; curvatures (n_rows,)
void sparse_curvature_product(double* out, double* scores, const RowView& x, const double* v,
                              const double* curvatures, int n_threads, Interrupt& interrupt);

}  // namespace spinney
