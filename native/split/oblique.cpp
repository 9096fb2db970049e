// Search for oblique splits.
#include "split/oblique.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "split/absolute_error.hpp"
#include "split/directions.hpp"
#include "split/projection.hpp"
#include "split/sweep.hpp"

namespace spinney {

double project(std::span<const LinearTerm> terms, const CodeMatrix& x, Row row) {
    double sum = 0;
    for (const auto& t : terms) {
        const CodeColumn& column = x.columns[static_cast<Size>(t.feature)];
        const Code code = column.at(row);
        sum += t.coefficient * (code == column.n_bins ? t.fill : column.lo[code]);
    }
    return sum;
}

namespace {

/// Best split by absolute error, with the projections as a column of their own.
ProjectedSplit split_by_absolute_error(const GrowContext& c, const NodeRows& node, const Limits& limits,
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
    options.cost_rule = CostRule::none;  // the caller adds the costs of the terms
    options.splitter = Splitter::best;
    const Candidate best = absolute.search(column, -1, {places, node.parts}, limits, options, 1.0, 0);
    ProjectedSplit out;
    if (!best.found()) return out;
    out.gain = best.gain;
    out.threshold = best.threshold;
    const auto weight = detail::row_weights(c, node);
    for (Size i = 0; i < values.size(); ++i)
        if (values[i] <= best.threshold) out.left_weight += weight[i];
    return out;
}

/// Search for the oblique split of one node.
class ObliqueSearch {
  public:
    ObliqueSearch(const GrowContext& context, const NodeState& state, const NodeRows& node, const Stat* total,
                  const Limits& limits, double axis_score)
        : c_(context), state_(state), node_(node), total_(total), limits_(limits), axis_score_(axis_score) {}

    /// The first start that ends in a split of two terms or more, if it is better than the best split on one
    /// feature. Further starts cost as much again and fit noise as often as the boundary.
    Candidate run() {
        if (!has_room()) return {};
        sample_ = sample_node(c_, state_, node_);
        if (sample_.d() < 2) return {};
        prepare_splitter();
        for (Projection& p : starts()) {
            c_.interrupt.poll();
            improve(p, true);
            prune(p);
            improve(p, false);
            shorten(p);
            if (p.terms() > 1) return finished(p.direction);
        }
        return {};
    }

  private:
    /// A direction, the rows projected on it, and its best split.
    struct Projection {
        Direction direction;
        std::vector<double> values;  // (n,)
        ProjectedSplit split;

        Size terms() const {
            return direction.size() - static_cast<Size>(std::count(direction.begin(), direction.end(), 0.0));
        }
    };

    /// Expected gain of a sum of irrelevant terms over one feature. A fitted coefficient gains impurity / n
    /// by chance, and more as the best of many; the choice of the direction counts as one coefficient.
    static double noise(Size terms, double impurity, Size n) {
        constexpr double fits = 3;  // tuned on the test errors of many tables
        return terms < 2 ? 0.0 : fits * static_cast<double>(terms) * impurity / static_cast<double>(n);
    }
    /// With fewer rows per term, almost any sum separates them.
    static Size max_terms(Size n) {
        constexpr Size rows_per_term = 10;
        return n / rows_per_term;
    }

    double impurity(CriterionName criterion, const NodeRows& node) const {
        const NodeValues node_values(c_.target, c_.s, criterion);
        std::vector<double> sums(static_cast<Size>(node_values.size()));
        node_values.from_rows(sums.data(), node);
        return node_values.impurity(sums.data());
    }

    /// Whether a split of two terms can be better than the best split on one feature.
    bool has_room() {
        if (max_terms(node_.rows.size()) < 2) return false;
        impurity_ = impurity(c_.options.criterion, node_);
        return c_.options.cost_rule != CostRule::none ||
               impurity_ - noise(2, impurity_, node_.rows.size()) > axis_score_;
    }

