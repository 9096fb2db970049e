// What the kernels compute, written the slow way from the textbook's definitions: the oracles of their tests.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "split/criteria.hpp"
#include "split/statistics.hpp"

namespace naive {

using namespace spinney;

/// A target with storage of its own, as small or as odd as a test wants it.
struct Sample {
    std::vector<std::int32_t> classes;
    std::vector<double> values, weights;
    Target target;

    /// n_classes 0: regression; weighted 0: unit weights, 1: integer weights from 0 to 3, 2: any positive
    /// weights.
    Sample(std::uint64_t seed, Size n, int n_classes, int n_outputs, int weighted) {
        std::mt19937_64 g(seed);
        std::normal_distribution<double> normal(3, 2);
        for (Size i = 0; i < n * static_cast<Size>(n_outputs); ++i) {
            classes.push_back(n_classes ? static_cast<std::int32_t>(g() % static_cast<Size>(n_classes)) : 0);
            values.push_back(g() % 3 ? std::abs(normal(g)) : std::round(std::abs(normal(g))));
        }
        for (Size i = 0; i < n; ++i)
            weights.push_back(weighted == 1 ? static_cast<double>(g() % 4)
                                            : 0.05 + static_cast<double>(g() % 1000) / 300);
        target.n_rows = n;
        target.n_outputs = n_outputs;
        target.task = n_classes ? Task::classification : Task::regression;
        if (n_classes) target.n_classes.assign(static_cast<Size>(n_outputs), n_classes);
        if (!weighted) weights.clear();
        attach();
    }
    Sample(const Sample& other)
        : classes(other.classes), values(other.values), weights(other.weights), target(other.target) {
        attach();
    }
    Sample& operator=(const Sample&) = delete;

    /// Point the target at the vectors, after they were changed.
    void attach() {
        target.classes = target.task == Task::classification ? classes.data() : nullptr;
        target.values = target.task == Task::regression ? values.data() : nullptr;
        target.weights = weights.empty() ? nullptr : weights.data();
    }
    double y(Size row, int output = 0) const {
        return values[row * static_cast<Size>(target.n_outputs) + static_cast<Size>(output)];
    }
};

/// Number of rows in a sum. Requires count_index ≥ 0 or unit weights.
inline Stat count(const Statistics& s, const Stat* sum) {
    if (s.unit_weights) return s.weight_steps(sum);
    if (s.layout == Layout::dense) return sum[s.count_index];
    Stat total = 0;
    for (int k = 0; k < s.n_channels; ++k) total += sum[k * s.row_width + s.count_index];
    return total;
}

/// A row of a set, with the weight it has there.
struct Part {
    Size row;
    double weight;
};

inline double weight_of(const std::vector<Part>& set) {
    double w = 0;
    for (const Part& p : set) w += p.weight;
    return w;
}

/// Smallest y such that half of the weight is at or below it; the middle of two when it is half exactly.
inline double median(const Sample& sample, const std::vector<Part>& set, int output = 0) {
    std::vector<std::pair<double, double>> pairs;
    for (const Part& p : set) pairs.emplace_back(sample.y(p.row, output), p.weight);
    std::sort(pairs.begin(), pairs.end());
    const double half = weight_of(set) / 2;
    double below = 0;
    for (Size i = 0; i < pairs.size(); ++i) {
        below += pairs[i].second;
        if (std::abs(below - half) < 1e-9 * half && i + 1 < pairs.size())
            return (pairs[i].first + pairs[i + 1].first) / 2;
        if (below > half) return pairs[i].first;
    }
    return pairs.back().first;
}

/// Impurity of one output by its definition.
inline double impurity(const Sample& sample, const std::vector<Part>& set, CriterionName name, int output) {
    const double w = weight_of(set);
    if (sample.target.task == Task::classification) {
        std::vector<double> p(static_cast<Size>(sample.target.n_classes[static_cast<Size>(output)]), 0.0);
        const auto m = static_cast<Size>(sample.target.n_outputs);
        for (const Part& part : set)
            p[static_cast<Size>(sample.classes[part.row * m + static_cast<Size>(output)])] += part.weight / w;
        double gini = 1, entropy = 0;
        if (name == CriterionName::error) return 1 - *std::max_element(p.begin(), p.end());
        for (double q : p) {
            gini -= q * q;
            if (q > 0) entropy -= q * std::log2(q);
        }
        return name == CriterionName::entropy ? entropy : gini;
    }
    double mean = 0, sum = 0;
    for (const Part& p : set) mean += sample.y(p.row, output) * p.weight / w;
    const double middle = median(sample, set, output);
    for (const Part& p : set) {
        const double y = sample.y(p.row, output);
        if (name == CriterionName::absolute_error)
            sum += p.weight * std::abs(y - middle);
        else if (name == CriterionName::poisson)  // half the deviance: y ln(y / mean) − y + mean
            sum += p.weight * ((y > 0 ? y * std::log(y / mean) : 0.0) - y + mean);
        else
            sum += p.weight * (y - mean) * (y - mean);
    }
    return sum / w;
}

/// Impurity, the mean over outputs.
inline double impurity(const Sample& sample, const std::vector<Part>& set, CriterionName name) {
    double sum = 0;
    for (int o = 0; o < sample.target.n_outputs; ++o) sum += impurity(sample, set, name, o);
    return sum / sample.target.n_outputs;
}

/// Impurity decrease of a division into sets.
inline double gain(const Sample& sample, const std::vector<std::vector<Part>>& sets, CriterionName name) {
    std::vector<Part> all;
    for (const auto& set : sets) all.insert(all.end(), set.begin(), set.end());
    double out = impurity(sample, all, name);
    for (const auto& set : sets)
        if (!set.empty()) out -= weight_of(set) / weight_of(all) * impurity(sample, set, name);
    return out;
}

}  // namespace naive
