#include "svm/smo.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "simd/vectors.hpp"
#include "svm/row_cache.hpp"

namespace spinney {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMinCurvature = 1e-12;  // where K is not positive definite
constexpr double kUnbounded = 1e12;      // coefficients times K(x, x) of a hard margin that does not exist
constexpr Size kShrinkEvery = 1000;
constexpr std::int64_t kPollEvery = 256;

Lanes load(const double* from) {
    Lanes out;
    std::memcpy(&out, from, sizeof out);
    return out;
}

/// Eight numbers of float32, widened.
Lanes load(const float* from) {
    typedef float Eight __attribute__((vector_size(32)));
    Eight out;
    std::memcpy(&out, from, sizeof out);
    return __builtin_convertvector(out, Lanes);
}

/// A position and its score; of equal scores the first position wins.
struct Best {
    double score;
    Size at;
};

template <bool Least>
Best best_of(Lanes score, StatLanes at) {
    Best best{score[0], static_cast<Size>(at[0])};
    for (Size l = 1; l < kLanes; ++l) {
        const bool better = Least ? score[l] < best.score : score[l] > best.score;
        if (better || (score[l] == best.score && static_cast<Size>(at[l]) < best.at))
            best = {score[l], static_cast<Size>(at[l])};
    }
    return best;
}

class Solver {
  public:
    Solver(SmoProblem& problem, const SmoOptions& options, Interrupt& interrupt)
        : problem_(problem),
          options_(options),
          interrupt_(interrupt),
          n_(problem.beta.size()),
          active_(n_),
          cache_(problem.kernel, n_, options.cache_bytes, options.n_threads),
          variable_(n_),
          beta_(padded(n_)),
          linear_(padded(n_)),
          lower_(padded(n_)),
          upper_(padded(n_)),
          gradient_(padded(n_)),
          up_(padded(n_), -kInfinity),
          down_(padded(n_), kInfinity),
          diagonal_(padded(n_), 1.0),
          cached_(padded(n_)) {
        std::iota(variable_.begin(), variable_.end(), 0u);
        for (Size p = 0; p < n_; ++p) {
            beta_[p] = problem.beta[p];
            linear_[p] = gradient_[p] = problem.linear[p];
            lower_[p] = problem.lower[p];
            upper_[p] = problem.upper[p];
            diagonal_[p] = problem.kernel.diagonal(p);
            set_sides(p);
        }
        add_support(0);
        progress_ = objective();
    }

    SmoSolution run() {
        SmoSolution out;
        Size until_shrink = std::min(n_, kShrinkEvery);
        bool unshrunk = false;
        scan();
        for (;; ++out.n_iter) {
            if (out.n_iter % kPollEvery == 0) interrupt_.poll();
            record(out);
            if (options_.shrinking && until_shrink-- == 0) {
                until_shrink = std::min(n_, kShrinkEvery);
                if (!unshrunk && gap() <= 10.0 * options_.tol) {
                    unshrunk = true;
                    unshrink();
                }
                shrink();
            }
            if (gap() <= options_.tol) {
                if (active_ == n_) break;
                unshrink();
                if (gap() <= options_.tol) break;
                until_shrink = 1;
            }
            if (options_.max_iter >= 0 && out.n_iter >= options_.max_iter) {
                out.status = SmoStatus::max_iter;
                break;
            }
            if (!step()) {
                out.status = SmoStatus::unbounded;
                break;
            }
        }
        if (active_ < n_) unshrink();
        finish(out);
        return out;
    }

  private:
    static Size padded(Size n) { return (n + kLanes - 1) / kLanes * kLanes; }

    double gap() const { return highest_.score - lowest_; }

    /// Where a variable may go, and the slope of the kink there: candidates up − gradient, down − gradient.
    void set_sides(Size p) {
        const double kink = problem_.kink;
        up_[p] = beta_[p] < upper_[p] ? (beta_[p] >= 0.0 ? -kink : kink) : -kInfinity;
        down_[p] = beta_[p] > lower_[p] ? (beta_[p] > 0.0 ? -kink : kink) : kInfinity;
    }

    /// gradient += Σ β K over the variables with β ≠ 0, at the positions from `begin` on.
    void add_support(Size begin) {
        for (Size q = 0; q < n_; ++q) {
            if (beta_[q] == 0.0) continue;
            interrupt_.poll();
            const float* row = cache_.get(variable_[q], q, n_);
            for (Size p = begin; p < n_; ++p) gradient_[p] += beta_[q] * static_cast<double>(row[p]);
        }
    }

