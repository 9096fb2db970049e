// Directions along which the rows of a node may be worth splitting: regression, discriminant, curvature, and
// random ones. Included by oblique.cpp alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "split/context.hpp"

namespace spinney {

/// One coefficient per column of a sample, in units of the standard deviations of the columns.
using Direction = std::vector<double>;

/// The usable columns of a node on some of its rows, standardised to mean 0 and deviation 1. Missing values
/// are replaced by the mean.
struct NodeSample {
    std::vector<Row> rows;
    std::vector<Stat> parts;              // with fractional instances
    std::vector<double> weight;           // (n,) with sum 1
    std::vector<std::int32_t> feature;    // (d,) ascending
    std::vector<double> mean, deviation;  // (d,)
    std::vector<double> z;                // (d, n)

    Size n() const { return rows.size(); }
    Size d() const { return feature.size(); }
    NodeRows view() const { return {rows, parts}; }
    std::span<const double> column(Size j) const { return std::span(z).subspan(j * n(), n()); }

    /// out (n,) += scale · column j
    void add_column(std::vector<double>& out, Size j, double scale) const {
        const double* x = z.data() + j * n();
        for (Size i = 0; i < out.size(); ++i) out[i] += scale * x[i];
    }
    std::vector<double> project(const Direction& a) const {
        std::vector<double> out(n(), 0.0);
        for (Size j = 0; j < d(); ++j)
            if (a[j] != 0) add_column(out, j, a[j]);
        return out;
    }
};

namespace detail {

/// Mean and standard deviation of the known values of a column. Not usable: constant, or out of the range in
/// which products neither overflow nor vanish.
struct ColumnScale {
    double mean = 0, deviation = 0;
    bool usable = false;
};

inline ColumnScale column_scale(const CodeColumn& column, std::span<const Row> rows,
                                std::span<const double> weight) {
    double lo = std::numeric_limits<double>::infinity(), hi = -lo, known = 0, sum = 0;
    for (Size i = 0; i < rows.size(); ++i) {
        const Code code = column.at(rows[i]);
        if (code == column.n_bins) continue;
        lo = std::min(lo, column.lo[code]);
        hi = std::max(hi, column.lo[code]);
    }
    constexpr double largest = 1e100, smallest = 1e-100;
    if (!(lo < hi) || lo < -largest || hi > largest || hi - lo < smallest) return {};
    double squares = 0;
    for (Size i = 0; i < rows.size(); ++i) {
        const Code code = column.at(rows[i]);
        if (code == column.n_bins) continue;
        const double x = (column.lo[code] - lo) / (hi - lo);
        known += weight[i];
        sum += weight[i] * x;
        squares += weight[i] * x * x;
    }
    if (!(known > 0)) return {};
    const double centre = sum / known, variance = (squares - sum * centre);
    if (!(variance > 1e-12 * known)) return {};
    return {std::clamp(lo + centre * (hi - lo), lo, hi), std::sqrt(variance) * (hi - lo), true};
}

/// Weights of the rows of a node, scaled to sum 1.
inline std::vector<double> row_weights(const GrowContext& c, const NodeRows& node) {
    std::vector<double> out;
    double total = 0;
    for (Size i = 0; i < node.rows.size(); ++i) {
        out.push_back(static_cast<double>(node.parts.empty() ? c.s.row_weight(node.rows[i]) : node.parts[i]));
        total += out.back();
    }
    for (double& w : out) w /= total;
    return out;
}

/// Scale to length 1; returns the length.
inline double normalise(std::vector<double>& v) {
    double squares = 0;
    for (double x : v) squares += x * x;
    const double length = std::sqrt(squares);
    if (length > 0)
        for (double& x : v) x /= length;
    return length;
}

inline constexpr Size max_sample_rows = 5'000;  // more rows hardly improve directions
inline constexpr Size max_columns = 128;        // in the covariance matrix, O(d²)
inline constexpr Size max_drawn_columns = 512;  // columns that are read; drawn if there are more
inline constexpr Size max_targets = 16;         // classes that are separated from the rest

/// Stratified sample: one row from each of max_rows equal ranges of the node.
inline void take_rows(NodeSample& out, const NodeRows& node, Size max_rows, std::uint64_t address) {
    const Size n = node.rows.size(), m = std::min(n, max_rows);
    Draws draws(address);
    for (Size i = 0; i < m; ++i) {
        const Size begin = i * n / m, end = (i + 1) * n / m;
        const Size at = m == n ? i : begin + draws.below(static_cast<std::uint32_t>(end - begin));
        out.rows.push_back(node.rows[at]);
        if (!node.parts.empty()) out.parts.push_back(node.parts[at]);
    }
}

/// Numeric columns that the node may use under max_features.
inline std::vector<std::int32_t> numeric_features(const GrowContext& c, const NodeState& state) {
    auto order = feature_order(c, state);
    if (static_cast<Size>(c.options.max_features) < order.size())
        order.resize(static_cast<Size>(std::max(1, c.options.max_features)));
    std::erase_if(
        order, [&](std::int32_t f) { return c.x.columns[static_cast<Size>(f)].kind != ColumnKind::numeric; });
    if (order.size() > max_drawn_columns) {
        Draws draws(mix(state.address, 0x0B1));
        for (Size i = 0; i < max_drawn_columns; ++i)
            std::swap(order[i], order[i + draws.below(static_cast<std::uint32_t>(order.size() - i))]);
        order.resize(max_drawn_columns);
    }
    std::sort(order.begin(), order.end());
    return order;
}

/// First output in which the rows differ.
inline int driving_output(const GrowContext& c, std::span<const Row> rows) {
    const auto m = static_cast<Size>(c.target.n_outputs);
    for (Size o = 0; o < m; ++o)
        for (Row r : rows) {
            const bool differs = c.target.task == Task::classification
                                     ? c.target.classes[r * m + o] != c.target.classes[rows[0] * m + o]
                                     : c.target.values[r * m + o] != c.target.values[rows[0] * m + o];
            if (differs) return static_cast<int>(o);
        }
    return 0;
}

/// out (d, d) lower triangle = Σ weight · z zᵀ. The inner loop runs over columns, so that it may be
/// vectorised without changing the order of any sum.
inline std::vector<double> second_moments(const NodeSample& s, const std::vector<double>& weight) {
    const Size d = s.d(), n = s.n();
    std::vector<double> out(d * d, 0.0), row(d);
    for (Size i = 0; i < n; ++i) {
        for (Size j = 0; j < d; ++j) row[j] = s.z[j * n + i];
        for (Size j = 0; j < d; ++j) {
            const double scaled = weight[i] * row[j];
            double* row_j = out.data() + j * d;
            for (Size k = 0; k <= j; ++k) row_j[k] += scaled * row[k];
        }
    }
    return out;
}

/// y = A·x of a symmetric matrix whose lower triangle is given.
inline std::vector<double> symmetric_times(const std::vector<double>& a, const std::vector<double>& x) {
    const Size d = x.size();
    std::vector<double> y(d, 0.0);
    for (Size j = 0; j < d; ++j) {
        for (Size k = 0; k < j; ++k) {
            y[j] += a[j * d + k] * x[k];
            y[k] += a[j * d + k] * x[j];
        }
        y[j] += a[j * d + j] * x[j];
    }
    return y;
}

}  // namespace detail

/// Target columns that a direction should correlate with, each centred and multiplied by the row weights:
/// (n_targets, n).
class DirectionTargets {
  public:
    DirectionTargets(const GrowContext& c, const NodeSample& sample) : sample_(sample) {
        const auto output = static_cast<Size>(detail::driving_output(c, sample.rows));
        const auto m = static_cast<Size>(c.target.n_outputs);
        if (c.target.task == Task::classification) {
            for (Row r : sample.rows) class_.push_back(c.target.classes[r * m + output]);
            add_classes(static_cast<Size>(c.target.n_classes[output]));
        } else {
            std::vector<double> y;
            for (Row r : sample.rows) y.push_back(c.target.values[r * m + output]);
            add_values(std::move(y));
        }
    }

