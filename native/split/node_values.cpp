// The value, weight and impurity of fitted nodes.
#include "split/node_values.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "core/chunk_sum.hpp"
#include "core/exponential.hpp"
#include "split/criteria.hpp"

namespace spinney {

double weighted_median(std::span<std::pair<double, double>> pairs) {
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

NodeValues::NodeValues(const Target& target, const Statistics& s, CriterionName criterion)
    : target_(target),
      s_(s),
      criterion_(criterion),
      size_(target.task == Task::classification ? s.n_channels : 1 + 3 * target.n_outputs) {}

void NodeValues::from_rows(double* out, const NodeRows& node) const {
    std::fill(out, out + size_, 0.0);
    if (target_.task == Task::classification)
        class_weights(out, node);
    else if (mergeable())
        means(out, node);
    else
        medians(out, node);
}

void NodeValues::merge(double* out, const double* child) const {
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

double NodeValues::weight(const double* m) const {
    if (target_.task == Task::regression) return m[0];
    const int classes = target_.n_classes[0];
    double w = 0;
    int k = 0;
    if (exact()) {  // the sum of whole numbers is the same in any order
        Lanes sums{}, own;
        for (; k + static_cast<int>(kLanes) <= classes; k += static_cast<int>(kLanes)) {
            std::memcpy(&own, m + k, sizeof own);
            sums += own;
        }
        for (Size i = 0; i < kLanes; ++i) w += sums[i];
    }
    for (; k < classes; ++k) w += m[k];
    return w;
}

double NodeValues::impurity(const double* m) const { return impurity(m, weight(m)); }

double NodeValues::impurity(const double* m, double w) const {
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

double NodeValues::describe(double* out, int width, const double* m, double w, double lower,
                            double upper) const {
    value(out, width, m, w, lower, upper);
    const bool shares = target_.task == Task::classification && target_.n_outputs == 1 &&
                        criterion_ == CriterionName::gini && lower == kImpossible && upper == -kImpossible;
    if (!shares || !(w > 0)) return impurity(m, w);
    double sum = 0;  // of the same terms as in class_impurity, whose divisions are done
    for (int k = 0; k < width; ++k)
        if (out[k] != 0.0) sum += out[k] * out[k];
    return std::max(0.0, 1.0 - sum);
}

void NodeValues::value(double* out, int width, const double* m, double lower, double upper) const {
    value(out, width, m, weight(m), lower, upper);
}

void NodeValues::value(double* out, int width, const double* m, double w, double lower, double upper) const {
    if (target_.task == Task::regression) {
        for (int o = 0; o < target_.n_outputs; ++o) out[o] = std::clamp(m[1 + 3 * o], lower, upper);
        return;
    }
    for (int classes : target_.n_classes) {
        for (int k = 0; k < classes; ++k) out[k] = w > 0 ? m[k] / w : 1.0 / classes;
        std::fill(out + classes, out + width, 0.0);
        if (classes == 2 && target_.n_outputs == 1 && (lower > kImpossible || upper < -kImpossible)) {
            out[1] = std::clamp(out[1], lower, upper);
            out[0] = 1.0 - out[1];
        }
        m += classes;
        out += width;
    }
}

void NodeValues::class_weights(double* out, const NodeRows& node) const {
    std::vector<double> part(static_cast<Size>(size_));
    for (Size i = 0; i < node.rows.size(); ++i) {
        const Size row = node.rows[i];
        const double w = row_weight(node, i);
        int first = 0;
        for (int o = 0; o < target_.n_outputs; ++o) {
            part[static_cast<Size>(first + target_.classes[row * static_cast<Size>(target_.n_outputs) +
                                                           static_cast<Size>(o)])] += w;
            first += target_.n_classes[static_cast<Size>(o)];
        }
        if (i + 1 < node.rows.size() && static_cast<Size>(node.rows[i + 1]) / kChunkRows == row / kChunkRows)
            continue;
        for (Size k = 0; k < part.size(); ++k) out[k] += std::exchange(part[k], 0.0);
    }
}

void NodeValues::means(double* out, const NodeRows& node) const {
    if (node.rows.size() == 1 && criterion_ != CriterionName::poisson) {  // as the sums below give it
        out[0] = 0.0 + row_weight(node, 0);
        for (int o = 0; o < target_.n_outputs; ++o) out[1 + 3 * o] = 0.0 + y(node, 0, o);
        return;
    }
    const auto sum = [&](auto&& term) {
        ChunkSum out;
        for (Size i = 0; i < node.rows.size(); ++i) out.add(node.rows[i], term(i));
        return out.total();
    };
    const double w = out[0] = sum([&](Size i) { return row_weight(node, i); });
    for (int o = 0; o < target_.n_outputs; ++o) {
        double* m = out + 1 + 3 * o;
        const double mean = sum([&](Size i) { return y(node, i, o) * (row_weight(node, i) / w); });
        // The second pass corrects rounding; the mean of equal values is then exactly that value.
        m[0] = mean + sum([&](Size i) { return (y(node, i, o) - mean) * (row_weight(node, i) / w); });
        m[1] = sum([&](Size i) {
            const double d = y(node, i, o) - m[0];
            return row_weight(node, i) * d * d;
        });
        if (criterion_ != CriterionName::poisson) continue;
        m[2] = sum([&](Size i) {
            const double v = y(node, i, o);
            return v > 0 ? row_weight(node, i) * v * log_same_bits(v) : 0.0;
        });
    }
}

void NodeValues::medians(double* out, const NodeRows& node) const {
    std::vector<std::pair<double, double>> pairs(node.rows.size());
    for (int o = 0; o < target_.n_outputs; ++o) {
        ChunkSum weight;
        for (Size i = 0; i < node.rows.size(); ++i) {
            pairs[i] = {y(node, i, o), row_weight(node, i)};
            weight.add(node.rows[i], pairs[i].second);
        }
        const double w = weight.total();
        double deviation = 0;
        const double median = weighted_median(pairs);
        for (const auto& [value, weight] : pairs) deviation += std::abs(value - median) * (weight / w);
        out[0] = w;
        out[1 + 3 * o] = median;
        out[2 + 3 * o] = deviation;
    }
}

double NodeValues::class_impurity(const double* m, int classes, double w) const {
    double sum = 0;
    if (criterion_ == CriterionName::entropy) {
        for (int k = 0; k < classes; ++k) sum -= xlog2x(m[k] / w);
        return sum;
    }
    if (criterion_ == CriterionName::error) return 1.0 - *std::max_element(m, m + classes) / w;
    for (int k = 0; k < classes; ++k)
        if (m[k] != 0.0) sum += (m[k] / w) * (m[k] / w);  // most nodes have few of many classes
    return 1.0 - sum;
}

double NodeValues::value_impurity(const double* m, double w) const {
    switch (criterion_) {
        case CriterionName::absolute_error:
            return m[1];
        case CriterionName::poisson:
            return m[0] > 0 ? m[2] / w - m[0] * log_same_bits(m[0]) : 0.0;
        default:
            return m[1] / w;
    }
}

}  // namespace spinney
