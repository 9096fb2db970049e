#include "linear/dual_descent.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "simd/vectors.hpp"

namespace spinney {
namespace {

/// x_i·w without the constant.
double dot(const RowView& x, Size i, const double* w) {
    if (!x.indptr) {
        const double* row = x.values + i * x.n_columns;
        Lanes sums{};
        Size j = 0;
        for (; j + kLanes <= x.n_columns; j += kLanes) {
            Lanes a, b;
            std::memcpy(&a, row + j, sizeof a);
            std::memcpy(&b, w + j, sizeof b);
            sums += a * b;
        }
        double sum = 0;
        for (Size k = 0; k < kLanes; ++k) sum += sums[k];
        for (; j < x.n_columns; ++j) sum += row[j] * w[j];
        return sum;
    }
    double sum = 0;
    for (std::int64_t k = x.indptr[i]; k < x.indptr[i + 1]; ++k) sum += x.values[k] * w[x.columns[k]];
    return sum;
}

void add_row(double* w, const RowView& x, Size i, double step) {
    if (!x.indptr) {
        const double* row = x.values + i * x.n_columns;
        for (Size j = 0; j < x.n_columns; ++j) w[j] += step * row[j];
        return;
    }
    for (std::int64_t k = x.indptr[i]; k < x.indptr[i + 1]; ++k) w[x.columns[k]] += step * x.values[k];
}

double squares(const RowView& x, Size i) {
    double sum = 0;
    if (!x.indptr) {
        for (Size j = 0; j < x.n_columns; ++j)
            sum += x.values[i * x.n_columns + j] * x.values[i * x.n_columns + j];
        return sum;
    }
    for (std::int64_t k = x.indptr[i]; k < x.indptr[i + 1]; ++k) sum += x.values[k] * x.values[k];
    return sum;
}

/// How far the slopes (down, up) of a coordinate are from optimality: up is the derivative to the right, down
/// to the left, and a bound allows any slope away from it.
double violation(double up, double down, double b, double low, double high) {
    double worst = 0;
    if (b < high) worst = std::max(worst, -up);
    if (b > low) worst = std::max(worst, down);
    return worst;
}

class DualDescent {
  public:
    DualDescent(double* w, double* b, const DualProblem& problem)
        : p_(problem), w_(w), b_(b), size_(p_.x.n_rows) {
        for (Size i = 0; i < p_.x.n_rows; ++i) size_[i] = squares(p_.x, i) + p_.bias + p_.diagonal[i];
        std::fill_n(w_, p_.x.n_columns + 1, 0.0);
        for (Size i = 0; i < p_.x.n_rows; ++i)
            if (b_[i] != 0) move(i, b_[i]);
    }

    /// Minimise over b_i; return its violation before. `idle` is set if it stays at a bound with a slope
    /// beyond `margin`, which other coordinates will hardly turn round.
    double update(Size i, double margin, bool& idle) {
        const double slope = dot(p_.x, i, w_) + w_[p_.x.n_columns] + p_.diagonal[i] * b_[i] - p_.y[i];
        const double b = b_[i], low = p_.low[i], high = p_.high[i];
        const double up = slope + (b >= 0 ? p_.epsilon : -p_.epsilon);
        const double down = slope + (b > 0 ? p_.epsilon : -p_.epsilon);
        const double worst = violation(up, down, b, low, high);
        idle = (b == low && up > margin) || (b == high && -down > margin) ||
               (b == 0 && low < 0 && high > 0 && up > margin && -down > margin);
        if (worst == 0 || !(size_[i] > 0)) return worst;
        const double free = b - slope / size_[i], threshold = p_.epsilon / size_[i];
        double next = free > threshold ? free - threshold : free < -threshold ? free + threshold : 0.0;
        next = std::clamp(next, low, high);
        if (next != b) {
            move(i, next - b);
            b_[i] = next;
        }
        return worst;
    }

  private:
    void move(Size i, double step) {
        add_row(w_, p_.x, i, step);
        w_[p_.x.n_columns] += step * p_.bias;
    }

    const DualProblem& p_;
    double *w_, *b_;
    std::vector<double> size_;
};

}  // namespace

DualResult dual_descent(double* w, double* b, const DualProblem& problem, double tolerance, Size max_sweeps,
                        std::uint64_t seed, Interrupt& interrupt) {
    const Size n = problem.x.n_rows;
    DualDescent descent(w, b, problem);
    std::vector<Size> order(n);
    for (Size i = 0; i < n; ++i) order[i] = i;
    Size active = n, sweeps = 0;
    double margin = INFINITY, worst = INFINITY;
    while (sweeps < max_sweeps) {
        interrupt.poll();
        ++sweeps;
        Draws draws(mix(seed, sweeps));
        for (Size i = 0; i + 1 < active; ++i)
            std::swap(order[i], order[i + draws.below(static_cast<std::uint32_t>(active - i))]);
        worst = 0;
        for (Size k = 0; k < active;) {
            bool idle = false;
            worst = std::max(worst, descent.update(order[k], margin, idle));
            if (idle)
                std::swap(order[k], order[--active]);
            else
                ++k;
        }
        if (worst > tolerance) {
            margin = worst;
        } else if (active == n) {
            break;
        } else {
            active = n;  // look at all of them again
            margin = INFINITY;
        }
    }
    return {sweeps, worst};
}

}  // namespace spinney
