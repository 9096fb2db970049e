// The value, weight and impurity of fitted nodes, from the unscaled target: sums over chunks of rows, which
// are added in the order of the chunks.
#pragma once

#include <span>
#include <utility>

#include "split/options.hpp"
#include "split/statistics.hpp"

namespace spinney {

/// Rows of a node, with fractional instances each with part of its weight (in steps of weight_unit).
struct NodeRows {
    std::span<const Row> rows;
    std::span<const Stat> parts;  // empty: full weights
};

/// Weighted median of (value, weight) pairs, which are sorted in place. If the weight splits evenly, the
/// midpoint of the two candidates.
double weighted_median(std::span<std::pair<double, double>> pairs);

/// Sufficient statistics of a node, merged from children to parents, and what a fitted node derives from
/// them.
///   classification  class weights, (n_channels,)
///   regression      weight, then mean, sum of squared deviations and Σ w·y·ln y of each output
///   absolute error  weight, then median and mean absolute deviation of each output; computed at every node
class NodeValues {
  public:
    NodeValues(const Target& target, const Statistics& s, CriterionName criterion);

    int size() const { return size_; }
    bool mergeable() const { return criterion_ != CriterionName::absolute_error; }

    /// Compute out (size,) from the rows of a node.
    void from_rows(double* out, const NodeRows& node) const;

    /// Whether they equal the scaled sums of a node.
    bool exact() const {
        return target_.task == Task::classification && s_.weight_unit == 1.0 && s_.layout != Layout::dense;
    }

    /// Whether the values are shares of whole class weights, and the impurity follows from the shares.
    bool of_shares() const { return exact() && criterion_ == CriterionName::gini; }

    /// Compute out (size,) from the scaled sums of a node; requires exact().
    void from_sum(double* out, const Stat* sum) const { s_.decode(sum, out); }

    /// out += child.
    void merge(double* out, const double* child) const;

    double weight(const double* m) const;

    /// Impurity of a node, the mean over the outputs.
    double impurity(const double* m) const;

    /// Value of a node: class probabilities, means or medians, clipped to the bounds of a monotonic
    /// constraint.  out (n_outputs, width)
    void value(double* out, int width, const double* m, double lower, double upper) const;

    /// The same of a node of weight w; returns its impurity.
    double describe(double* out, int width, const double* m, double w, double lower, double upper) const;

  private:
    double row_weight(const NodeRows& node, Size i) const {
        if (node.parts.empty()) return target_.weight(node.rows[i]);
        return static_cast<double>(node.parts[i]) * s_.weight_unit;
    }
    double y(const NodeRows& node, Size i, int o) const {
        return target_.values[static_cast<Size>(node.rows[i]) * static_cast<Size>(target_.n_outputs) +
                              static_cast<Size>(o)];
    }
    void class_weights(double* out, const NodeRows& node) const;
    void means(double* out, const NodeRows& node) const;
    void medians(double* out, const NodeRows& node) const;
    double impurity(const double* m, double w) const;
    void value(double* out, int width, const double* m, double w, double lower, double upper) const;
    double class_impurity(const double* m, int classes, double w) const;
    double value_impurity(const double* m, double w) const;

    const Target& target_;
    const Statistics& s_;
    CriterionName criterion_;
    int size_ = 0;
};

}  // namespace spinney
