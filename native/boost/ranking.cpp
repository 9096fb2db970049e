#include "boost/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/random.hpp"
#include "simd/register_loops.hpp"

namespace spinney {

namespace {

/// Queries of one task.
constexpr Size kQueriesPerTask = 16;
/// Added to score differences before dividing by them, as in LightGBM.
constexpr double kMinDistance = 0.01;
/// Least value of 1 − ρ in the approximation of XE-NDCG's gradient.
constexpr double kMinRest = 1e-6;

}  // namespace

/// One query with its rows sorted by score; everything is by position.
struct QuerySet::Ranking {
    struct Item {
        double score;
        std::uint32_t index;  // within the query
    };
    Size n = 0;
    std::vector<Item> items;
    std::vector<double> score, gain, gradient, hessian, extra;
};

QuerySet::QuerySet(std::vector<std::uint32_t> rows, std::vector<Size> begin, const double* gain)
    : rows_(std::move(rows)), begin_(std::move(begin)), gain_(rows_.size()) {
    for (Size i = 0; i < rows_.size(); ++i) gain_[i] = gain[rows_[i]];
    ideal_gain_ = gain_;
    Size longest = 0;
    for (Size q = 0; q < n_queries(); ++q) {
        const auto first = ideal_gain_.begin();
        std::sort(first + static_cast<std::ptrdiff_t>(begin_[q]),
                  first + static_cast<std::ptrdiff_t>(begin_[q + 1]), std::greater<>());
        longest = std::max(longest, begin_[q + 1] - begin_[q]);
    }
    discount_.resize(longest);
    for (Size i = 0; i < longest; ++i) discount_[i] = 1.0 / log2_same_bits(static_cast<double>(i) + 2.0);
}

/// Call f(query, ranking) for every query; the ranking is memory of the thread.
template <class F>
void QuerySet::for_queries(int n_threads, Interrupt& interrupt, F&& f) const {
    const Size n_tasks = (n_queries() + kQueriesPerTask - 1) / kQueriesPerTask;
    std::vector<Ranking> rankings(static_cast<Size>(std::max(n_threads, 1)));
    Pool::shared().parallel_for(
        n_threads, n_tasks,
        [&](Size task, int thread) {
            const Size end = std::min(n_queries(), (task + 1) * kQueriesPerTask);
            for (Size q = task * kQueriesPerTask; q < end; ++q) f(q, rankings[static_cast<Size>(thread)]);
        },
        &interrupt);
}

/// Sort the rows of a query by descending score; equal scores stay in the order of the rows.
void QuerySet::sort(Ranking& ranking, Size query, const double* scores) const {
    const Size begin = begin_[query];
    ranking.n = begin_[query + 1] - begin;
    ranking.items.resize(ranking.n);
    for (Size i = 0; i < ranking.n; ++i)
        ranking.items[i] = {scores[rows_[begin + i]], static_cast<std::uint32_t>(i)};
    std::sort(ranking.items.begin(), ranking.items.end(), [](const auto& a, const auto& b) {
        return a.score > b.score || (a.score == b.score && a.index < b.index);
    });
    ranking.score.resize(ranking.n);
    ranking.gain.resize(ranking.n);
    for (Size i = 0; i < ranking.n; ++i) {
        ranking.score[i] = ranking.items[i].score;
        ranking.gain[i] = gain_[begin + ranking.items[i].index];
    }
}

double QuerySet::ideal_dcg(Size query, Size k) const {
    const Size n = begin_[query + 1] - begin_[query];
    const Size end = k == 0 ? n : std::min(k, n);
    double sum = 0;
    for (Size i = 0; i < end; ++i) sum += ideal_gain_[begin_[query] + i] * discount_[i];
    return sum;
}

// ---- gradients ----

namespace {

/// |ΔNDCG| of swapping two positions.
struct NdcgDelta {
    const double *gain, *discount;  // gains divided by the ideal DCG

    [[gnu::always_inline]] Register operator()(Size i, Size j, Size n, Register gain_j) const {
        const Register step = discount[i] - load_register(discount + j, n);
        const Register difference = gain[i] - gain_j;
        return where(difference < 0.0, -difference, difference) * step;
    }
};

/// 1 for every pair that differs in relevance.
struct PairDelta {
    const double* gain;

