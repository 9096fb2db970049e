// Coordinate descent on a quadratic with an L1 or L2,1 penalty, given by its Gram matrix.
#pragma once

#include "core/thread_pool.hpp"

namespace spinney {

/// ½ tr(Wᵀ Q W) − tr(Cᵀ W) + Σ_j l1_j ‖W_j‖₂ + ½ Σ_j l2_j ‖W_j‖², rows W_j of W (n, n_tasks). One task: the
/// elastic net. Q is (n, n), symmetric and positive semi-definite.
struct QuadraticProblem {
    const double* gram;    // (n, n)
    const double* linear;  // (n, n_tasks)
    const double* l1;      // (n,)
    const double* l2;      // (n,)
    Size n, n_tasks;
    bool positive;
};

/// Minimise from the given coefficients, by cyclic coordinate descent with Anderson extrapolation (Bertrand
/// and Massias, 2021), until no coordinate violates its optimality condition by more than `tolerance`.
/// w (n, n_tasks) in and out.  -> number of sweeps over the coordinates
Size coordinate_descent(double* w, const QuadraticProblem& problem, double tolerance, Size max_sweeps,
                        Interrupt& interrupt);

}  // namespace spinney
