// Linear tests: boundaries that no single feature shows, and the agreement of what was swept with what will
// be predicted.
#include <functional>
#include <random>

#include "grow/grow_tree.hpp"
#include "split/oblique.hpp"
#include "tests/check.hpp"
#include "tests/tables.hpp"

using namespace spinney;
using tables::Goal;
using tables::Table;

namespace {

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

/// A table and target whose root is searched for a linear split.
struct Problem {
    Table table;
    std::vector<std::int32_t> classes;
    std::vector<double> values, weights;
    int n_outputs = 1;
    GrowOptions options;
    CodeMatrix x;
    Target target;
    Statistics s;
    std::vector<Row> rows;
    std::vector<Stat> total;

    Problem(Size n, Size d, std::uint64_t seed = 1) : table(seed, n, 0, 0, false) {
        std::mt19937_64 g(seed);
        std::normal_distribution<double> normal;
        for (Size f = 0; f < d; ++f) {
            table.numeric.emplace_back(n);
            for (double& v : table.numeric.back()) v = normal(g);
        }
        options.oblique_directions = 10;
    }

    double at(Size row, Size f) const { return table.numeric[f][row]; }
    void label(const std::function<std::int32_t(Size)>& of_row) {
        for (Size r = 0; r < table.n_rows; ++r) classes.push_back(of_row(r));
    }
    void value(const std::function<double(Size)>& of_row) {
        for (Size r = 0; r < table.n_rows; ++r) values.push_back(of_row(r));
        options.criterion = CriterionName::squared_error;
    }

    void prepare() {
        x = table.codes(0);
        target = {};
        target.n_rows = table.n_rows;
        target.n_outputs = n_outputs;
        target.task = values.empty() ? Task::classification : Task::regression;
        target.weights = weights.empty() ? nullptr : weights.data();
        if (values.empty()) {
            target.classes = classes.data();
            target.n_classes.assign(static_cast<Size>(n_outputs),
                                    1 + *std::max_element(classes.begin(), classes.end()));
        } else {
            target.values = values.data();
        }
        s = make_statistics(target, options.min_samples_leaf > 1, options.fractional(),
                            options.criterion != CriterionName::poisson);
        rows.clear();
        total.assign(static_cast<Size>(s.width), 0);
        for (Size r = 0; r < table.n_rows; ++r) {
            if (!(target.weight(r) > 0)) continue;
            rows.push_back(static_cast<Row>(r));
            s.add(total.data(), r);
        }
    }

    Candidate solve(std::uint64_t address = 7) {
        prepare();
        const NodeValues node_values(target, s, options.criterion);
        Interrupt none;
        double weight = 0;
        for (Row r : rows) weight += target.weight(r);
        const GrowContext context{x, target, s, options, node_values, none, weight};
        NodeState state;
        state.address = address;
        const Candidate split = best_oblique_split(context, state, {rows, {}}, total.data(),
                                                   make_limits(context, state), best_axis(&LedgerRow::score));
        check_sides(split);
        return split;
    }

    /// Impurity of some rows times their weight, from the textbook: Gini, variance or absolute deviation; and
    /// the weight.
    std::pair<double, double> impurity(const std::vector<Row>& part) const {
        double w = 0, sum = 0;
        for (Row r : part) w += target.weight(r);
        for (int o = 0; o < n_outputs; ++o) {
            const auto place = [&](Row r) { return r * static_cast<Size>(n_outputs) + static_cast<Size>(o); };
            if (!values.empty()) {
                std::vector<std::pair<double, double>> pairs;
                double centre = 0;
                for (Row r : part) {
                    pairs.emplace_back(values[place(r)], target.weight(r));
                    centre += target.weight(r) * values[place(r)] / w;
                }
                const bool absolute = options.criterion == CriterionName::absolute_error;
                if (absolute) centre = weighted_median(pairs);
                for (const auto& [y, u] : pairs)
                    sum += u * (absolute ? std::abs(y - centre) : (y - centre) * (y - centre));
            } else {
                std::vector<double> mass(static_cast<Size>(target.n_classes[static_cast<Size>(o)]), 0.0);
                for (Row r : part) mass[static_cast<Size>(classes[place(r)])] += target.weight(r);
                sum += w;
                for (double m : mass) sum -= m * m / w;
            }
        }
        return {sum / n_outputs, w};
    }

    bool goes_left(const Candidate& split, Row r) const {
        return project(split.terms, x, r) <= split.threshold;
    }