    /// Add a K_i + b K_j to the gradient, and find the variable to raise and the least to lower.
    template <bool Update>
    void pass(const float* row_i, const float* row_j, double a, double b) {
        Lanes most = Lanes{} - kInfinity, least = Lanes{} + kInfinity;
        StatLanes most_at = {}, number = {0, 1, 2, 3, 4, 5, 6, 7};
        Size p = 0;
        for (; p + kLanes <= active_; p += kLanes) {
            Lanes g = load(&gradient_[p]);
            if constexpr (Update) {
                g += load(row_i + p) * a + load(row_j + p) * b;
                std::memcpy(&gradient_[p], &g, sizeof g);
            }
            const Lanes rise = load(&up_[p]) - g, fall = load(&down_[p]) - g;
            const auto higher = rise > most;
            most = where(higher, rise, most);
            most_at = higher ? number : most_at;
            least = where(fall < least, fall, least);
            number += 8;
        }
        highest_ = best_of<false>(most, most_at);
        lowest_ = least[0];
        for (Size lane = 1; lane < kLanes; ++lane) lowest_ = std::min(lowest_, least[lane]);
        for (; p < active_; ++p) {
            if constexpr (Update)
                gradient_[p] += static_cast<double>(row_i[p]) * a + static_cast<double>(row_j[p]) * b;
            const double rise = up_[p] - gradient_[p];
            if (rise > highest_.score) highest_ = {rise, p};
            lowest_ = std::min(lowest_, down_[p] - gradient_[p]);
        }
    }

    void scan() { pass<false>(nullptr, nullptr, 0.0, 0.0); }

    /// The variable to lower: the largest decrease of the objective by a step of both, (m − c)² / curvature.
    /// Fractions are compared by cross multiplication.
    Size choose_second(const float* row_i, Size i) const {
        const double m = highest_.score, own = diagonal_[i];
        Lanes best = Lanes{} - 1.0, best_curvature = Lanes{} + 1.0;
        StatLanes best_at = {}, number = {0, 1, 2, 3, 4, 5, 6, 7};
        Size p = 0;
        for (; p + kLanes <= active_; p += kLanes) {
            const Lanes slope = m + (load(&gradient_[p]) - load(&down_[p]));
            Lanes curvature = (own + load(&diagonal_[p])) - load(row_i + p) * 2.0;
            curvature = where(curvature > kMinCurvature, curvature, Lanes{} + kMinCurvature);
            const Lanes gain = where(slope > 0.0, slope * slope, Lanes{} - kInfinity);
            const auto better = gain * best_curvature > best * curvature;
            best = where(better, gain, best);
            best_curvature = where(better, curvature, best_curvature);
            best_at = better ? number : best_at;
            number += 8;
        }
        Best found = best_of<false>(best / best_curvature, best_at);
        for (; p < active_; ++p) {
            const double slope = m + (gradient_[p] - down_[p]);
            if (!(slope > 0.0)) continue;
            const double curvature =
                std::max(own + diagonal_[p] - 2.0 * static_cast<double>(row_i[p]), kMinCurvature);
            if (slope * slope / curvature > found.score) found = {slope * slope / curvature, p};
        }
        return found.at;
    }

    /// The kernel row of a position. With a row that is not in the cache come those of the variables that
    /// violate the optimality conditions most: they will probably be needed next.
    const float* row_at(Size p) {
        if (cached_[p] == 0.0 && cache_.has_room()) {
            Size positions[KernelMatrix::kBlock] = {p}, variables[KernelMatrix::kBlock];
            cached_[p] = -kInfinity;
            if (guess(positions + 1)) {
                for (Size q = 0; q < KernelMatrix::kBlock; ++q) {
                    cached_[positions[q]] = -kInfinity;
                    variables[q] = variable_[positions[q]];
                }
                cache_.fill(variables, positions, active_);
            }
        }
        return cache_.get(variable_[p], p, active_);
    }

    /// Find the kBlock − 1 largest violations without a cached row; false if there are not as many.
    bool guess(Size* positions) const {
        constexpr Size wanted = KernelMatrix::kBlock - 1;
        Lanes most = {};
        StatLanes most_at = {}, number = {0, 1, 2, 3, 4, 5, 6, 7};
        for (Size p = 0; p + kLanes <= active_; p += kLanes) {
            const Lanes g = load(&gradient_[p]);
            const Lanes rise = load(&up_[p]) - g - lowest_, fall = highest_.score - (load(&down_[p]) - g);
            const Lanes violation = where(rise > fall, rise, fall) + load(&cached_[p]);
            const auto higher = violation > most;
            most = where(higher, violation, most);
            most_at = higher ? number : most_at;
            number += 8;
        }
        for (Size q = 0; q < wanted; ++q) {
            const Best best = best_of<false>(most, most_at);
            if (!(best.score > 0.0)) return false;
            positions[q] = best.at;
            for (Size l = 0; l < kLanes; ++l)
                if (static_cast<Size>(most_at[l]) == best.at) most[l] = 0.0;
        }
        return true;
    }

