// Directions along which the rows of a node may be worth splitting: regression, discriminant, curvature, and
// random ones.
#pragma once

#include <memory>
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

ColumnScale column_scale(const CodeColumn& column, std::span<const Row> rows, std::span<const double> weight);

/// Weights of the rows of a node, scaled to sum 1.
std::vector<double> row_weights(const GrowContext& c, const NodeRows& node);

/// Scale to length 1; returns the length.
double normalise(std::vector<double>& v);

}  // namespace detail

/// Target columns that a direction should correlate with, each centred and multiplied by the row weights:
/// (n_targets, n).
class DirectionTargets {
  public:
    DirectionTargets(const GrowContext& c, const NodeSample& sample);

    Size size() const { return columns_.size(); }
    const std::vector<double>& operator[](Size t) const { return columns_[t]; }
    const std::vector<std::int32_t>& classes() const { return class_; }

    /// Covariance of the columns of the sample with a target.  (d,)
    std::vector<double> covariance(const std::vector<double>& target) const;
    static double covariance(const std::vector<double>& target, std::span<const double> z);

    /// Target that separates left rows from right ones.
    template <class IsLeft>
    std::vector<double> two_sides(IsLeft&& is_left) const {
        std::vector<double> out(sample_.n());
        for (Size i = 0; i < out.size(); ++i) out[i] = is_left(i) ? 1.0 : 0.0;
        centre(out);
        return out;
    }

  private:
    void centre(std::vector<double>& u) const;
    void add_classes(Size n_classes);
    void add_values(std::vector<double> y);

    const NodeSample& sample_;
    std::vector<std::int32_t> class_;
    std::vector<std::vector<double>> columns_;
};

/// Solves with the covariance of the columns, shrunk towards the identity: by a half where there are as many
/// columns as rows, by little where there are many rows, so that collinear columns and small nodes are safe.
class ShrunkCovariance {
  public:
    explicit ShrunkCovariance(const NodeSample& s);
    std::vector<double> solve(std::vector<double> b) const;

  private:
    void factorise(double min_pivot);

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
    void add_regressions(std::vector<Direction>& out) const;

    Direction regression(const std::vector<double>& target) const {
        return covariance_.solve(targets_.covariance(target));
    }

    /// Fisher's discriminant, in which the class means differ most relative to the spread: v ∝ S⁻¹ Σ g gᵀ v,
    /// by power iteration.
    void add_discriminant(std::vector<Direction>& out) const;

    /// Directions of largest positive and negative curvature of the target: an exclusive or has no slope, but
    /// it has these.
    void add_curvatures(std::vector<Direction>& out, std::uint64_t address) const;

  private:
    const NodeSample& sample_;
    const DirectionTargets& targets_;
    ShrunkCovariance covariance_;
};

/// Random direction of two to four columns.
Direction draw_direction(Size d, Draws& draws);

/// Read the usable columns of a node. Of more than max_columns, or than a tenth of the rows, those are kept
/// that correlate best with some target: coefficients need enough rows.
NodeSample sample_node(const GrowContext& c, const NodeState& state, const NodeRows& node);

}  // namespace spinney
