// Every split of one small node on one feature, scored by the definitions: the oracle of the searches.
#pragma once

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "split/options.hpp"
#include "split/sweep.hpp"
#include "tests/check.hpp"
#include "tests/naive.hpp"

namespace naive {

/// One node of all rows with positive weight, and one column of codes.
struct OneNode {
    Sample sample;
    Statistics s;
    CodeColumn column;
    std::vector<Row> rows;
    std::vector<Stat> total, missing;
    GrowOptions options;
    Limits limits;

    OneNode(std::uint64_t seed, Size n, std::uint32_t n_bins, int n_classes, int n_outputs, int weighted,
            bool gaps, CriterionName criterion, ColumnKind kind = ColumnKind::numeric)
        : sample(seed, n, n_classes, n_outputs, weighted),
          s(make_statistics(sample.target, true, false, criterion != CriterionName::poisson)) {
        std::mt19937_64 g(seed + 1);
        options.criterion = criterion;
        options.ledger = LedgerLevel::features;  // so that gain ratios are computed
        column.kind = kind;
        column.n_bins = n_bins;
        for (Size r = 0; r < n; ++r)
            column.bytes.push_back(static_cast<std::uint8_t>(gaps && g() % 4 == 0 ? n_bins : g() % n_bins));
        for (std::uint32_t b = 0; b < n_bins; ++b) {
            column.lo.push_back(b * 10.0);
            column.hi.push_back(b * 10.0 + 4.0);
        }
        for (Size r = 0; r < n; ++r)
            if (sample.target.weight(r) > 0) rows.push_back(static_cast<Row>(r));
        sum_up();
    }

    void sum_up() {
        total.assign(static_cast<Size>(s.width), 0);
        missing = total;
        for (Row r : rows) {
            s.add(total.data(), r);
            if (column.at(r) == column.n_bins) s.add(missing.data(), r);
        }
    }
    bool has_missing() const { return s.weight_steps(missing.data()) > 0; }

    std::vector<Code> codes() const {
        std::set<Code> seen;
        for (Row r : rows)
            if (column.at(r) != column.n_bins) seen.insert(column.at(r));
        return {seen.begin(), seen.end()};
    }

    /// The two sides when these codes go left and missing values to child `side`.
    std::vector<std::vector<Part>> sides(const std::function<bool(Code)>& left, std::int32_t side) const {
        std::vector<std::vector<Part>> out(2);
        for (Row r : rows) {
            const Code code = column.at(r);
            const bool first = code == column.n_bins ? side == 0 : left(code);
            out[first ? 0 : 1].push_back({r, sample.target.weight(r)});
        }
        return out;
    }

    /// Value of a child.
    double child_value(const std::vector<Part>& set) const {
        if (options.criterion == CriterionName::absolute_error) return median(sample, set);
        double sum = 0;
        for (const Part& p : set)
            sum +=
                p.weight * (sample.target.task == Task::regression ? sample.y(p.row) : sample.classes[p.row]);
        return sum / weight_of(set);
    }

    bool allowed(const std::vector<std::vector<Part>>& sets) const {
        for (const auto& set : sets) {
            if (set.empty() || static_cast<Stat>(set.size()) < limits.min_count) return false;
            if (weight_of(set) < static_cast<double>(limits.min_weight) * s.weight_unit * (1 - 1e-12))
                return false;
            if (limits.monotone && (child_value(set) < limits.lower || child_value(set) > limits.upper))
                return false;
            if (options.criterion == CriterionName::poisson)
                for (int o = 0; o < sample.target.n_outputs; ++o) {
                    double sum = 0;
                    for (const Part& p : set) sum += p.weight * sample.y(p.row, o);
                    if (sum <= 0) return false;
                }
        }
        return !limits.monotone || (child_value(sets[0]) - child_value(sets[1])) * limits.direction <= 0;
    }

    /// Best gain over splits given by their left codes, missing values on either side.
    double best_gain(const std::vector<std::set<Code>>& lefts) const {
        double best = kImpossible;
        for (const auto& left : lefts)
            for (std::int32_t side : {1, 0}) {
                const auto sets = sides([&](Code c) { return left.contains(c); }, side);
                if (allowed(sets)) best = std::max(best, gain(sample, sets, options.criterion));
            }
        return best;
    }
    std::vector<std::set<Code>> every_threshold() const {
        std::vector<std::set<Code>> out;
        std::set<Code> left;
        for (Code c : codes()) {
            left.insert(c);
            out.push_back(left);  // the last of them: known against missing
        }
        return out;
    }
    std::vector<std::set<Code>> every_subset() const {
        const auto all = codes();
        std::vector<std::set<Code>> out;
        for (Size mask = 1; mask < Size{1} << all.size(); ++mask) {
            auto& left = out.emplace_back();
            for (Size i = 0; i < all.size(); ++i)
                if (mask >> i & 1) left.insert(all[i]);
        }
        return out;
    }
};

/// The gain that a candidate reports is the best, and its own split has it.
inline void check_best(const OneNode& node, const Candidate& c, double best,
                       const std::function<bool(Code)>& left) {
    CHECK_EQUAL(c.found(), best > kImpossible);
    if (!c.found() || best == kImpossible) return;
    CHECK_CLOSE(c.gain, best, 1e-10);
    const auto sets = node.sides(left, c.missing);
    CHECK(node.allowed(sets));
    CHECK_CLOSE(c.gain, gain(node.sample, sets, node.options.criterion), 1e-10);
    CHECK_EQUAL(c.missing >= 0, node.has_missing());
    const double p = weight_of(sets[0]) / (weight_of(sets[0]) + weight_of(sets[1]));
    CHECK_CLOSE(c.gain_ratio, c.gain / -(p * std::log2(p) + (1 - p) * std::log2(1 - p)), 1e-9);
}

inline bool in(const std::vector<Code>& bins, Code code) {
    return std::find(bins.begin(), bins.end(), code) != bins.end();
}

}  // namespace naive