    /// Prepare the splitter of the sample, with limits in proportion to its size.
    void prepare_splitter() {
        sample_total_.assign(static_cast<Size>(c_.s.width), 0);
        for (Size i = 0; i < sample_.n(); ++i) {
            if (sample_.parts.empty())
                c_.s.add(sample_total_.data(), sample_.rows[i]);
            else
                c_.s.add_fraction(sample_total_.data(), sample_.rows[i], sample_.parts[i]);
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
        splitter_ = make_projection_splitter(c_.options.criterion, c_.s, sample_.view(), sample_total_.data(),
                                             limits);
    }

    /// The few projections with the best splits.
    std::vector<Projection> starts() {
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

        std::vector<Projection> best;
        for (auto& direction : directions) offer(best, std::move(direction));
        if (!targets.classes().empty() && targets.size() > 2 && !best.empty())
            for (int again = 0; again < 2; ++again) offer(best, sides_of_classes(best[0], source, targets));
        return best;
    }

    void offer(std::vector<Projection>& best, Direction direction) {
        constexpr Size max_starts = 3;
        c_.interrupt.poll();
        const double length = detail::normalise(direction);
        if (!(length > 0) || !std::isfinite(length)) return;
        Projection p;
        p.values = sample_.project(direction);
        p.split = splitter_->split(p.values);
        if (!p.split.found()) return;
        const auto worse = [&](const Projection& other) { return other.split.gain < p.split.gain; };
        const auto position = std::find_if(best.begin(), best.end(), worse);
        if (position == best.end() && best.size() == max_starts) return;
        p.direction = std::move(direction);
        best.insert(position, std::move(p));
        if (best.size() > max_starts) best.pop_back();
    }

    /// With many classes: assign each class to the side where most of it lies, and separate the two sides.
    Direction sides_of_classes(const Projection& p, const Directions& source,
                               const DirectionTargets& targets) const {
        const auto& classes = targets.classes();
        std::vector<double> lean(static_cast<Size>(*std::max_element(classes.begin(), classes.end())) + 1,
                                 0.0);
        for (Size i = 0; i < classes.size(); ++i)
            lean[static_cast<Size>(classes[i])] +=
                p.values[i] <= p.split.threshold ? sample_.weight[i] : -sample_.weight[i];
        return source.regression(
            targets.two_sides([&](Size i) { return lean[static_cast<Size>(classes[i])] > 0; }));
    }

    /// Tilt the hyperplane in one column at a time and, when that gets stuck, in random directions, as long
    /// as the split improves (OC1).
    void improve(Projection& p, bool all_columns) {
        constexpr int passes = 4, jumps = 5;
        Size left = std::max<Size>(48, 600'000 / sample_.n());  // tilts that may still be tried
        Draws draws(mix(state_.address, 0x0B4));
        std::vector<Size> columns;
        for (Size j = 0; j < sample_.d(); ++j)
            if (all_columns || p.direction[j] != 0) columns.push_back(j);
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
                better = tilt_by(p, tilt, sample_.column(columns[k])) || better;
                tilt[columns[k]] = 0.0;
            }
            while (!better && all_columns && jumped < jumps && left > 0) {
                ++jumped;
                --left;
                const Direction drawn = draw_direction(sample_.d(), draws);
                better = tilt_by(p, drawn, sample_.project(drawn));
            }
            if (!better) return;
        }
    }

    /// Add the best multiple of `tilt` to the direction; false when none is better.
    bool tilt_by(Projection& p, const Direction& tilt, std::span<const double> along) {
        constexpr double better = 1 + 1e-9;
        c_.interrupt.poll();
        base_.resize(p.values.size());
        for (Size i = 0; i < base_.size(); ++i) base_[i] = p.values[i] - p.split.threshold;
        const ProjectedSplit tilted = splitter_->tilt(base_, along);
        if (!(tilted.gain > p.split.gain * better)) return false;
        Projection next = p;
        for (Size j = 0; j < tilt.size(); ++j) next.direction[j] += tilted.threshold * tilt[j];
        const double length = detail::normalise(next.direction);
        if (!(length > 0) || !std::isfinite(length)) return false;
        for (Size i = 0; i < base_.size(); ++i)
            next.values[i] = (p.values[i] + tilted.threshold * along[i]) / length;
        next.split = splitter_->split(next.values);
        if (!(next.split.gain > p.split.gain * better)) return false;
        p = std::move(next);
        return true;
    }

    double cost_of(const Direction& a) const {
        if (c_.options.cost_rule == CostRule::none) return 0.0;
        double sum = 0;
        for (Size j = 0; j < a.size(); ++j)
            if (a[j] != 0) sum += c_.options.feature_costs[static_cast<Size>(sample_.feature[j])];
        return sum;
    }
    double score(const Projection& p) const {
        if (!p.split.found()) return kImpossible;
        return score(p.direction, p.split.gain - noise(p.terms(), sample_impurity_, sample_.n()));
    }
    /// Score of a gain with the costs of its features; a gain below the noise is not scaled.
    double score(const Direction& direction, double gain) const {
        return gain > 0 ? score_at_cost(c_.options, gain, cost_of(direction)) : gain;
    }