    /// The gain that the sides taken by goes_left really have.
    double gain(const Candidate& split) const {
        std::vector<Row> side[2];
        for (Row r : rows) side[goes_left(split, r) ? 0 : 1].push_back(r);
        const auto all = impurity(rows);
        return (all.first - impurity(side[0]).first - impurity(side[1]).first) / all.second;
    }

    void check_sides(const Candidate& split) const {
        if (!split.found()) return;
        CHECK(split.kind == SplitKind::linear);
        CHECK_EQUAL(split.feature, -1);
        CHECK(split.terms.size() >= 2);
        for (Size i = 1; i < split.terms.size(); ++i)
            CHECK(split.terms[i - 1].feature < split.terms[i].feature);
        for (const auto& t : split.terms)
            CHECK(std::isfinite(t.coefficient) && std::isfinite(t.fill) && t.coefficient != 0);
        Size left = 0;
        for (Row r : rows) left += goes_left(split, r);
        CHECK(left >= options.min_samples_leaf && rows.size() - left >= options.min_samples_leaf);
        const bool known =
            options.criterion != CriterionName::entropy && options.criterion != CriterionName::poisson;
        if (known) CHECK_CLOSE(split.gain, gain(split), 1e-9 * (1 + std::abs(split.gain)));
    }

    /// The gain or score of the best split on one feature.
    double axis_gain() { return best_axis(&LedgerRow::gain); }
    double best_axis(double LedgerRow::* number) {
        GrowOptions o = options;
        o.oblique_directions = 0;
        o.max_depth = 1;
        o.ledger = LedgerLevel::features;
        Interrupt none;
        double best = 0;
        for (const auto& row : TreeGrower(x).grow(target, o, true, none).ledger)
            best = std::max(best, row.*number);
        return best;
    }
};

}  // namespace

TEST(a_diagonal_is_one_test) {
    Problem p(500, 2);
    p.label([&](Size r) { return p.at(r, 0) + p.at(r, 1) <= 0.1 ? 0 : 1; });
    const Candidate split = p.solve();
    CHECK(split.found());
    CHECK(split.gain > 0.49);
    CHECK(p.axis_gain() < 0.3);
    CHECK_EQUAL(split.terms.size(), Size{2});
    CHECK_CLOSE(split.terms[0].coefficient / split.terms[1].coefficient, 1.0, 0.1);
}

TEST(a_diagonal_among_noise_is_found_and_its_test_is_short) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        Problem p(1000, 10, seed);
        p.label([&](Size r) { return p.at(r, 2) - p.at(r, 7) <= 0 ? 0 : 1; });
        const Candidate split = p.solve();
        CHECK(split.gain > 0.47);
        CHECK(p.axis_gain() < 0.25);
        CHECK(split.terms.size() <= 4);
        for (const auto& t : split.terms)
            if (t.feature != 2 && t.feature != 7) CHECK(std::abs(t.coefficient) < 0.15);
    }
}

TEST(noisy_labels_leave_the_boundary_near) {
    Problem p(4000, 10);
    std::mt19937_64 g(5);
    p.label([&](Size r) {
        double sum = 0;
        for (Size f = 0; f < 10; ++f) sum += p.at(r, f);
        return (sum <= 0) != (g() % 10 == 0) ? 0 : 1;
    });
    const Candidate split = p.solve();
    CHECK(split.gain > 0.95 * 0.32);  // 0.5 − 2·0.9·0.1 for the true boundary
    CHECK(p.axis_gain() < 0.1);
}

TEST(pure_noise_seldom_gets_a_linear_test) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Problem p(400, 8, seed);
        std::mt19937_64 g(seed + 100);
        p.label([&](Size) { return static_cast<std::int32_t>(g() % 2); });
        found += p.solve().found();
        Problem q(400, 8, seed);
        std::normal_distribution<double> noise;
        q.value([&](Size) { return noise(g); });
        found += q.solve().found();
    }
    CHECK(found <= 15);  // all forty would do better on their own rows
}

TEST(a_noisy_step_along_one_feature_is_left_to_it) {
    int found = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        Problem p(600, 6, seed);
        std::mt19937_64 g(seed + 200);
        p.label([&](Size r) { return (p.at(r, 3) > 0.2) != (g() % 5 == 0) ? 1 : 0; });
        found += p.solve().found();
    }
    CHECK(found <= 4);
}

