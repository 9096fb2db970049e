// Linear tests Σ w·x ≤ t: directions worth trying at a node, the best of them turned until they divide no
// better, and stripped of the terms that do not matter.
#pragma once

#include <functional>
#include <numeric>
#include <vector>

#include "split/absolute_error.hpp"
#include "split/directions.hpp"
#include "grow/grow_common.hpp"
#include "split/projection.hpp"

namespace spinney {

struct LinearTest {
    Candidate candidate;
    std::vector<LinearTerm> terms;

    /// The projection of a training row. Columns have exact codes, so a code gives its value back.
    double project(const CodeMatrix& x, Row row) const {
        double sum = 0;
        for (const auto& t : terms) {
            const CodeColumn& column = x.columns[static_cast<Size>(t.feature)];
            const Code code = column.at(row);
            sum += t.coefficient * (code == column.n_bins ? t.fill : column.lo[code]);
        }
        return sum;
    }
    bool goes_left(const CodeMatrix& x, Row row) const { return project(x, row) <= candidate.threshold; }
};

namespace detail {

/// The best cut by absolute error: the projections become a column of their own.
inline Cut cut_by_absolute_error(const GrowContext& c, const NodeRows& node, const Limits& limits,
                                 const std::vector<double>& values) {
    AbsoluteErrorNode absolute;
    absolute.prepare(c.target, c.s, node, false);
    CodeColumn column;
    column.lo = values;
    std::sort(column.lo.begin(), column.lo.end());
    column.lo.erase(std::unique(column.lo.begin(), column.lo.end()), column.lo.end());
    column.width = 4;
    column.n_bins = static_cast<std::uint32_t>(column.lo.size());
    column.bytes.resize(values.size() * sizeof(std::uint32_t));
    std::vector<Row> places(values.size());
    for (Size i = 0; i < values.size(); ++i) {
        const auto at = std::lower_bound(column.lo.begin(), column.lo.end(), values[i]);
        const auto code = static_cast<std::uint32_t>(at - column.lo.begin());
        std::memcpy(column.bytes.data() + i * sizeof code, &code, sizeof code);
        places[i] = static_cast<Row>(i);
    }
    GrowOptions options = c.options;
    options.cost_rule = CostRule::none;  // the caller knows the terms and their costs
    options.splitter = Splitter::best;
    const Candidate best = absolute.search(column, -1, {places, node.parts}, limits, options, 1.0, 0);
    Cut out;
    if (!best.found()) return out;
    out.gain = best.gain;
    out.threshold = best.threshold;
    const auto weight = row_weights(c, node);
    for (Size i = 0; i < values.size(); ++i)
        if (values[i] <= best.threshold) out.left_weight += weight[i];
    return out;
}

}  // namespace detail

/// The search for one node's linear test.
class ObliqueSearch {
  public:
    ObliqueSearch(const GrowContext& context, const NodeState& state, const NodeRows& node, const Stat* total,
                  const Limits& limits, double axis_score)
        : c_(context), state_(state), node_(node), total_(total), limits_(limits), axis_score_(axis_score) {}

    /// The first start that ends in a test of two terms or more, where it is worth more than the best test of
    /// one feature. Trying further ones costs as much again and fits the noise as often as the boundary.
    LinearTest run() {
        if (!has_room()) return {};
        sample_ = sample_node(c_, state_, node_);
        if (sample_.d() < 2) return {};
        prepare_cutter();
        for (Line& line : starts()) {
            c_.interrupt.poll();
            improve(line, true);
            prune(line);
            improve(line, false);
            shorten(line);
            if (line.terms() > 1) return finished(line.direction);
        }
        return {};
    }

  private:
    /// A direction, the rows along it, and its best cut.
    struct Line {
        Direction direction;
        std::vector<double> values;  // (n,)
        Cut cut;

        Size terms() const {
            return direction.size() - static_cast<Size>(std::count(direction.begin(), direction.end(), 0.0));
        }
    };

    /// What a sum gains over one feature where its terms mean nothing. A weight that is fitted gains impurity
    /// / n by chance, and more for being the best of many; the choice of the direction counts as one weight.
    static double noise(Size terms, double impurity, Size n) {
        constexpr double fits = 3;  // by the trees' errors on new rows of many tables
        return terms < 2 ? 0.0 : fits * static_cast<double>(terms) * impurity / static_cast<double>(n);
    }
    /// Fewer rows than this for each term can be told apart by almost any sum.
    static Size most_terms(Size n) {
        constexpr Size rows_a_term = 10;
        return n / rows_a_term;
    }

