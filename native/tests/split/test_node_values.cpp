// Node values, from rows and merged from children, against the definitions.
#include <functional>

#include "core/chunk_sum.hpp"
#include "split/node_values.hpp"
#include "tests/check.hpp"
#include "tests/naive.hpp"

using namespace spinney;
using naive::Part;
using naive::Sample;

namespace {

double median_of(std::vector<std::pair<double, double>> pairs) { return weighted_median(pairs); }

/// Call f(name, n_classes) for every criterion.
template <class F>
void for_each_criterion(F&& f) {
    for (auto name : {CriterionName::gini, CriterionName::entropy, CriterionName::error})
        for (int n_classes : {2, 4}) f(name, n_classes);
    for (auto name : {CriterionName::squared_error, CriterionName::poisson, CriterionName::absolute_error})
        f(name, 0);
}

/// A value by definition: the probability of a class, the mean, or the median.
double naive_value(const Sample& sample, const std::vector<Part>& set, CriterionName name, int output,
                   int k) {
    if (name == CriterionName::absolute_error) return naive::median(sample, set, output);
    double sum = 0;
    const auto at = [&](Size row) {
        return row * static_cast<Size>(sample.target.n_outputs) + static_cast<Size>(output);
    };
    for (const Part& p : set)
        sum += p.weight * (sample.target.task == Task::regression ? sample.values[at(p.row)]
                                                                  : double(sample.classes[at(p.row)] == k));
    return sum / naive::weight_of(set);
}

void check_values(const Sample& sample, const NodeValues& node_values, const double* m,
                  const std::vector<Part>& set, CriterionName name, int n_classes) {
    const int width = std::max(1, n_classes);
    CHECK_CLOSE(node_values.weight(m), naive::weight_of(set), 1e-12 * naive::weight_of(set));
    CHECK_CLOSE(node_values.impurity(m), naive::impurity(sample, set, name), 1e-11);
    std::vector<double> value(static_cast<Size>(sample.target.n_outputs * width));
    node_values.value(value.data(), width, m, kImpossible, -kImpossible);
    for (int o = 0; o < sample.target.n_outputs; ++o)
        for (int k = 0; k < width; ++k)
            CHECK_CLOSE(value[static_cast<Size>(o * width + k)], naive_value(sample, set, name, o, k), 1e-12);
}

}  // namespace

TEST(median_is_the_middle_weight) {
    CHECK_EQUAL(median_of({{3, 1}, {1, 1}, {2, 1}}), 2.0);
    CHECK_EQUAL(median_of({{4, 1}, {1, 1}, {2, 1}, {3, 1}}), 2.5);
    CHECK_EQUAL(median_of({{1, 3}, {2, 1}, {5, 1}}), 1.0);
    CHECK_EQUAL(median_of({{1, 2}, {2, 1}, {5, 1}}), 1.5);  // the weight splits evenly at 1
    CHECK_EQUAL(median_of({{1, 1}, {2, 0}, {5, 1}}),
                1.5);  // half the weight is reached at 1, the next row is 2
    CHECK_EQUAL(median_of({{7, 0.25}}), 7.0);
    CHECK_EQUAL(median_of({}), 0.0);
    CHECK_EQUAL(median_of({{1e308, 1}, {1.5e308, 1}}), 1.25e308);
}

TEST(median_minimises_the_absolute_error) {
    std::mt19937_64 g(1);
    for (int round = 0; round < 300; ++round) {
        std::vector<std::pair<double, double>> pairs;
        for (Size i = 0; i < 1 + g() % 12; ++i)
            pairs.emplace_back(static_cast<double>(g() % 9), static_cast<double>(1 + g() % 4));
        const auto loss = [&](double at) {
            double sum = 0;
            for (const auto& [y, w] : pairs) sum += w * std::abs(y - at);
            return sum;
        };
        const double best = loss(median_of(pairs));
        for (double at = -0.5; at < 9.5; at += 0.25) CHECK(best <= loss(at) + 1e-12);
    }
}