    [[gnu::always_inline]] Register operator()(Size i, Size, Size, Register gain_j) const {
        return where(gain_j == gain[i], every<Register>(0.0), every<Register>(1.0));
    }
};

/// |ΔAP| of swapping a relevant row and one that is not, at positions i < j:
/// (first[i] + second[j]) / number of relevant rows, see `prepare`.
struct ApDelta {
    const double* gain;
    std::vector<double>& parts;  // (2 n,): first, second
    Size n;
    double inverse_relevant = 0;

    /// With N(i) relevant rows up to position i (from 1) and S(i) the sum of 1/t over the positions t of
    /// relevant rows up to i: first is N(i)/i − S(i), and 1/i more for a row that is not relevant;
    /// second is S(j − 1) − N(j)/j.
    void prepare() {
        parts.resize(2 * n);
        double count = 0, sum = 0;
        for (Size i = 0; i < n; ++i) {
            const double position = static_cast<double>(i) + 1.0, before = sum;
            const bool relevant = gain[i] > 0;
            if (relevant) {
                count += 1;
                sum += 1.0 / position;
            }
            parts[i] = (count + (relevant ? 0.0 : 1.0)) / position - sum;
            parts[n + i] = before - count / position;
        }
        inverse_relevant = count > 0 ? 1.0 / count : 0.0;
    }

