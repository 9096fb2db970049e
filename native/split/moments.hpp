// The numbers a fitted node keeps (value, weight, impurity), from the unscaled target in row order.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <span>
#include <vector>

#include "split/criteria.hpp"
#include "split/statistics.hpp"

namespace spinney {

/// The rows of a node: all whole, or each with a part of its weight (in steps of weight_unit).
struct NodeRows {
    std::span<const Row> rows;
    std::span<const Stat> parts;  // empty: whole rows
};

/// Weighted median of (value, weight) pairs, which are sorted in place: the middle of the two candidates
/// where the weight splits evenly.
inline double weighted_median(std::span<std::pair<double, double>> pairs) {
    std::sort(pairs.begin(), pairs.end());
    double total = 0, below = 0;
    for (const auto& [y, w] : pairs) total += w;
    for (Size i = 0; i < pairs.size(); ++i) {
        below += pairs[i].second;
        if (below > total / 2) return pairs[i].first;
        if (below == total / 2 && i + 1 < pairs.size()) return pairs[i].first / 2 + pairs[i + 1].first / 2;
    }
    return pairs.empty() ? 0.0 : pairs.back().first;
}

/// Sums that can be merged from children to parents.
///   classification  the class weights, (n_channels,)
///   regression      weight, then mean, sum of squared deviations and Σ w·y·ln y of each output
///   absolute error  weight, then median and mean absolute deviation of each output; computed at every node
class Moments {
  public:
    Moments(const Target& target, const Statistics& s, CriterionName criterion)
        : target_(target), s_(s), criterion_(criterion) {
        if (target.task == Task::classification)
            size_ = s.n_channels;
        else
            size_ = 1 + 3 * target.n_outputs;
    }

    int size() const { return size_; }
    bool mergeable() const { return criterion_ != CriterionName::absolute_error; }

    /// out (size,) from the rows of a node.
    void of_rows(double* out, const NodeRows& node) const {
        std::fill(out, out + size_, 0.0);
        if (target_.task == Task::classification)
            classes(out, node);
        else if (mergeable())
            means(out, node);
        else
            medians(out, node);
    }

    /// Are the scaled sums of a node its moments already?
    bool exact() const {
        return target_.task == Task::classification && s_.weight_unit == 1.0 && s_.layout != Layout::dense;
    }

    /// out (size,) from the scaled sums of a node, where they are exact.
    void of_sum(double* out, const Stat* sum) const { s_.decode(sum, out); }

    /// out += child.
    void merge(double* out, const double* child) const {
        if (target_.task == Task::classification) {
            for (int i = 0; i < size_; ++i) out[i] += child[i];
            return;
        }
        const double a = out[0], b = child[0], w = a + b;
        if (!(b > 0)) return;
        for (int o = 0; o < target_.n_outputs; ++o) {
            double* m = out + 1 + 3 * o;
            const double* c = child + 1 + 3 * o;
            const double d = c[0] - m[0];
            m[0] = a > 0 ? m[0] + d * (b / w) : c[0];
            m[1] += c[1] + d * d * (a * (b / w));
            m[2] += c[2];
        }
        out[0] = w;
    }

    double weight(const double* m) const {
        if (target_.task == Task::regression) return m[0];
        double w = 0;
        for (int k = 0; k < target_.n_classes[0]; ++k) w += m[k];
        return w;
    }

    /// Mean over the outputs of the node's impurity.
    double impurity(const double* m) const {
        const double w = weight(m);
        if (!(w > 0)) return 0.0;
        double sum = 0;
        if (target_.task == Task::classification) {
            for (int classes : target_.n_classes) {
                sum += class_impurity(m, classes, w);
                m += classes;
            }
        } else {
            for (int o = 0; o < target_.n_outputs; ++o) sum += value_impurity(m + 1 + 3 * o, w);
        }
        return std::min(std::max(0.0, sum / target_.n_outputs), DBL_MAX);
    }