TEST(values_follow_from_the_rows) {
    std::mt19937_64 g(2);
    for_each_criterion([&](CriterionName name, int n_classes) {
        for (int n_outputs : {1, 2})
            for (int weighted : {0, 1, 2}) {
                const Sample sample(g(), 80, n_classes, n_outputs, weighted);
                const Statistics s = make_statistics(sample.target, false, false, true);
                const NodeValues node_values(sample.target, s, name);
                std::vector<Row> rows;
                std::vector<Part> set;
                for (Size r = 0; r < 80; ++r) {
                    if (!(sample.target.weight(r) > 0) || g() % 3 == 0) continue;
                    rows.push_back(static_cast<Row>(r));
                    set.push_back({r, sample.target.weight(r)});
                }
                std::vector<double> m(static_cast<Size>(node_values.size()), -1.0);
                node_values.from_rows(m.data(), {rows, {}});
                check_values(sample, node_values, m.data(), set, name, n_classes);
            }
    });
}

TEST(fractions_of_rows_count_with_their_weight) {
    std::mt19937_64 g(3);
    for_each_criterion([&](CriterionName name, int n_classes) {
        const Sample sample(g(), 50, n_classes, 1, 2);
        const Statistics s = make_statistics(sample.target, false, true, true);
        const NodeValues node_values(sample.target, s, name);
        std::vector<Row> rows;
        std::vector<Stat> parts;
        std::vector<Part> set;
        for (Size r = 0; r < 50; ++r) {
            rows.push_back(static_cast<Row>(r));
            parts.push_back(s.row_weight(r) / static_cast<Stat>(1 + g() % 5));
            set.push_back({r, static_cast<double>(parts[r]) * s.weight_unit});
        }
        std::vector<double> m(static_cast<Size>(node_values.size()), 0.0);
        node_values.from_rows(m.data(), {rows, parts});
        check_values(sample, node_values, m.data(), set, name, n_classes);
    });
}

TEST(children_merge_into_their_parent) {
    std::mt19937_64 g(4);
    for_each_criterion([&](CriterionName name, int n_classes) {
        if (name == CriterionName::absolute_error) return;
        for (int n_outputs : {1, 2}) {
            const Sample sample(g(), 90, n_classes, n_outputs, 2);
            const Statistics s = make_statistics(sample.target, false, false, true);
            const NodeValues node_values(sample.target, s, name);
            CHECK(node_values.mergeable());
            const auto size = static_cast<Size>(node_values.size());
            std::vector<Row> child[3];
            std::vector<Part> set;
            for (Size r = 0; r < 90; ++r) {
                child[g() % 3].push_back(static_cast<Row>(r));
                set.push_back({r, sample.target.weight(r)});
            }
            std::vector<double> merged(size, 0.0), own(size), empty(size, 0.0);
            for (const auto& rows : child) {
                node_values.from_rows(own.data(), {rows, {}});
                node_values.merge(merged.data(), own.data());
            }
            check_values(sample, node_values, merged.data(), set, name, n_classes);
            const auto before = merged;
            node_values.merge(merged.data(), empty.data());
            CHECK(merged == before);
        }
    });
}

TEST(the_mean_of_equal_values_is_exact) {
    for (double y : {0.1, 1.0 / 3, 1e16 + 2, -7.7, 1e308})
        for (auto name : {CriterionName::squared_error, CriterionName::absolute_error}) {
            Sample sample(5, 37, 0, 1, 2);
            std::fill(sample.values.begin(), sample.values.end(), y);
            const Statistics s = make_statistics(sample.target, false, false, true);
            const NodeValues node_values(sample.target, s, name);
            std::vector<Row> rows(37);
            for (Size r = 0; r < 37; ++r) rows[r] = static_cast<Row>(r);
            std::vector<double> m(static_cast<Size>(node_values.size()), 0.0);
            node_values.from_rows(m.data(), {rows, {}});
            CHECK_EQUAL(m[1], y);
            CHECK_EQUAL(node_values.impurity(m.data()), 0.0);
        }
}

/// The sum of a term over the rows, chunk by chunk.
double sum_by_chunks(const std::vector<Row>& rows, const std::function<double(Size)>& term) {
    double total = 0;
    for (Size chunk = 0; chunk < 4; ++chunk) {
        double part = 0;
        for (const Row row : rows)
            if (static_cast<Size>(row) / kChunkRows == chunk) part += term(row);
        total += part;
    }
    return total;
}