    Size size() const { return columns_.size(); }
    const std::vector<double>& operator[](Size t) const { return columns_[t]; }
    const std::vector<std::int32_t>& classes() const { return class_; }

    /// Covariance of the columns of the sample with a target.  (d,)
    std::vector<double> covariance(const std::vector<double>& target) const {
        std::vector<double> out(sample_.d());
        for (Size j = 0; j < out.size(); ++j) out[j] = covariance(target, sample_.column(j));
        return out;
    }

    static double covariance(const std::vector<double>& target, std::span<const double> z) {
        double sum = 0;
        for (Size i = 0; i < z.size(); ++i) sum += target[i] * z[i];
        return sum;
    }

    /// Target that separates left rows from right ones.
    template <class IsLeft>
    std::vector<double> two_sides(IsLeft&& is_left) const {
        std::vector<double> out(sample_.n());
        for (Size i = 0; i < out.size(); ++i) out[i] = is_left(i) ? 1.0 : 0.0;
        centre(out);
        return out;
    }

  private:
    void centre(std::vector<double>& u) const {
        double mean = 0;
        for (Size i = 0; i < u.size(); ++i) mean += sample_.weight[i] * u[i];
        for (Size i = 0; i < u.size(); ++i) u[i] = sample_.weight[i] * (u[i] - mean);
    }