    /// Raise one variable and lower another by as much; false if the objective has no minimum.
    bool step() {
        const Size i = highest_.at;
        const float* row_i = row_at(i);
        const Size j = choose_second(row_i, i);
        const float* row_j = row_at(j);
        const double curvature =
            std::max(diagonal_[i] + diagonal_[j] - 2.0 * static_cast<double>(row_i[j]), kMinCurvature);
        const double slope = highest_.score - (down_[j] - gradient_[j]), wanted = slope / curvature;
        // A step ends at a bound, or at the kink.
        const double end_i = problem_.kink > 0.0 && beta_[i] < 0.0 ? std::min(0.0, upper_[i]) : upper_[i];
        const double end_j = problem_.kink > 0.0 && beta_[j] > 0.0 ? std::max(0.0, lower_[j]) : lower_[j];
        const double room_i = end_i - beta_[i], room_j = beta_[j] - end_j;
        const double size = std::min({wanted, room_i, room_j});
        beta_[i] = size == room_i ? end_i : beta_[i] + size;
        beta_[j] = size == room_j ? end_j : beta_[j] - size;
        progress_ -= size * (slope - 0.5 * curvature * size);
        set_sides(i);
        set_sides(j);
        pass<true>(row_i, row_j, size, -size);
        return size * std::max(diagonal_[i], diagonal_[j]) < kUnbounded;
    }

    /// Set variables aside that are at a bound or a kink, and will probably stay there.
    void shrink() {
        std::vector<std::pair<Size, Size>> pairs;
        const double m = highest_.score, least = lowest_;
        const auto stays = [&](Size p) {
            return up_[p] - gradient_[p] < least && down_[p] - gradient_[p] > m;
        };
        Size end = active_;
        for (Size p = 0; p < end; ++p) {
            if (!stays(p)) continue;
            while (end > p + 1 && stays(end - 1)) --end;
            --end;
            if (end > p) pairs.emplace_back(p, end);
        }
        if (active_ - end < active_ / 8) return;  // moving rows would cost more than it saves
        for (const auto& [a, b] : pairs) swap(a, b);
        cache_.swap(pairs);
        active_ = end;
        scan();
    }

    void swap(Size a, Size b) {
        problem_.kernel.swap(a, b);
        std::swap(variable_[a], variable_[b]);
        for (auto* part :
             {&beta_, &linear_, &lower_, &upper_, &gradient_, &up_, &down_, &diagonal_, &cached_})
            std::swap((*part)[a], (*part)[b]);
    }

    /// Take all variables in again; the gradient of those set aside is computed anew.
    void unshrink() {
        if (active_ < n_) {
            for (Size p = active_; p < n_; ++p) gradient_[p] = linear_[p];
            add_support(active_);
            active_ = n_;
        }
        scan();
    }

    double objective() const {
        double sum = 0.0;
        for (Size p = 0; p < n_; ++p)
            sum += 0.5 * beta_[p] * (gradient_[p] + linear_[p]) + problem_.kink * std::abs(beta_[p]);
        return sum;
    }

    void record(SmoSolution& out) const {
        if (options_.record_every > 0 && out.n_iter % options_.record_every == 0)
            out.records.push_back({out.n_iter, static_cast<std::int64_t>(active_), gap(), progress_});
    }

    void finish(SmoSolution& out) const {
        double sum = 0.0;
        Size n_free = 0;
        for (Size p = 0; p < n_; ++p) {
            const double rise = up_[p] - gradient_[p];
            if (rise != down_[p] - gradient_[p]) continue;  // at a bound or a kink
            sum += rise;
            ++n_free;
        }
        out.intercept = n_free ? sum / static_cast<double>(n_free) : (highest_.score + lowest_) / 2.0;
        if (!std::isfinite(out.intercept)) out.intercept = 0.0;
        out.objective = objective();
        out.gap = gap();
        out.beta.resize(n_);
        for (Size p = 0; p < n_; ++p) out.beta[variable_[p]] = beta_[p];
        if (options_.record_every > 0)
            out.records.push_back({out.n_iter, static_cast<std::int64_t>(n_), out.gap, out.objective});
    }

    SmoProblem& problem_;
    const SmoOptions& options_;
    Interrupt& interrupt_;
    Size n_, active_;
    RowCache cache_;
    std::vector<std::uint32_t> variable_;  // at each position
    std::vector<double> beta_, linear_, lower_, upper_, gradient_, up_, down_, diagonal_;
    std::vector<double> cached_;  // 0 until the row of a position has been computed, then −∞
    Best highest_{-kInfinity, 0};
    double lowest_ = kInfinity;
    double progress_ = 0.0;  // the objective, by the decrease of each step
};

}  // namespace

SmoSolution solve_dual(SmoProblem problem, const SmoOptions& options, Interrupt& interrupt) {
    return Solver(problem, options, interrupt).run();
}

}  // namespace spinney