TEST(sums_are_added_in_the_order_of_the_chunks) {
    constexpr Size n = 3 * kChunkRows + 1000;
    std::vector<Row> rows;
    for (Size r = 0; r < n; r += 1 + r % 3) rows.push_back(static_cast<Row>(r));
    const Sample values(8, n, 0, 1, 2), classes(9, n, 3, 1, 2);
    const auto own_values = [&](const Sample& sample, CriterionName name) {
        const Statistics s = make_statistics(sample.target, false, false, true);
        const NodeValues node_values(sample.target, s, name);
        std::vector<double> m(static_cast<Size>(node_values.size()), 0.0);
        node_values.from_rows(m.data(), {rows, {}});
        return m;
    };
    const auto y = [&](Size r) { return values.target.values[r]; };
    const auto w = [&](Size r) { return values.target.weight(r); };
    const std::vector<double> means = own_values(values, CriterionName::squared_error);
    CHECK_EQUAL(means[0], sum_by_chunks(rows, w));
    const double mean = sum_by_chunks(rows, [&](Size r) { return y(r) * (w(r) / means[0]); });
    CHECK_EQUAL(means[1],
                mean + sum_by_chunks(rows, [&](Size r) { return (y(r) - mean) * (w(r) / means[0]); }));
    const std::vector<double> weights = own_values(classes, CriterionName::gini);
    for (int k = 0; k < 3; ++k)
        CHECK_EQUAL(weights[static_cast<Size>(k)], sum_by_chunks(rows, [&](Size r) {
                        return classes.target.classes[r] == k ? classes.target.weight(r) : 0.0;
                    }));
}

TEST(huge_values_have_finite_node_values) {
    for (auto name : {CriterionName::squared_error, CriterionName::absolute_error}) {
        Sample sample(6, 4, 0, 1, 0);
        sample.values = {0.8e308, -0.8e308, 0.8e308, 0.5e308};
        sample.attach();
        const Statistics s = make_statistics(sample.target, false, false, true);
        const NodeValues node_values(sample.target, s, name);
        const std::vector<Row> rows{0, 1, 2, 3};
        std::vector<double> m(static_cast<Size>(node_values.size()), 0.0);
        node_values.from_rows(m.data(), {rows, {}});
        double value = 0;
        node_values.value(&value, 1, m.data(), kImpossible, -kImpossible);
        CHECK(std::isfinite(value));
        CHECK(std::isfinite(node_values.impurity(m.data())));
    }
}

TEST(monotonic_bounds_clip_the_value) {
    const Sample values(7, 4, 0, 1, 0);
    const Statistics s = make_statistics(values.target, false, false, true);
    const NodeValues of_values(values.target, s, CriterionName::squared_error);
    const double m[] = {2.0, 5.0, 1.0, 0.0};
    double value = 0;
    of_values.value(&value, 1, m, 6.0, 9.0);
    CHECK_EQUAL(value, 6.0);

    const Sample classes(8, 4, 2, 1, 0);
    const Statistics t = make_statistics(classes.target, false, false, true);
    const NodeValues of_classes(classes.target, t, CriterionName::gini);
    const double weights[] = {1.0, 3.0};
    double p[2];
    of_classes.value(p, 2, weights, 0.0, 0.5);
    CHECK(p[0] == 0.5 && p[1] == 0.5);
    of_classes.value(p, 2, weights, kImpossible, -kImpossible);
    CHECK(p[0] == 0.25 && p[1] == 0.75);
}

TEST(a_node_without_weight_has_a_value) {
    const Sample sample(9, 4, 4, 1, 2);
    const Statistics s = make_statistics(sample.target, false, false, true);
    const NodeValues node_values(sample.target, s, CriterionName::gini);
    const double nothing[] = {0, 0, 0, 0};
    double value[4];
    node_values.value(value, 4, nothing, kImpossible, -kImpossible);
    for (double v : value) CHECK_EQUAL(v, 0.25);
    CHECK_EQUAL(node_values.impurity(nothing), 0.0);
}

CHECK_MAIN