    /// Each of the heaviest classes against the rest; one target is enough for two classes.
    void add_classes(Size n_classes) {
        std::vector<double> mass(n_classes, 0.0);
        for (Size i = 0; i < class_.size(); ++i) mass[static_cast<Size>(class_[i])] += sample_.weight[i];
        std::vector<Size> present;
        for (Size k = 0; k < n_classes; ++k)
            if (mass[k] > 0) present.push_back(k);
        std::stable_sort(present.begin(), present.end(), [&](Size a, Size b) { return mass[a] > mass[b]; });
        if (present.size() == 2) present.pop_back();
        if (present.size() > detail::max_targets) present.resize(detail::max_targets);
        for (Size k : present)
            columns_.push_back(two_sides([&](Size i) { return static_cast<Size>(class_[i]) == k; }));
    }

    /// y itself, and whether it is above its mean, which is robust to outliers.
    void add_values(std::vector<double> y) {
        double largest = 0, mean = 0;
        for (double v : y) largest = std::max(largest, std::abs(v));
        if (!(largest > 0)) largest = 1;
        for (double& v : y) v /= largest;
        for (Size i = 0; i < y.size(); ++i) mean += sample_.weight[i] * y[i];
        columns_.push_back(y);
        centre(columns_.back());
        columns_.push_back(two_sides([&](Size i) { return y[i] > mean; }));
    }

    const NodeSample& sample_;
    std::vector<std::int32_t> class_;
    std::vector<std::vector<double>> columns_;
};

/// Solves with the covariance of the columns, shrunk towards the identity: by a half where there are as many
/// columns as rows, by little where there are many rows, so that collinear columns and small nodes are safe.
class ShrunkCovariance {
  public:
    explicit ShrunkCovariance(const NodeSample& s) : d_(s.d()), factor_(detail::second_moments(s, s.weight)) {
        const double rows = static_cast<double>(s.n()), columns = static_cast<double>(d_);
        const double shrink = std::max(1e-6, 0.5 * columns / (rows + columns));
        for (Size j = 0; j < d_; ++j) {
            for (Size k = 0; k <= j; ++k) factor_[j * d_ + k] *= 1 - shrink;
            factor_[j * d_ + j] += shrink;
        }
        factorise(shrink);
    }

    std::vector<double> solve(std::vector<double> b) const {
        for (Size j = 0; j < d_; ++j) {
            for (Size k = 0; k < j; ++k) b[j] -= factor_[j * d_ + k] * b[k];
            b[j] /= factor_[j * d_ + j];
        }
        for (Size j = d_; j-- > 0;) {
            b[j] /= factor_[j * d_ + j];
            for (Size k = 0; k < j; ++k) b[k] -= factor_[j * d_ + k] * b[j];
        }
        return b;
    }

  private:
    /// Cholesky factorisation in place. No pivot is below `min_pivot` except by rounding.
    void factorise(double min_pivot) {
        for (Size j = 0; j < d_; ++j) {
            double* row = factor_.data() + j * d_;
            for (Size k = 0; k <= j; ++k) {
                const double* other = factor_.data() + k * d_;
                double sum = row[k];
                for (Size i = 0; i < k; ++i) sum -= row[i] * other[i];
                row[k] = k == j ? std::sqrt(std::max(sum, min_pivot)) : sum / other[k];
            }
        }
    }

    Size d_;
    std::vector<double> factor_;  // (d, d), lower triangle of the Cholesky factor
};

/// Directions of a node in the order in which they are tried.
class Directions {
  public:
    Directions(const NodeSample& sample, const DirectionTargets& targets)
        : sample_(sample), targets_(targets), covariance_(sample) {}

    /// Regression on each target (for classes, the discriminant of one against the rest), with and without
    /// the covariance between columns.
    void add_regressions(std::vector<Direction>& out) const {
        for (Size t = 0; t < targets_.size(); ++t) {
            auto covariance = targets_.covariance(targets_[t]);
            out.push_back(covariance_.solve(covariance));
            out.push_back(std::move(covariance));
        }
    }

    Direction regression(const std::vector<double>& target) const {
        return covariance_.solve(targets_.covariance(target));
    }

