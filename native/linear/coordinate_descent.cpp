#include "linear/coordinate_descent.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace spinney {
namespace {

constexpr Size kHistory = 5;  // iterates that the extrapolation combines
constexpr Size kFullSweepEvery = 8;

class Descent {
  public:
    Descent(double* w, const QuadraticProblem& problem)
        : problem_(problem), w_(w), gradient_(problem.n * problem.n_tasks), next_(problem.n_tasks) {
        compute_gradient();
    }

    /// Update the coordinates of `order` once; return the largest violation met on the way.
    double sweep(const std::vector<Size>& order) {
        double worst = 0;
        for (Size j : order) worst = std::max(worst, update(j));
        return worst;
    }

    /// The largest violation of an optimality condition at the present coefficients.
    double violation() const {
        double worst = 0;
        for (Size j = 0; j < problem_.n; ++j) worst = std::max(worst, violation_of(j));
        return worst;
    }

    double objective() const {
        double value = 0;
        const Size t_n = problem_.n_tasks;
        for (Size j = 0; j < problem_.n; ++j) {
            double squares = 0;
            for (Size t = 0; t < t_n; ++t) {
                const Size at = j * t_n + t;
                value += 0.5 * w_[at] * (gradient_[at] - problem_.linear[at]);
                squares += w_[at] * w_[at];
            }
            value += problem_.l1[j] * std::sqrt(squares) + 0.5 * problem_.l2[j] * squares;
        }
        return value;
    }

    /// Q W − C, without the penalties.
    void compute_gradient() {
        const Size n = problem_.n, t_n = problem_.n_tasks;
        for (Size i = 0; i < n * t_n; ++i) gradient_[i] = -problem_.linear[i];
        for (Size j = 0; j < n; ++j)
            for (Size t = 0; t < t_n; ++t)
                if (w_[j * t_n + t] != 0) move_gradient(j, t, w_[j * t_n + t]);
    }

    bool is_zero(Size j) const {
        const double* row = w_ + j * problem_.n_tasks;
        return std::all_of(row, row + problem_.n_tasks, [](double x) { return x == 0; });
    }

  private:
    void move_gradient(Size j, Size t, double step) {
        const double* column = problem_.gram + j * problem_.n;
        double* g = gradient_.data() + t;
        const Size n = problem_.n, t_n = problem_.n_tasks;
        if (t_n == 1)
            for (Size i = 0; i < n; ++i) g[i] += step * column[i];
        else
            for (Size i = 0; i < n; ++i) g[i * t_n] += step * column[i];
    }

    /// Distance of the negative gradient from the subdifferential of the penalty.
    double violation_of(Size j) const {
        const Size t_n = problem_.n_tasks;
        const double *row = w_ + j * t_n, *g = gradient_.data() + j * t_n;
        double size = 0, distance = 0;
        for (Size t = 0; t < t_n; ++t) size += row[t] * row[t];
        size = std::sqrt(size);
        if (size == 0) {
            for (Size t = 0; t < t_n; ++t) {
                const double pull = problem_.positive ? std::max(-g[t], 0.0) : g[t];
                distance += pull * pull;
            }
            return std::max(std::sqrt(distance) - problem_.l1[j], 0.0);
        }
        for (Size t = 0; t < t_n; ++t) {
            const double slope = g[t] + problem_.l2[j] * row[t] + problem_.l1[j] * row[t] / size;
            distance += slope * slope;
        }
        return std::sqrt(distance);
    }

    /// Minimise over row j; return its violation before.
    double update(Size j) {
        const Size t_n = problem_.n_tasks;
        const double curvature = problem_.gram[j * problem_.n + j];
        double* row = w_ + j * t_n;
        const double before = violation_of(j);
        const double total = curvature + problem_.l2[j];
        if (before == 0 || !(total > 0)) return total > 0 ? before : 0.0;
        double size = 0;
        for (Size t = 0; t < t_n; ++t) {
            next_[t] = curvature * row[t] - gradient_[j * t_n + t];
            if (problem_.positive) next_[t] = std::max(next_[t], 0.0);
            size += next_[t] * next_[t];
        }
        size = std::sqrt(size);
        const double shrink = size > problem_.l1[j] ? (1.0 - problem_.l1[j] / size) / total : 0.0;
        for (Size t = 0; t < t_n; ++t) {
            const double value = shrink * next_[t], step = value - row[t];
            if (step == 0) continue;
            row[t] = value;
            move_gradient(j, t, step);
        }
        return before;
    }

