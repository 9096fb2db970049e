#include "online/epoch.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/random.hpp"
#include "simd/vectors.hpp"

namespace spinney {

namespace {

constexpr double kMinScale = 1e-9;  // below this, weights are multiplied out to keep their digits
constexpr Size kAhead = 4;          // rows are fetched this many visits early

Lanes load(const double* from) {
    Lanes out;
    std::memcpy(&out, from, sizeof out);
    return out;
}

/// Sum of the lanes in a fixed order.
double sum_of(Lanes v) { return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])); }

/// a · b; eight running sums at every vector level, so that all give the same bits.
double dot(const double* a, const double* b, Size n) {
    if (n < kLanes) {
        double sum = 0.0;
        for (Size j = 0; j < n; ++j) sum += a[j] * b[j];
        return sum;
    }
    Lanes sum = {};
    Size j = 0;
    for (; j + kLanes <= n; j += kLanes) sum += load(a + j) * load(b + j);
    if (j < n) {  // the last eight once more, without those that were added
        constexpr Lanes number = {0, 1, 2, 3, 4, 5, 6, 7};
        const auto first_new = static_cast<double>(kLanes - (n - j));
        const Lanes product = load(a + n - kLanes) * load(b + n - kLanes);
        sum += where(number >= first_new, product, Lanes{});
    }
    return sum_of(sum);
}

void add_scaled(double* __restrict to, const double* __restrict from, double factor, Size n) {
    for (Size j = 0; j < n; ++j) to[j] += factor * from[j];
}

/// One dense row.
struct DenseRow {
    const double* x;
    Size n;

    double times(const double* w) const { return dot(w, x, n); }
    double squared_norm() const { return dot(x, x, n); }
    void add_to(double* w, double factor) const { add_scaled(w, x, factor, n); }
    template <class F>
    void each_feature(F&& f) const {
        for (Size j = 0; j < n; ++j) f(j);
    }
};

/// One sparse row.
struct SparseRow {
    const double* x;
    const std::int32_t* index;
    Size n;

    double times(const double* w) const {
        double sum = 0.0;
        for (Size i = 0; i < n; ++i) sum += w[index[i]] * x[i];
        return sum;
    }
    double squared_norm() const {
        double sum = 0.0;
        for (Size i = 0; i < n; ++i) sum += x[i] * x[i];
        return sum;
    }
    void add_to(double* w, double factor) const {
        for (Size i = 0; i < n; ++i) w[index[i]] += factor * x[i];
    }
    template <class F>
    void each_feature(F&& f) const {
        for (Size i = 0; i < n; ++i) f(static_cast<Size>(index[i]));
    }
};

double loss_of(double y, double p, const OnlineOptions& o) {
    if (o.regression) return std::max(0.0, std::abs(y - p) - o.epsilon);
    const double threshold = o.rule == UpdateRule::perceptron ? 0.0 : 1.0;
    return y * p <= threshold ? threshold - y * p : 0.0;
}

/// The factor of x in the update, before row weights.
double update_of(double y, double p, double loss, double norm, const OnlineOptions& o) {
    if (o.rule == UpdateRule::perceptron) return y * p <= 0.0 ? o.step * y : 0.0;
    if (loss <= 0.0) return 0.0;
    if (norm == 0.0) return 0.0;
    const double size =
        o.rule == UpdateRule::passive ? std::min(o.step, loss / norm) : loss / (norm + 0.5 / o.step);
    return o.regression ? (y - p < 0.0 ? -size : size) : size * y;
}

/// The truncated cumulative L1 penalty of Tsuruoka, Tsujii and Ananiadou (2009).
template <class Row>
void pay_l1(OnlineState& state, const Row& row, double scale) {
    row.each_feature([&](Size j) {
        const double before = state.weights[j];
        double& w = state.weights[j];
        if (scale * before > 0.0)
            w = std::max(0.0, before - (state.penalty_due + state.penalty_paid[j]) / scale);
        else if (scale * before < 0.0)
            w = std::min(0.0, before + (state.penalty_due - state.penalty_paid[j]) / scale);
        state.penalty_paid[j] += scale * (w - before);
    });
}