    double impurity(CriterionName criterion, const NodeRows& node) const {
        const Moments moments(c_.target, c_.s, criterion);
        std::vector<double> sums(static_cast<Size>(moments.size()));
        moments.of_rows(sums.data(), node);
        return moments.impurity(sums.data());
    }

    /// Whether a test of two terms could be better than the best of one feature at all.
    bool has_room() {
        if (most_terms(node_.rows.size()) < 2) return false;
        impurity_ = impurity(c_.options.criterion, node_);
        return c_.options.cost_rule != CostRule::none ||
               impurity_ - noise(2, impurity_, node_.rows.size()) > axis_score_;
    }

    /// What children must have, in proportion to the sample.
    void prepare_cutter() {
        sample_total_.assign(static_cast<Size>(c_.s.width), 0);
        for (Size i = 0; i < sample_.n(); ++i) {
            if (sample_.parts.empty())
                c_.s.add(sample_total_.data(), sample_.rows[i]);
            else
                c_.s.add_part(sample_total_.data(), sample_.rows[i], sample_.parts[i]);
        }
        Limits limits = limits_;
        if (sample_.n() < node_.rows.size()) {
            const double share = static_cast<double>(sample_.n()) / static_cast<double>(node_.rows.size());
            const auto scaled = [&](Stat x) { return static_cast<Stat>(static_cast<double>(x) * share); };
            limits.min_weight = std::max<Stat>(1, scaled(limits.min_weight));
            limits.min_count = scaled(limits.min_count);
        }
        const bool absolute = c_.options.criterion == CriterionName::absolute_error;
        sample_impurity_ =
            impurity(absolute ? CriterionName::squared_error : c_.options.criterion, sample_.view());
        cutter_ = make_cutter(c_.options.criterion, c_.s, sample_.view(), sample_total_.data(), limits);
    }

    /// The few lines that divide best as they are.
    std::vector<Line> starts() {
        const DirectionTargets targets(c_, sample_);
        const Directions source(sample_, targets);
        std::vector<Direction> directions;
        source.add_regressions(directions);
        source.add_discriminant(directions);
        source.add_curvatures(directions, state_.address);
        for (Size j = 0; j < sample_.d(); ++j) directions.emplace_back(sample_.d(), 0.0)[j] = 1.0;
        Draws draws(mix(state_.address, 0x0B3));
        for (int i = 0; i < c_.options.oblique_directions; ++i)
            directions.push_back(draw_direction(sample_.d(), draws));

        std::vector<Line> best;
        for (auto& direction : directions) offer(best, std::move(direction));
        if (!targets.classes().empty() && targets.size() > 2 && !best.empty())
            for (int again = 0; again < 2; ++again) offer(best, sides_of_classes(best[0], source, targets));
        return best;
    }

    void offer(std::vector<Line>& best, Direction direction) {
        constexpr Size most = 3;
        c_.interrupt.poll();
        const double length = detail::normalise(direction);
        if (!(length > 0) || !std::isfinite(length)) return;
        Line line;
        line.values = sample_.project(direction);
        line.cut = cutter_->cut(line.values);
        if (!line.cut.found()) return;
        const auto worse = [&](const Line& other) { return other.cut.gain < line.cut.gain; };
        const auto place = std::find_if(best.begin(), best.end(), worse);
        if (place == best.end() && best.size() == most) return;
        line.direction = std::move(direction);
        best.insert(place, std::move(line));
        if (best.size() > most) best.pop_back();
    }

    /// With many classes: give each class to the side where most of it lies, and tell the two sides apart.
    Direction sides_of_classes(const Line& line, const Directions& source,
                               const DirectionTargets& targets) const {
        const auto& classes = targets.classes();
        std::vector<double> lean(static_cast<Size>(*std::max_element(classes.begin(), classes.end())) + 1,
                                 0.0);
        for (Size i = 0; i < classes.size(); ++i)
            lean[static_cast<Size>(classes[i])] +=
                line.values[i] <= line.cut.threshold ? sample_.weight[i] : -sample_.weight[i];
        return source.regression(
            targets.two_sides([&](Size i) { return lean[static_cast<Size>(classes[i])] > 0; }));
    }