TEST(few_rows_get_no_linear_test) {
    Problem few(19, 2), enough(60, 2);
    few.label([&](Size r) { return few.at(r, 0) + few.at(r, 1) <= 0 ? 0 : 1; });
    enough.label([&](Size r) { return enough.at(r, 0) + enough.at(r, 1) <= 0 ? 0 : 1; });
    CHECK(!few.solve().found());
    CHECK(enough.solve().found());
    Problem wide(80, 40);
    wide.label([&](Size r) { return wide.at(r, 0) + wide.at(r, 1) <= 0 ? 0 : 1; });
    CHECK(wide.solve().terms.size() <= 8);  // ten rows a term, though forty terms would fit without error
}

TEST(units_do_not_matter) {
    Problem p(800, 3);
    for (Size r = 0; r < 800; ++r) {
        p.table.numeric[0][r] = p.table.numeric[0][r] * 1e-9;
        p.table.numeric[1][r] = 1e6 + p.table.numeric[1][r] * 1e4;
    }
    p.label([&](Size r) { return p.at(r, 0) * 1e9 + (p.at(r, 1) - 1e6) / 1e4 <= 0 ? 0 : 1; });
    CHECK(p.solve().gain > 0.48);
}

TEST(an_exclusive_or_bends) {
    Problem p(1000, 4);
    p.label([&](Size r) { return (p.at(r, 1) > 0) == (p.at(r, 3) > 0) ? 1 : 0; });
    const Candidate split = p.solve();
    CHECK(split.gain > 0.04);  // cutting one corner off brings 0.047 on many rows
    CHECK(p.axis_gain() < 0.02);
}

TEST(several_classes_share_a_diagonal) {
    Problem p(1500, 4);
    p.label([&](Size r) {
        return (p.at(r, 0) + p.at(r, 1) <= 0 ? 0 : 2) + (p.at(r, 2) - p.at(r, 3) > 0 ? 1 : 0);
    });
    const Candidate split = p.solve();
    CHECK(split.gain > 0.24);  // two of four classes on each side: 0.75 − 0.5
    p.options.criterion = CriterionName::entropy;
    CHECK(p.solve().gain > 0.97);
}

TEST(a_plane_is_cut_across_its_slope) {
    Problem p(1000, 5);
    std::mt19937_64 g(3);
    std::normal_distribution<double> noise(0, 0.1);
    p.value([&](Size r) { return 3 * p.at(r, 0) - 2 * p.at(r, 1) + p.at(r, 4) + noise(g); });
    const Candidate split = p.solve();
    const double expected =
        14 * 2 / 3.14159265;  // half a normal variable's best cut explains 2/π of its variance
    CHECK_CLOSE(split.gain, expected, 0.1 * expected);
    CHECK(p.axis_gain() < 0.75 * split.gain);
    for (const auto criterion : {CriterionName::squared_error, CriterionName::absolute_error}) {
        p.options.criterion = criterion;
        const Candidate other = p.solve();
        CHECK(other.found());
        CHECK(other.gain > 1.2 * p.axis_gain());
        CHECK(other.gain_ratio > 0);
    }
}

TEST(counts_are_cut_by_poisson) {
    Problem p(800, 3);
    p.value([&](Size r) { return std::floor(std::exp(0.7 * (p.at(r, 0) + p.at(r, 1)))); });
    p.options.criterion = CriterionName::poisson;
    const Candidate split = p.solve();
    CHECK(split.gain > 1.2 * p.axis_gain());
}

TEST(columns_that_cannot_be_used_are_left_out) {
    Problem p(300, 8);
    for (Size r = 0; r < 300; ++r) {
        p.table.numeric[0][r] = 4.5;
        p.table.numeric[1][r] = nan_value;
        p.table.numeric[2][r] = r % 3 ? 1.25 : nan_value;
        p.table.numeric[3][r] = r % 5 ? p.at(r, 3) : std::numeric_limits<double>::infinity();
        p.table.numeric[4][r] = r % 2 ? 1.7e308 : -1.7e308;
        p.table.numeric[5][r] = r % 2 ? 5e-324 : 0.0;
    }
    p.label([&](Size r) { return p.at(r, 6) + p.at(r, 7) <= 0 ? 0 : 1; });
    const Candidate split = p.solve();
    CHECK(split.gain > 0.48);
    for (const auto& t : split.terms) CHECK(t.feature >= 6);
}