    [[gnu::always_inline]] Register operator()(Size i, Size j, Size m, Register gain_j) const {
        const Register delta = (parts[i] + load_register(parts.data() + n + j, m)) * inverse_relevant;
        const Register none = every<Register>(0.0);
        const Register apart =
            gain[i] > 0 ? where(gain_j > 0.0, none, delta) : where(gain_j > 0.0, delta, none);
        return where(apart < 0.0, none, apart);  // rounding
    }
};

}  // namespace

/// Add the gradients of all pairs of LambdaMART: the logistic loss of the score difference, times |Δ|.
template <class Delta>
void QuerySet::add_pairs(Ranking& r, const RankingLoss& loss, bool by_distance, const Delta& delta) const {
    const Size n_first = loss.n_top == 0 ? r.n : std::min(loss.n_top, r.n);
    const bool divides = by_distance && r.score.front() != r.score.back();
    const double sigma = loss.sigma;
    double total = 0;
    for (Size i = 0; i < n_first; ++i) {
        LaneSums gradients, hessians, sizes;
        for_registers(i + 1, r.n, [&](Size j, Size n, Size part) {
            const Register gain = load_register(r.gain.data() + j, n);
            const Register distance = r.score[i] - load_register(r.score.data() + j, n);
            Register weight = delta(i, j, n, gain);
            if (divides) weight = weight / (distance + kMinDistance);
            for (Size lane = n; lane < kRegister; ++lane) weight[lane] = 0;
            const Register sign = where(gain < r.gain[i], every<Register>(sigma), every<Register>(-sigma));
            const Register rho = 1.0 / (1.0 + exp_same_bits(sign * distance));
            const Register size = rho * weight;
            const Register gradient = size * sign, hessian = size * (1.0 - rho) * (sigma * sigma);
            store_register(r.gradient.data() + j, load_register(r.gradient.data() + j, n) + gradient, n);
            store_register(r.hessian.data() + j, load_register(r.hessian.data() + j, n) + hessian, n);
            gradients.parts[part] += gradient;
            hessians.parts[part] += hessian;
            sizes.parts[part] += size;
        });
        r.gradient[i] -= gradients.total();
        r.hessian[i] += hessians.total();
        total += 2 * sigma * sizes.total();
    }
    if (!loss.normalize || !(total > 0)) return;
    const double factor = log2_same_bits(1.0 + total) / total;
    for (Size i = 0; i < r.n; ++i) {
        r.gradient[i] *= factor;
        r.hessian[i] *= factor;
    }
}

/// The gradient of XE-NDCG, approximated by three terms as in Bruch et al. (2020), algorithm 1.
void QuerySet::add_xendcg(Ranking& r, Size query, std::uint64_t address) const {
    const Size n = r.n;
    double sum = 0, total = 0, first = 0, second = 0;
    r.extra.resize(2 * n);
    double *rho = r.extra.data(), *part = rho + n;
    for (Size i = 0; i < n; ++i) sum += rho[i] = exp_same_bits(r.score[i] - r.score[0]);
    for (Size i = 0; i < n; ++i) {
        rho[i] /= sum;
        const std::uint32_t row = rows_[begin_[query] + r.items[i].index];
        total += part[i] = r.gain[i] + 1.0 - Draws(mix(address, row)).uniform();
    }
    const auto rest = [&](Size i) { return std::max(1.0 - rho[i], kMinRest); };
    for (Size i = 0; i < n; ++i) {
        r.gradient[i] = rho[i] - part[i] / total;
        first += part[i] = r.gradient[i] / rest(i);
        r.hessian[i] = rho[i] * (1.0 - rho[i]);
    }
    for (Size i = 0; i < n; ++i) {
        const double term = rho[i] * (first - part[i]);
        r.gradient[i] += term;
        second += part[i] = term / rest(i);
    }
    for (Size i = 0; i < n; ++i) r.gradient[i] += rho[i] * (second - part[i]);
}

void QuerySet::compute_gradients(double* gradient, double* hessian, const RankingLoss& loss,
                                 const double* scores, std::uint64_t address, int n_threads,
                                 Interrupt& interrupt) const {
    for_queries(n_threads, interrupt, [&](Size q, Ranking& r) {
        sort(r, q, scores);
        r.gradient.assign(r.n, 0.0);
        r.hessian.assign(r.n, 0.0);
        const double ideal = ideal_dcg(q, loss.n_top);
        if (r.n > 1 && ideal > 0) {  // else every order is as good
            const double *gain = r.gain.data(), *discount = discount_.data();
            if (loss.name == RankingLossName::xendcg) {
                add_xendcg(r, q, address);
            } else if (loss.name == RankingLossName::pairwise) {
                add_pairs(r, loss, false, PairDelta{gain});
            } else if (loss.name == RankingLossName::map) {
                ApDelta delta{gain, r.extra, r.n};
                delta.prepare();
                add_pairs(r, loss, loss.normalize, delta);
            } else {
                for (double& one : r.gain) one /= ideal;
                add_pairs(r, loss, loss.normalize, NdcgDelta{gain, discount});
            }
        }
        for (Size i = 0; i < r.n; ++i) {
            const std::uint32_t row = rows_[begin_[q] + r.items[i].index];
            gradient[row] = r.gradient[i];
            hessian[row] = r.hessian[i];
        }
    });
}

// ---- metrics ----

namespace {

/// Give rows with equal scores the mean of their values.  score sorted; value (n,)
void average_ties(const std::vector<double>& score, std::vector<double>& value) {
    for (Size i = 0, end; i < score.size(); i = end) {
        double sum = 0;
        for (end = i; end < score.size() && score[end] == score[i]; ++end) sum += value[end];
        if (end - i > 1)
            std::fill(value.begin() + static_cast<std::ptrdiff_t>(i),
                      value.begin() + static_cast<std::ptrdiff_t>(end), sum / static_cast<double>(end - i));
    }
}

}  // namespace

void QuerySet::compute_ndcg(double* out, const double* scores, Size k, int n_threads,
                            Interrupt& interrupt) const {
    for_queries(n_threads, interrupt, [&](Size q, Ranking& r) {
        const double ideal = ideal_dcg(q, k);
        if (!(ideal > 0)) {
            out[q] = 1;
            return;
        }
        sort(r, q, scores);
        average_ties(r.score, r.gain);
        const Size end = k == 0 ? r.n : std::min(k, r.n);
        double sum = 0;
        for (Size i = 0; i < end; ++i) sum += r.gain[i] * discount_[i];
        out[q] = std::min(1.0, sum / ideal);
    });
}

void QuerySet::compute_average_precision(double* out, const double* scores, Size k, int n_threads,
                                         Interrupt& interrupt) const {
    for_queries(n_threads, interrupt, [&](Size q, Ranking& r) {
        sort(r, q, scores);
        double n_relevant = 0, count = 0, sum = 0;
        for (double& gain : r.gain) {
            gain = gain > 0 ? 1.0 : 0.0;
            n_relevant += gain;
        }
        const Size end = k == 0 ? r.n : std::min(k, r.n);
        average_ties(r.score, r.gain);
        for (Size i = 0; i < end; ++i) {
            count += r.gain[i];
            sum += r.gain[i] * count / (static_cast<double>(i) + 1.0);
        }
        out[q] = n_relevant > 0 ? sum / std::min(n_relevant, static_cast<double>(end)) : 1.0;
    });
}

}  // namespace spinney