    /// Turn the line about its cut, one column at a time and, where that gets stuck, in drawn directions, as
    /// long as the two sides become purer.
    void improve(Line& line, bool all_columns) {
        constexpr int passes = 4, jumps = 5;
        Size left = std::max<Size>(48, 600'000 / sample_.n());  // turns that may still be tried
        Draws draws(mix(state_.address, 0x0B4));
        std::vector<Size> columns;
        for (Size j = 0; j < sample_.d(); ++j)
            if (all_columns || line.direction[j] != 0) columns.push_back(j);
        if (columns.size() < 2) return;
        Direction tilt(sample_.d(), 0.0);
        int jumped = 0;
        for (int pass = 0; pass < (all_columns ? passes : 1) && left > 0; ++pass) {
            for (Size i = 0; i + 1 < columns.size(); ++i)
                std::swap(columns[i],
                          columns[i + draws.below(static_cast<std::uint32_t>(columns.size() - i))]);
            bool better = false;
            for (Size k = 0; k < columns.size() && left > 0; ++k, --left) {
                tilt[columns[k]] = 1.0;
                better = turn(line, tilt, sample_.column(columns[k])) || better;
                tilt[columns[k]] = 0.0;
            }
            while (!better && all_columns && jumped < jumps && left > 0) {
                ++jumped;
                --left;
                const Direction drawn = draw_direction(sample_.d(), draws);
                better = turn(line, drawn, sample_.project(drawn));
            }
            if (!better) return;
        }
    }

    /// Add the best multiple of `tilt` to the line's direction; false when none is better than nothing.
    bool turn(Line& line, const Direction& tilt, std::span<const double> along) {
        constexpr double better = 1 + 1e-9;
        c_.interrupt.poll();
        base_.resize(line.values.size());
        for (Size i = 0; i < base_.size(); ++i) base_[i] = line.values[i] - line.cut.threshold;
        const Cut turned = cutter_->turn(base_, along);
        if (!(turned.gain > line.cut.gain * better)) return false;
        Line next = line;
        for (Size j = 0; j < tilt.size(); ++j) next.direction[j] += turned.threshold * tilt[j];
        const double length = detail::normalise(next.direction);
        if (!(length > 0) || !std::isfinite(length)) return false;
        for (Size i = 0; i < base_.size(); ++i)
            next.values[i] = (line.values[i] + turned.threshold * along[i]) / length;
        next.cut = cutter_->cut(next.values);
        if (!(next.cut.gain > line.cut.gain * better)) return false;
        line = std::move(next);
        return true;
    }

    double cost_of(const Direction& a) const {
        if (c_.options.cost_rule == CostRule::none) return 0.0;
        double sum = 0;
        for (Size j = 0; j < a.size(); ++j)
            if (a[j] != 0) sum += c_.options.feature_costs[static_cast<Size>(sample_.feature[j])];
        return sum;
    }
    double worth(const Line& line) const {
        if (!line.cut.found()) return kImpossible;
        return worth(line.direction, line.cut.gain - noise(line.terms(), sample_impurity_, sample_.n()));
    }
    /// A gain at the cost of the features. What is not more than noise is worth nothing at any cost.
    double worth(const Direction& direction, double gain) const {
        return gain > 0 ? price_at_cost(c_.options, gain, cost_of(direction)) : gain;
    }

    /// Leave out terms, the smallest first, that gain no more than noise would.
    void prune(Line& line) const {
        const Size room = most_terms(sample_.n());
        std::vector<Size> order;
        for (Size j = 0; j < line.direction.size(); ++j)
            if (line.direction[j] != 0) order.push_back(j);
        std::stable_sort(order.begin(), order.end(), [&](Size a, Size b) {
            return std::abs(line.direction[a]) < std::abs(line.direction[b]);
        });
        double most = worth(line);
        for (Size j : order) {
            c_.interrupt.poll();
            if (line.terms() < 2) return;
            Line shorter = line;
            sample_.add_column(shorter.values, j, -line.direction[j]);
            shorter.direction[j] = 0;
            shorter.cut = cutter_->cut(shorter.values);
            const double rest = worth(shorter);
            if (line.terms() <= room && !(rest >= most)) continue;
            most = rest;
            line = std::move(shorter);
        }
    }

    /// Keep the weightiest terms only, turned anew, where that is worth more. Small terms that make up for
    /// each other cannot be left out one by one.
    void shorten(Line& line) {
        std::vector<double> weights;
        for (double a : line.direction)
            if (a != 0) weights.push_back(std::abs(a));
        std::sort(weights.begin(), weights.end(), std::greater<>());
        const Line longest = line;
        for (Size keep = 2; keep < weights.size(); keep *= 2) {
            Line shorter = longest;
            for (double& a : shorter.direction)
                if (std::abs(a) < weights[keep - 1]) a = 0;
            detail::normalise(shorter.direction);
            shorter.values = sample_.project(shorter.direction);
            shorter.cut = cutter_->cut(shorter.values);
            if (!shorter.cut.found()) continue;
            improve(shorter, false);
            if (worth(shorter) > worth(line)) line = std::move(shorter);
        }
    }

    /// The terms in the columns' own units, the weightiest with coefficient 1.
    std::vector<LinearTerm> terms_of(const Direction& a) const {
        Size lead = 0;
        for (Size j = 1; j < a.size(); ++j)
            if (std::abs(a[j]) > std::abs(a[lead])) lead = j;
        const double unit = a[lead] / sample_.spread[lead];
        const bool sampled = sample_.n() < node_.rows.size();
        const auto weight = sampled ? detail::row_weights(c_, node_) : std::vector<double>();
        std::vector<LinearTerm> out;
        for (Size j = 0; j < a.size(); ++j) {
            if (a[j] == 0) continue;
            double fill = sample_.mean[j];
            if (sampled) {
                const auto& column = c_.x.columns[static_cast<Size>(sample_.feature[j])];
                const auto scale = detail::column_scale(column, node_.rows, weight);
                if (scale.usable) fill = scale.mean;
            }
            out.push_back({sample_.feature[j], a[j] / sample_.spread[j] / unit, fill});
        }
        return out;
    }

    /// The test of a direction, cut on all rows of the node and by the very numbers that prediction will see.
    LinearTest finished(const Direction& direction) const {
        LinearTest out;
        out.terms = terms_of(direction);
        std::vector<double> values(node_.rows.size());
        for (Size i = 0; i < values.size(); ++i) {
            values[i] = out.project(c_.x, node_.rows[i]);
            if (!std::isfinite(values[i])) return {};
        }
        const bool absolute = c_.options.criterion == CriterionName::absolute_error;
        const Cut cut =
            absolute ? detail::cut_by_absolute_error(c_, node_, limits_, values)
                     : make_cutter(c_.options.criterion, c_.s, node_, total_, limits_)->cut_exactly(values);
        if (!cut.found()) return {};
        const double lasting = cut.gain - noise(out.terms.size(), impurity_, node_.rows.size());
        if (!(lasting > 0 && worth(direction, lasting) > axis_score_)) return {};
        const double weight = weight_of(c_, total_),
                     left = absolute ? cut.left_weight * weight : cut.left_weight;
        const double information = detail::split_information(left, weight - left);
        Candidate& k = out.candidate;
        k.test = Test::linear;
        k.constant = false;
        k.missing = 0;  // a missing value is filled in, so it never asks
        k.threshold = cut.threshold;
        k.gain = cut.gain;
        k.improvement = weight / c_.all_weight * cut.gain;
        k.gain_ratio = information > 0 ? cut.gain / information : 0.0;
        k.score = price_at_cost(c_.options, cut.gain, cost_of(direction));
        return out;
    }

    const GrowContext& c_;
    const NodeState& state_;
    const NodeRows& node_;
    const Stat* total_;
    const Limits& limits_;
    double axis_score_;
    double impurity_ = 0, sample_impurity_ = 0;
    NodeSample sample_;
    std::vector<Stat> sample_total_;
    std::unique_ptr<LineCutter> cutter_;
    std::vector<double> base_;
};

/// The best linear test of a node, or one whose candidate is not found because it would be no better than
/// the best test of one feature, whose score is given.
inline LinearTest best_linear_test(const GrowContext& context, const NodeState& state, const NodeRows& node,
                                   const Stat* total, const Limits& limits, double axis_score) {
    return ObliqueSearch(context, state, node, total, limits, axis_score).run();
}

/// Write a linear test into its node.
inline void set_linear_test(Fragment& f, Node node, const LinearTest& test, int moment_size) {
    GrownNode n = f.nodes[static_cast<Size>(node)];
    n.test = Test::linear;
    n.threshold = test.candidate.threshold;
    n.missing = 0;
    n.n_children = 2;
    n.detail = static_cast<std::int32_t>(f.terms.size());
    f.terms.push_back(test.terms);
    n.first_child = f.add(2, moment_size);
    f.nodes[static_cast<Size>(node)] = n;
}

}  // namespace spinney