/// Learn from one row. The weights are state.weights times `scale`, which an L2 penalty shrinks.
template <class Row>
void visit(OnlineState& state, double& scale, EpochReport& report, const Row& row, double y,
           double row_weight, double norm, const OnlineOptions& o) {
    const double p = row.times(state.weights.data()) * scale + state.intercept;
    const double loss = loss_of(y, p, o);
    report.loss += loss;
    if (o.regression ? loss > 0.0 : y * p <= 0.0) ++report.n_mistakes;
    const double update = update_of(y, p, loss, norm, o) * row_weight;
    if (o.l2 > 0.0) {
        scale *= std::max(0.0, 1.0 - o.l2);
        if (scale < kMinScale) {
            for (double& w : state.weights) w *= scale;
            scale = 1.0;
        }
    }
    if (update != 0.0) {
        ++report.n_updates;
        row.add_to(state.weights.data(), update / scale);
        if (o.fit_intercept) state.intercept += update;
    }
    if (o.average_from >= 0 && state.n_steps >= o.average_from && update != 0.0) {
        const auto step = static_cast<double>(state.n_steps - o.average_from);
        row.add_to(state.drift.data(), update * step);
        if (o.fit_intercept) state.intercept_drift += update * step;
    }
    ++state.n_steps;
    if (o.l1 > 0.0) {
        state.penalty_due += o.l1;
        pay_l1(state, row, scale);
    }
}

}  // namespace

EpochReport run_epoch(OnlineState& state, const FeatureRows& rows, const double* target,
                      const double* row_weights, const double* squared_norms,
                      std::span<const std::uint32_t> order, const OnlineOptions& options) {
    EpochReport report;
    double scale = 1.0;
    for (Size i = 0; i < order.size(); ++i) {
        const Size r = order[i];
        const double weight = row_weights ? row_weights[r] : 1.0,
                     norm = squared_norms ? squared_norms[r] : 0.0;
        if (rows.is_sparse()) {
            const auto at = static_cast<Size>(rows.begin[r]);
            const SparseRow row{rows.values + at, rows.indices + at,
                                static_cast<Size>(rows.begin[r + 1]) - at};
            visit(state, scale, report, row, target[r], weight, norm, options);
            continue;
        }
        const double* next = rows.values + order[std::min(i + kAhead, order.size() - 1)] * rows.n_features;
        const Size fetched = std::min<Size>(rows.n_features, 64);
        for (Size j = 0; j < fetched; j += 8) __builtin_prefetch(next + j);
        __builtin_prefetch(next + fetched - 1);  // rows need not begin with a cache line
        const DenseRow row{rows.values + r * rows.n_features, rows.n_features};
        visit(state, scale, report, row, target[r], weight, norm, options);
    }
    if (scale != 1.0)
        for (double& w : state.weights) w *= scale;
    return report;
}

std::vector<double> squared_norms(const FeatureRows& rows) {
    std::vector<double> out(rows.n_rows);
    for (Size r = 0; r < rows.n_rows; ++r) {
        if (rows.is_sparse()) {
            const auto at = static_cast<Size>(rows.begin[r]);
            const Size n = static_cast<Size>(rows.begin[r + 1]) - at;
            out[r] = SparseRow{rows.values + at, rows.indices + at, n}.squared_norm();
        } else {
            out[r] = DenseRow{rows.values + r * rows.n_features, rows.n_features}.squared_norm();
        }
    }
    return out;
}

void shuffle_rows(std::span<std::uint32_t> order, std::uint64_t seed) {
    Draws draws(seed);
    for (Size i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[draws.below(static_cast<std::uint32_t>(i))]);
}

}  // namespace spinney