    /// out (n_outputs, width): class proportions, means or medians; a monotone node is held between its
    /// bounds.
    void value(double* out, int width, const double* m, double lower, double upper) const {
        const double w = weight(m);
        if (target_.task == Task::regression) {
            for (int o = 0; o < target_.n_outputs; ++o) out[o] = std::clamp(m[1 + 3 * o], lower, upper);
            return;
        }
        for (int classes : target_.n_classes) {
            for (int k = 0; k < classes; ++k) out[k] = w > 0 ? m[k] / w : 1.0 / classes;
            if (classes == 2 && target_.n_outputs == 1 && (lower > kImpossible || upper < -kImpossible)) {
                out[1] = std::clamp(out[1], lower, upper);
                out[0] = 1.0 - out[1];
            }
            m += classes;
            out += width;
        }
    }

  private:
    double row_weight(const NodeRows& node, Size i) const {
        if (node.parts.empty()) return target_.weight(node.rows[i]);
        return static_cast<double>(node.parts[i]) * s_.weight_unit;
    }

    void classes(double* out, const NodeRows& node) const {
        for (Size i = 0; i < node.rows.size(); ++i) {
            const double w = row_weight(node, i);
            int first = 0;
            for (int o = 0; o < target_.n_outputs; ++o) {
                out[first +
                    target_.classes[static_cast<Size>(node.rows[i]) * static_cast<Size>(target_.n_outputs) +
                                    static_cast<Size>(o)]] += w;
                first += target_.n_classes[static_cast<Size>(o)];
            }
        }
    }

    double y(const NodeRows& node, Size i, int o) const {
        return target_.values[static_cast<Size>(node.rows[i]) * static_cast<Size>(target_.n_outputs) +
                              static_cast<Size>(o)];
    }

    void means(double* out, const NodeRows& node) const {
        double w = 0;
        for (Size i = 0; i < node.rows.size(); ++i) w += row_weight(node, i);
        out[0] = w;
        for (int o = 0; o < target_.n_outputs; ++o) {
            double* m = out + 1 + 3 * o;
            double mean = 0, correction = 0;
            for (Size i = 0; i < node.rows.size(); ++i) mean += y(node, i, o) * (row_weight(node, i) / w);
            // A second pass takes away what the first rounded; equal values then give their own value back.
            for (Size i = 0; i < node.rows.size(); ++i)
                correction += (y(node, i, o) - mean) * (row_weight(node, i) / w);
            m[0] = mean + correction;
            for (Size i = 0; i < node.rows.size(); ++i) {
                const double d = y(node, i, o) - m[0], v = y(node, i, o);
                m[1] += row_weight(node, i) * d * d;
                if (criterion_ == CriterionName::poisson && v > 0)
                    m[2] += row_weight(node, i) * v * std::log(v);
            }
        }
    }

    void medians(double* out, const NodeRows& node) const {
        std::vector<std::pair<double, double>> pairs(node.rows.size());
        for (int o = 0; o < target_.n_outputs; ++o) {
            double w = 0, deviation = 0;
            for (Size i = 0; i < node.rows.size(); ++i) {
                pairs[i] = {y(node, i, o), row_weight(node, i)};
                w += pairs[i].second;
            }
            const double median = weighted_median(pairs);
            for (const auto& [value, weight] : pairs) deviation += std::abs(value - median) * (weight / w);
            out[0] = w;
            out[1 + 3 * o] = median;
            out[2 + 3 * o] = deviation;
        }
    }

    double class_impurity(const double* m, int classes, double w) const {
        double sum = 0;
        if (criterion_ == CriterionName::entropy) {
            for (int k = 0; k < classes; ++k) sum -= xlog2x(m[k] / w);
            return sum;
        }
        for (int k = 0; k < classes; ++k) sum += (m[k] / w) * (m[k] / w);
        return 1.0 - sum;
    }

    double value_impurity(const double* m, double w) const {
        switch (criterion_) {
            case CriterionName::absolute_error:
                return m[1];
            case CriterionName::poisson:
                return m[0] > 0 ? m[2] / w - m[0] * std::log(m[0]) : 0.0;
            default:
                return m[1] / w;
        }
    }

    const Target& target_;
    const Statistics& s_;
    CriterionName criterion_;
    int size_ = 0;
};

}  // namespace spinney