    const QuadraticProblem& problem_;
    double* w_;
    std::vector<double> gradient_, next_;
};

/// Solve a small symmetric system by Gaussian elimination with pivots; false if it is singular.
bool solve_small(std::vector<double>& a, std::vector<double>& b, Size n) {
    for (Size k = 0; k < n; ++k) {
        Size pivot = k;
        for (Size i = k + 1; i < n; ++i)
            if (std::abs(a[i * n + k]) > std::abs(a[pivot * n + k])) pivot = i;
        if (!(std::abs(a[pivot * n + k]) > 0)) return false;
        for (Size j = 0; j < n; ++j) std::swap(a[k * n + j], a[pivot * n + j]);
        std::swap(b[k], b[pivot]);
        for (Size i = k + 1; i < n; ++i) {
            const double factor = a[i * n + k] / a[k * n + k];
            for (Size j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
            b[i] -= factor * b[k];
        }
    }
    for (Size k = n; k-- > 0;) {
        for (Size j = k + 1; j < n; ++j) b[k] -= a[k * n + j] * b[j];
        b[k] /= a[k * n + k];
    }
    return true;
}

/// The affine combination of the last iterates whose step is the shortest; false if there is none.
bool extrapolate(std::vector<double>& out, const std::vector<std::vector<double>>& iterates) {
    const Size n = out.size();
    std::vector<double> products(kHistory * kHistory), c(kHistory, 1.0);
    double trace = 0;
    for (Size a = 0; a < kHistory; ++a)
        for (Size b = 0; b <= a; ++b) {
            double sum = 0;
            for (Size i = 0; i < n; ++i)
                sum += (iterates[a + 1][i] - iterates[a][i]) * (iterates[b + 1][i] - iterates[b][i]);
            products[a * kHistory + b] = products[b * kHistory + a] = sum;
            trace += a == b ? sum : 0.0;
        }
    for (Size a = 0; a < kHistory; ++a) products[a * kHistory + a] += 1e-12 * trace;
    if (!(trace > 0) || !solve_small(products, c, kHistory)) return false;
    double total = 0;
    for (double x : c) total += x;
    if (!(std::abs(total) > 0)) return false;
    std::fill(out.begin(), out.end(), 0.0);
    for (Size a = 0; a < kHistory; ++a)
        for (Size i = 0; i < n; ++i) out[i] += c[a] / total * iterates[a + 1][i];
    return std::all_of(out.begin(), out.end(), [](double x) { return std::isfinite(x); });
}

}  // namespace

Size coordinate_descent(double* w, const QuadraticProblem& problem, double tolerance, Size max_sweeps,
                        Interrupt& interrupt) {
    const Size size = problem.n * problem.n_tasks;
    Descent descent(w, problem);
    std::vector<Size> everything(problem.n), active;
    for (Size j = 0; j < problem.n; ++j) everything[j] = j;
    std::vector<std::vector<double>> iterates;
    std::vector<double> candidate(size), before(size);
    Size sweeps = 0;
    while (sweeps < max_sweeps) {
        // One sweep over all coordinates, then several over those that are not zero.
        ++sweeps;
        descent.sweep(everything);
        if (descent.violation() <= tolerance) break;
        active.clear();
        for (Size j : everything)
            if (!descent.is_zero(j)) active.push_back(j);
        iterates.assign(1, std::vector<double>(w, w + size));
        for (Size k = 0; k < kFullSweepEvery * kHistory && sweeps < max_sweeps; ++k) {
            ++sweeps;
            interrupt.poll();
            if (descent.sweep(active) <= 0.3 * tolerance) break;
            iterates.emplace_back(w, w + size);
            if (iterates.size() <= kHistory) continue;
            if (extrapolate(candidate, iterates)) {
                const double old = descent.objective();
                std::copy(w, w + size, before.begin());
                if (problem.positive)
                    for (double& x : candidate) x = std::max(x, 0.0);
                std::copy(candidate.begin(), candidate.end(), w);
                descent.compute_gradient();
                if (!(descent.objective() < old)) {
                    std::copy(before.begin(), before.end(), w);
                    descent.compute_gradient();
                }
            }
            iterates.assign(1, std::vector<double>(w, w + size));
        }
    }
    return sweeps;
}

}  // namespace spinney
