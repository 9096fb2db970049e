// Sequential minimal optimization of the dual problem of support vector machines.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "svm/kernel.hpp"

namespace spinney {

/// min ½ βᵀKβ + linearᵀβ + kink ‖β‖₁  subject to  lower ≤ β ≤ upper and a fixed sum of β.
///
/// Classification: β = y α, linear = −y, kink = 0. Regression: β = α − α*, linear = −y, kink = ε. One-class:
/// linear = 0 and the sum is ν n. All arrays (n,); beta holds a feasible start.
struct SmoProblem {
    KernelMatrix& kernel;
    std::span<const double> linear, lower, upper;
    double kink;
    std::vector<double> beta;
};

struct SmoOptions {
    double tol = 1e-3;
    Size cache_bytes = 200u << 20;
    bool shrinking = true;
    std::int64_t max_iter = -1;     // -1: no limit
    std::int64_t record_every = 0;  // iterations between records; 0: none
    int n_threads = 1;
};

/// The state of the solver at one iteration.
struct SmoRecord {
    std::int64_t iteration, n_active;
    double gap, objective;
};

enum class SmoStatus : std::uint8_t { optimal, max_iter, unbounded };

/// f(x) = Σ beta K(x_i, x) + intercept; gap: the largest violation of the optimality conditions.
struct SmoSolution {
    std::vector<double> beta;
    double intercept = 0.0, objective = 0.0, gap = 0.0;
    std::int64_t n_iter = 0;
    SmoStatus status = SmoStatus::optimal;
    std::vector<SmoRecord> records;
};

/// Working sets of two by second-order information (Fan, Chen and Lin, 2005), shrinking, and a cache of
/// kernel rows in float32, least recently used out first.
SmoSolution solve_dual(SmoProblem problem, const SmoOptions& options, Interrupt& interrupt);

}  // namespace spinney