TEST(nothing_is_found_where_there_are_no_two_columns) {
    Problem one(50, 1);
    one.label([&](Size r) { return one.at(r, 0) > 0; });
    CHECK(!one.solve().found());
    Problem constant(50, 3);
    for (auto& column : constant.table.numeric) std::fill(column.begin(), column.end(), 1.0);
    constant.label([&](Size r) { return r % 2; });
    CHECK(!constant.solve().found());
    Problem along_one(400, 5);
    along_one.label([&](Size r) { return along_one.at(r, 3) > 0.2; });
    CHECK(!along_one.solve().found());  // that feature's own search has it
}

TEST(missing_values_stand_at_the_weighted_mean) {
    Problem p(600, 3);
    std::mt19937_64 g(2);
    p.label([&](Size r) { return p.at(r, 0) + p.at(r, 1) <= 0 ? 0 : 1; });
    for (Size r = 0; r < 600; ++r) p.weights.push_back(0.25 * static_cast<double>(1 + g() % 7));
    for (Size r = 0; r < 600; ++r)
        if (g() % 10 == 0) p.table.numeric[0][r] = nan_value;
    const Candidate split = p.solve();
    CHECK(split.gain > 0.38);
    for (const auto& t : split.terms) {
        double sum = 0, weight = 0;
        for (Size r = 0; r < 600; ++r) {
            const double v = p.at(r, static_cast<Size>(t.feature));
            if (std::isnan(v)) continue;
            sum += p.weights[r] * v;
            weight += p.weights[r];
        }
        CHECK_CLOSE(t.fill, sum / weight, 1e-12);
    }
}

TEST(weights_are_repeated_rows) {
    Problem weighted(200, 3), repeated(0, 3);
    weighted.label(
        [&](Size r) { return weighted.at(r, 0) + weighted.at(r, 1) + 0.3 * weighted.at(r, 2) <= 0 ? 0 : 1; });
    for (Size r = 0; r < 200; ++r)
        weighted.weights.push_back(static_cast<double>(r % 3));  // weight 0: no row at all
    for (Size r = 0; r < 200; ++r)
        for (Size k = 0; k < r % 3; ++k) {
            for (Size f = 0; f < 3; ++f) repeated.table.numeric[f].push_back(weighted.at(r, f));
            repeated.classes.push_back(weighted.classes[r]);
            ++repeated.table.n_rows;
        }
    const Candidate a = weighted.solve(), b = repeated.solve();
    CHECK(a.gain > 0.45);
    CHECK(b.gain > 0.45);
    CHECK_CLOSE(a.gain, b.gain, 0.03);
}

TEST(children_keep_their_least_size) {
    Problem p(400, 4);
    p.label([&](Size r) { return p.at(r, 0) + p.at(r, 1) <= -2.2 ? 0 : 1; });
    p.options.min_samples_leaf = 100;  // more than the few rows beyond the boundary
    const Candidate rows = p.solve();
    CHECK(rows.found());
    for (Size r = 0; r < 400; ++r) p.weights.push_back(r % 2 ? 0.5 : 1.5);
    p.options.min_weight_leaf = 120;
    const Candidate split = p.solve();
    double left = 0;
    for (Row r : p.rows)
        if (p.goes_left(split, r)) left += p.weights[r];
    CHECK(left >= 120 && 400 - left >= 120);
}

TEST(fewer_rows_than_columns_are_safe) {
    for (Size n : {2, 3, 5, 12, 30})
        for (Size d : {2, 9, 40, 300}) {
            Problem p(n, d, n * 1000 + d);
            p.label([&](Size r) { return static_cast<std::int32_t>(r % 2); });
            p.solve();
            Problem q(n, d, n * 1000 + d + 1);
            q.value([&](Size r) { return q.at(r, 0) + q.at(r, 1); });
            q.solve();
        }
}

TEST(copies_of_a_column_are_safe) {
    Problem p(300, 6);
    for (Size f = 1; f < 5; ++f) p.table.numeric[f] = p.table.numeric[0];
    p.label([&](Size r) { return p.at(r, 0) + p.at(r, 5) <= 0 ? 0 : 1; });
    CHECK(p.solve().gain > 0.48);
}

