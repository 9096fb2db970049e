// Dual coordinate descent for linear support vector machines.
#pragma once

#include <cstdint>

#include "core/thread_pool.hpp"

namespace spinney {

/// Rows of a dense matrix, or of a sparse one in CSR form (indptr not null).
struct RowView {
    const double* values = nullptr;  // (n_rows, n_columns), or (nnz,)
    const std::int32_t* columns = nullptr;
    const std::int64_t* indptr = nullptr;
    Size n_rows = 0, n_columns = 0;
};

/// ½ ‖Σ_i b_i (x_i, s)‖² + ½ Σ_i d_i b_i² − Σ_i y_i b_i + ε Σ_i |b_i| with low_i ≤ b_i ≤ high_i: the dual of
/// support vector classification (ε = 0) and regression; s² is `bias`.
struct DualProblem {
    RowView x;
    const double* y;         // (n_rows,)
    const double* low;       // (n_rows,)
    const double* high;      // (n_rows,)
    const double* diagonal;  // (n_rows,)
    double epsilon, bias;
};

/// What a descent ended with.
struct DualResult {
    Size sweeps;
    double violation;  // of the optimality conditions, at most `tolerance` unless sweeps ran out
};

/// Minimise by coordinate descent in random order with shrinking (Hsieh et al., 2008; Ho and Lin, 2012).
/// w (n_columns + 1): Σ b_i (x_i, bias); b (n_rows,)
DualResult dual_descent(double* w, double* b, const DualProblem& problem, double tolerance, Size max_sweeps,
                        std::uint64_t seed, Interrupt& interrupt);

}  // namespace spinney