    /// Remove terms, the smallest first, that gain no more than noise would.
    void prune(Projection& p) const {
        const Size allowed = max_terms(sample_.n());
        std::vector<Size> order;
        for (Size j = 0; j < p.direction.size(); ++j)
            if (p.direction[j] != 0) order.push_back(j);
        std::stable_sort(order.begin(), order.end(),
                         [&](Size a, Size b) { return std::abs(p.direction[a]) < std::abs(p.direction[b]); });
        double best = score(p);
        for (Size j : order) {
            c_.interrupt.poll();
            if (p.terms() < 2) return;
            Projection shorter = p;
            sample_.add_column(shorter.values, j, -p.direction[j]);
            shorter.direction[j] = 0;
            shorter.split = splitter_->split(shorter.values);
            const double rest = score(shorter);
            if (p.terms() <= allowed && !(rest >= best)) continue;
            best = rest;
            p = std::move(shorter);
        }
    }

    /// Keep only the largest terms, tilted again, if that is better. Small terms that compensate each other
    /// cannot be removed one by one.
    void shorten(Projection& p) {
        std::vector<double> weights;
        for (double a : p.direction)
            if (a != 0) weights.push_back(std::abs(a));
        std::sort(weights.begin(), weights.end(), std::greater<>());
        const Projection longest = p;
        for (Size keep = 2; keep < weights.size(); keep *= 2) {
            Projection shorter = longest;
            for (double& a : shorter.direction)
                if (std::abs(a) < weights[keep - 1]) a = 0;
            detail::normalise(shorter.direction);
            shorter.values = sample_.project(shorter.direction);
            shorter.split = splitter_->split(shorter.values);
            if (!shorter.split.found()) continue;
            improve(shorter, false);
            if (score(shorter) > score(p)) p = std::move(shorter);
        }
    }

    /// Terms in the units of the columns, the largest with coefficient 1.
    std::vector<LinearTerm> terms_of(const Direction& a) const {
        Size lead = 0;
        for (Size j = 1; j < a.size(); ++j)
            if (std::abs(a[j]) > std::abs(a[lead])) lead = j;
        const double unit = a[lead] / sample_.deviation[lead];
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
            out.push_back({sample_.feature[j], a[j] / sample_.deviation[j] / unit, fill});
        }
        return out;
    }

    /// Split of a direction on all rows of the node, by exactly the numbers that prediction computes.
    Candidate finished(const Direction& direction) const {
        Candidate out;
        out.terms = terms_of(direction);
        std::vector<double> values(node_.rows.size());
        for (Size i = 0; i < values.size(); ++i) {
            values[i] = project(out.terms, c_.x, node_.rows[i]);
            if (!std::isfinite(values[i])) return {};
        }
        const bool absolute = c_.options.criterion == CriterionName::absolute_error;
        const ProjectedSplit split =
            absolute ? split_by_absolute_error(c_, node_, limits_, values)
                     : make_projection_splitter(c_.options.criterion, c_.s, node_, total_, limits_)
                           ->split_exactly(values);
        if (!split.found()) return {};
        const double lasting = split.gain - noise(out.terms.size(), impurity_, node_.rows.size());
        if (!(lasting > 0 && score(direction, lasting) > axis_score_)) return {};
        const double weight = weight_of(c_, total_),
                     left = absolute ? split.left_weight * weight : split.left_weight;
        const double information = detail::split_information(left, weight - left);
        out.kind = SplitKind::linear;
        out.constant = false;
        out.missing = 0;  // not used: missing values are filled in
        out.threshold = split.threshold;
        out.gain = split.gain;
        out.improvement = weight / c_.all_weight * split.gain;
        out.gain_ratio = information > 0 ? split.gain / information : 0.0;
        out.score = score_at_cost(c_.options, split.gain, cost_of(direction));
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
    std::unique_ptr<ProjectionSplitter> splitter_;
    std::vector<double> base_;
};

}  // namespace

Candidate best_oblique_split(const GrowContext& context, const NodeState& state, const NodeRows& node,
                             const Stat* total, const Limits& limits, double axis_score) {
    return ObliqueSearch(context, state, node, total, limits, axis_score).run();
}

}  // namespace spinney