    /// Fisher's discriminant, in which the class means differ most relative to the spread: v ∝ S⁻¹ Σ g gᵀ v,
    /// by power iteration.
    void add_discriminant(std::vector<Direction>& out) const {
        if (targets_.size() < 3 || targets_.classes().empty()) return;
        std::vector<std::vector<double>> g;
        for (Size t = 0; t < targets_.size(); ++t) g.push_back(targets_.covariance(targets_[t]));
        Direction v = covariance_.solve(g[0]);
        for (int step = 0; step < 20; ++step) {
            std::vector<double> sum(v.size(), 0.0);
            for (const auto& mean : g) {
                double dot = 0;
                for (Size j = 0; j < v.size(); ++j) dot += mean[j] * v[j];
                for (Size j = 0; j < v.size(); ++j) sum[j] += dot * mean[j];
            }
            v = covariance_.solve(std::move(sum));
            if (!(detail::normalise(v) > 0)) return;
        }
        out.push_back(std::move(v));
    }

    /// Directions of largest positive and negative curvature of the target: an exclusive or has no slope, but
    /// it has these.
    void add_curvatures(std::vector<Direction>& out, std::uint64_t address) const {
        const Size d = sample_.d();
        if (d < 2 || d > 64 || sample_.n() < 4 * d || targets_.size() == 0) return;
        const auto bend = detail::second_moments(sample_, targets_[0]);
        const auto times = [&](const Direction& v) {
            return covariance_.solve(detail::symmetric_times(bend, v));
        };
        Draws draws(mix(address, 0xBE2D));
        Direction first(d);
        for (double& x : first) x = draws.uniform() - 0.5;
        double largest = 0;
        Direction v = first;
        for (int step = 0; step < 8; ++step) {
            v = times(v);
            largest = detail::normalise(v);
        }
        if (!(largest > 0)) return;
        for (const double sign : {1.0, -1.0}) {
            // Moved by its size the spectrum has one end only: multiplication then does not waver between
            // two.
            v = first;
            for (int step = 0; step < 24; ++step) {
                const Direction image = times(v);
                for (Size j = 0; j < d; ++j) v[j] = sign * image[j] + largest * v[j];
                if (!(detail::normalise(v) > 0)) return;
            }
            out.push_back(v);
        }
    }

  private:
    const NodeSample& sample_;
    const DirectionTargets& targets_;
    ShrunkCovariance covariance_;
};

/// Random direction of two to four columns.
inline Direction draw_direction(Size d, Draws& draws) {
    Direction out(d, 0.0);
    const Size terms = std::min<Size>(d, 2 + draws.below(3));
    for (Size k = 0; k < terms; ++k)
        out[draws.below(static_cast<std::uint32_t>(d))] = 2 * draws.uniform() - 1;
    return out;
}

/// Read the usable columns of a node. Of more than detail::max_columns, or than a tenth of the rows, those
/// are kept that correlate best with some target: coefficients need enough rows.
inline NodeSample sample_node(const GrowContext& c, const NodeState& state, const NodeRows& node) {
    NodeSample out;
    detail::take_rows(out, node, detail::max_sample_rows, mix(state.address, 0x0B2));
    out.weight = detail::row_weights(c, out.view());
    const DirectionTargets targets(c, out);
    struct Usable {
        std::int32_t feature;
        detail::ColumnScale scale;
        double relevance;
    };
    std::vector<Usable> usable;
    std::vector<double> z(out.n());
    const auto read = [&](double* to, const Usable& u) {
        const CodeColumn& column = c.x.columns[static_cast<Size>(u.feature)];
        for (Size i = 0; i < out.n(); ++i) {
            const Code code = column.at(out.rows[i]);
            to[i] = code == column.n_bins ? 0.0 : (column.lo[code] - u.scale.mean) / u.scale.deviation;
        }
    };
    for (std::int32_t f : detail::numeric_features(c, state)) {
        const auto scale = detail::column_scale(c.x.columns[static_cast<Size>(f)], out.rows, out.weight);
        if (scale.usable) usable.push_back({f, scale, 0.0});
    }
    const Size n_columns = std::min(detail::max_columns, std::max<Size>(8, out.n() / 10));
    if (usable.size() > n_columns) {
        for (auto& u : usable) {
            read(z.data(), u);
            for (Size t = 0; t < targets.size(); ++t)
                u.relevance = std::max(u.relevance, std::abs(DirectionTargets::covariance(targets[t], z)));
        }
        std::stable_sort(usable.begin(), usable.end(),
                         [](const auto& a, const auto& b) { return a.relevance > b.relevance; });
        usable.resize(n_columns);
        std::sort(usable.begin(), usable.end(),
                  [](const auto& a, const auto& b) { return a.feature < b.feature; });
    }
    out.z.resize(usable.size() * out.n());
    for (const auto& u : usable) {
        read(out.z.data() + out.feature.size() * out.n(), u);
        out.feature.push_back(u.feature);
        out.mean.push_back(u.scale.mean);
        out.deviation.push_back(u.scale.deviation);
    }
    return out;
}

}  // namespace spinney