TEST(many_classes_and_many_outputs) {
    Problem many(600, 4);
    many.label(
        [&](Size r) { return static_cast<std::int32_t>((many.at(r, 0) + many.at(r, 1) + 5) * 12) % 100; });
    CHECK(many.solve().found());
    Problem two(600, 4);
    two.n_outputs = 2;
    for (Size r = 0; r < 600; ++r) {
        two.classes.push_back(1);  // the first output says nothing
        two.classes.push_back(two.at(r, 0) - two.at(r, 2) <= 0 ? 0 : 1);
    }
    CHECK(two.solve().gain > 0.24);
    Problem values(600, 4);
    values.n_outputs = 2;
    values.options.criterion = CriterionName::squared_error;
    for (Size r = 0; r < 600; ++r)
        for (double slope : {1.0, 2.0}) values.values.push_back(slope * (values.at(r, 0) + values.at(r, 1)));
    CHECK(values.solve().gain > 1.2 * values.axis_gain());
}

TEST(large_nodes_are_estimated_on_some_rows_and_cut_on_all) {
    Problem p(30000, 4);
    p.label([&](Size r) { return p.at(r, 0) + p.at(r, 1) - p.at(r, 3) <= 0 ? 0 : 1; });
    for (Size r = 0; r < 30000; r += 11) p.table.numeric[1][r] = nan_value;
    const Candidate split = p.solve();
    CHECK(split.gain > 0.4);
    double sum = 0, known = 0;
    for (Size r = 0; r < 30000; ++r)
        if (!std::isnan(p.at(r, 1))) sum += p.at(r, 1), known += 1;
    for (const auto& t : split.terms)
        if (t.feature == 1) CHECK_CLOSE(t.fill, sum / known, 1e-9);
}

TEST(a_test_pays_for_all_its_features) {
    Problem p(500, 4);
    p.label([&](Size r) { return p.at(r, 0) + p.at(r, 1) <= 0 ? 0 : 1; });
    p.options.cost_rule = CostRule::tan_linear;
    p.options.feature_costs = {1.0, 2.0, 4.0, 8.0};
    const Candidate split = p.solve();
    double cost = 0;
    for (const auto& t : split.terms) cost += p.options.feature_costs[static_cast<Size>(t.feature)];
    CHECK_CLOSE(split.score, split.gain / cost, 1e-12);
    CHECK_CLOSE(cost, 3.0, 1e-12);
}

TEST(the_same_address_gives_the_same_test) {
    Problem p(300, 6);
    p.label([&](Size r) { return p.at(r, 0) * p.at(r, 1) + p.at(r, 2) <= 0.3 ? 0 : 1; });
    const Candidate a = p.solve(11), b = p.solve(11);
    CHECK_EQUAL(a.terms.size(), b.terms.size());
    CHECK_EQUAL(a.threshold, b.threshold);
    for (Size i = 0; i < a.terms.size(); ++i) CHECK_EQUAL(a.terms[i].coefficient, b.terms[i].coefficient);
}

TEST(whole_trees_are_the_same_for_any_number_of_threads) {
    int oblique = 0;
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
        const Table table(seed, 2500, 2 + seed % 5, seed % 2, seed % 3 == 0);
        const int n_classes = static_cast<int>(seed % 4 == 3 ? 0 : 2 + seed % 3);
        const Goal goal(table, seed + 1, n_classes, seed % 5 == 4 ? 2 : 1, seed % 3 == 2);
        GrowOptions o;
        o.criterion = n_classes
                          ? (seed % 2 ? CriterionName::entropy : CriterionName::gini)
                          : (seed % 8 == 3 ? CriterionName::squared_error : CriterionName::absolute_error);
        o.oblique_directions = 5;
        o.max_depth = 6;
        o.seed = seed;
        if (seed % 6 == 0) o.missing = MissingRule::fractional;
        if (seed % 4 == 1) o.min_samples_leaf = 7;
        if (seed % 5 == 1) o.max_features = 2;
        const CodeMatrix x = table.codes(0);
        Interrupt none;
        const FlatTree one = TreeGrower(x).grow(goal.target, o, true, none);
        o.n_threads = 3;
        const FlatTree three = TreeGrower(x).grow(goal.target, o, true, none);
        CHECK(one.kind == three.kind && one.term_coefficient == three.term_coefficient &&
              one.value == three.value);
        oblique +=
            std::count(one.kind.begin(), one.kind.end(), static_cast<std::uint8_t>(SplitKind::linear)) > 0;
        for (Size i = 0; i < one.kind.size(); ++i) CHECK(one.n_samples[i] > 0);
    }
    CHECK(oblique >= 12);
}

CHECK_MAIN
