// Tests prediction against a recursive reference on random trees of every kind of test.
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "tests/check.hpp"
#include "predict/traverse.hpp"

using namespace spinney;

static constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
static constexpr Size n_features = 6;  // 0..3 numeric, 4 and 5 categorical with 70 and 5 codes
static constexpr int category_counts[] = {70, 5};

struct Tree {
    std::vector<std::uint8_t> kind;
    std::vector<std::int32_t> feature, first_child, n_children, missing, branch, term_feature;
    std::vector<double> threshold, weight, value, term_coefficient, term_fill;
    std::vector<std::int64_t> set_begin{0}, branch_begin{0}, term_begin{0};
    std::vector<std::uint64_t> set_bits;
    Size n_outputs = 2, width = 3;

    TreeView view() const {
        return {kind,         feature,          threshold, first_child,  n_children, missing,
                weight,       set_begin,        set_bits,  branch_begin, branch,     term_begin,
                term_feature, term_coefficient, term_fill, n_features};
    }
    Predictor predictor() const {
        const std::vector<std::int64_t> n_classes{3, 2};
        return Predictor(view(), value, n_outputs, width, n_classes);
    }
};

/// Grow a random tree breadth-first. `simple`: numeric tests with one way for missing values.
static Tree random_tree(std::mt19937& random, int n_tests, bool simple) {
    Tree tree;
    std::normal_distribution<double> normal;
    int next = 1;
    for (int t = 0; t < next; ++t) {
        const int kind = t >= n_tests ? 0 : simple ? 1 : 1 + static_cast<int>(random() % 4);
        const int children = kind == 0 ? 0 : kind == 3 ? 1 + static_cast<int>(random() % 4) : 2;
        const bool category = kind == 2 || kind == 3;
        const int feature = category ? 4 + static_cast<int>(random() % 2) : static_cast<int>(random() % 4);
        tree.kind.push_back(static_cast<std::uint8_t>(kind));
        tree.feature.push_back(kind == 0 || kind == 4 ? -1 : feature);
        tree.threshold.push_back(kind == 1 || kind == 4 ? normal(random) : nan_value);
        tree.first_child.push_back(children ? next : -1);
        tree.n_children.push_back(children);
        const int missing = static_cast<int>(random() % static_cast<unsigned>(children + 1)) - 1;
        tree.missing.push_back(kind == 0 || kind == 4 ? -1 : simple ? std::max(missing, 0) : missing);
        tree.weight.push_back(static_cast<double>(random() % 5));
        for (int k = 0; k < 6; ++k) tree.value.push_back(static_cast<double>(random() % 4));
        if (kind == 2) tree.set_bits.push_back(random() | std::uint64_t{random()} << 32);
        if (kind == 3) {
            for (int c = 0; c < 4; ++c) {
                tree.branch.push_back(static_cast<int>(random() % static_cast<unsigned>(children + 1)) - 1);
            }
        }
        if (kind == 4) {
            for (int j = 0; j < 3; ++j) {
                tree.term_feature.push_back(j);
                tree.term_coefficient.push_back(normal(random));
                tree.term_fill.push_back(normal(random));
            }
        }
        tree.set_begin.push_back(static_cast<std::int64_t>(tree.set_bits.size()));
        tree.branch_begin.push_back(static_cast<std::int64_t>(tree.branch.size()));
        tree.term_begin.push_back(static_cast<std::int64_t>(tree.term_feature.size()));
        next += children;
    }
    return tree;
}

static std::vector<double> random_rows(std::mt19937& random, Size n) {
    std::normal_distribution<double> normal;
    std::vector<double> rows(n * n_features);
    for (Size i = 0; i < rows.size(); ++i) {
        const Size j = i % n_features;
        rows[i] = j < 4 ? static_cast<float>(normal(random))
                        : random() % static_cast<unsigned>(category_counts[j - 4]);
        if (random() % 6 == 0) rows[i] = nan_value;
    }
    return rows;
}

/// The textbook descent: `reached` and `ends` by node.
static void naive_visit(const Tree& tree, const double* x, int t, double share,
                        std::map<int, double>& reached, std::map<int, double>& ends) {
    const Size n = static_cast<Size>(t);
    reached[t] = share;
    int child = -2;
    const double v = tree.feature[n] >= 0 ? x[tree.feature[n]] : 0;
    if (tree.kind[n] == 0) {
        ends[t] = share;
        return;
    }
    if (tree.kind[n] == 4) {
        double sum = 0;
        for (auto i = tree.term_begin[n]; i < tree.term_begin[n + 1]; ++i) {
            const double u = x[tree.term_feature[static_cast<Size>(i)]];
            sum += tree.term_coefficient[static_cast<Size>(i)] *
                   (std::isnan(u) ? tree.term_fill[static_cast<Size>(i)] : u);
        }
        child = sum <= tree.threshold[n] ? 0 : 1;
    } else if (!std::isnan(v)) {
        if (tree.kind[n] == 1) child = v <= tree.threshold[n] ? 0 : 1;
        if (tree.kind[n] == 2) {
            child = v < 64 && (tree.set_bits[static_cast<Size>(tree.set_begin[n])] >> static_cast<int>(v) & 1)
                        ? 0
                        : 1;
        }
        if (tree.kind[n] == 3) {
            child = v < 4 ? tree.branch[static_cast<Size>(tree.branch_begin[n]) + static_cast<Size>(v)] : -1;
            if (child == -1) {
                ends[t] = share;
                return;
            }
        }
    } else if (tree.missing[n] >= 0) {
        child = tree.missing[n];
    }
    for (int c = 0; c < tree.n_children[n]; ++c) {
        if (child != -2 && child != c) continue;
        const int to = tree.first_child[n] + c;
        const double part = child == c           ? 1
                            : tree.weight[n] > 0 ? tree.weight[static_cast<Size>(to)] / tree.weight[n]
                                                 : 1.0 / tree.n_children[n];
        naive_visit(tree, x, to, share * part, reached, ends);
    }
}

static void check_row(const Tree& tree, const double* x, const double* value, std::int64_t node,
                      const std::int64_t* classes, const DecisionPath& path, Size row) {
    std::map<int, double> reached, ends;
    naive_visit(tree, x, 0, 1.0, reached, ends);
    std::vector<double> expected(6, 0.0);
    int heaviest = ends.begin()->first;
    for (const auto& [t, share] : ends) {
        for (Size k = 0; k < 6; ++k) expected[k] += share * tree.value[static_cast<Size>(t) * 6 + k];
        if (share > ends[heaviest]) heaviest = t;
    }
    for (Size k = 0; k < 6; ++k) CHECK_EQUAL(value[k], expected[k]);
    CHECK_EQUAL(node, heaviest);
    CHECK_EQUAL(classes[0], std::max_element(expected.begin(), expected.begin() + 3) - expected.begin());
    CHECK_EQUAL(classes[1],
                std::max_element(expected.begin() + 3, expected.begin() + 5) - expected.begin() - 3);
    auto i = static_cast<Size>(path.indptr[row]);
    CHECK_EQUAL(reached.size(), static_cast<Size>(path.indptr[row + 1]) - i);
    for (const auto& [t, share] : reached) {
        CHECK_EQUAL(path.indices[i], t);
        CHECK_EQUAL(path.shares[i], share);
        ++i;
    }
}

static void check_table(const Tree& tree, const std::vector<double>& rows, const InputTable& table,
                        int n_threads) {
    const Predictor predictor = tree.predictor();
    const Size n = table.n_rows;
    std::vector<double> values(n * 6);
    std::vector<std::int64_t> nodes(n), classes(n * 2);
    predictor.values(values.data(), table, n_threads);
    predictor.apply(nodes.data(), table, n_threads);
    predictor.classes(classes.data(), table, n_threads);
    const DecisionPath path = predictor.decision_path(table, n_threads);
    CHECK_EQUAL(path.indptr.size(), n + 1);
    for (Size i = 0; i < n; ++i) {
        check_row(tree, &rows[i * n_features], &values[i * 6], nodes[i], &classes[i * 2], path, i);
    }
}

/// The same rows in every form that a table may have.
static void check_forms(const Tree& tree, const std::vector<double>& rows, Size n, int n_threads) {
    const std::vector<float> narrow(rows.begin(), rows.end());
    std::vector<double> by_column(rows.size());
    std::vector<std::int32_t> codes(2 * n);
    std::vector<InputColumn> wide, small, columns;
    using Type = InputColumn::Type;
    for (Size j = 0; j < n_features; ++j) {
        for (Size i = 0; i < n; ++i) {
            const double x = rows[i * n_features + j];
            by_column[j * n + i] = x;
            if (j >= 4) codes[(j - 4) * n + i] = std::isnan(x) ? -1 : static_cast<std::int32_t>(x);
        }
        wide.push_back({Type::f64, rows.data() + j, n_features * 8, 0});
        small.push_back({Type::f32, narrow.data() + j, n_features * 4, 0});
        if (j < 4) {
            columns.push_back({Type::f64, by_column.data() + j * n, 8, 0});
        } else {
            columns.push_back({Type::category, codes.data() + (j - 4) * n, 4, 70});
        }
    }
    check_table(tree, rows, {wide, n, true}, n_threads);
    check_table(tree, rows, {wide, n, false}, n_threads);
    check_table(tree, rows, {small, n, true}, n_threads);
    check_table(tree, rows, {columns, n, false}, n_threads);
}

TEST(random_trees_of_every_kind) {
    std::mt19937 random(11);
    for (int repeat = 0; repeat < 60; ++repeat) {
        const Tree tree = random_tree(random, static_cast<int>(random() % 60), repeat % 2 == 0);
        const Size n = random() % 40;
        check_forms(tree, random_rows(random, n), n, 1 + repeat % 3);
    }
}

TEST(many_rows_on_threads) {
    std::mt19937 random(12);
    for (bool simple : {true, false})
        check_forms(random_tree(random, 200, simple), random_rows(random, 5000), 5000, 3);
}

TEST(infinities_and_thresholds_themselves) {
    std::mt19937 random(13);
    Tree tree = random_tree(random, 1, true);
    tree.feature[0] = 0;
    tree.threshold[0] = 1.5;
    const double infinity = std::numeric_limits<double>::infinity();
    std::vector<double> rows(5 * n_features, 0.0);
    const double first[] = {1.5, std::nextafter(1.5f, 2.0f), -infinity, infinity, nan_value};
    for (Size i = 0; i < 5; ++i) rows[i * n_features] = first[i];
    check_forms(tree, rows, 5, 1);
}

TEST(a_tree_without_tests_needs_no_columns) {
    std::mt19937 random(14);
    const Tree tree = random_tree(random, 0, true);
    TreeView view = tree.view();
    view.n_features = 0;
    const std::vector<std::int64_t> n_classes{3, 3};
    const Predictor predictor(view, tree.value, 2, 3, n_classes);
    std::vector<std::int64_t> nodes(3000, 7);
    predictor.apply(nodes.data(), {{}, 3000, false}, 2);
    CHECK(nodes == std::vector<std::int64_t>(3000, 0));
}

TEST(unsound_trees_are_refused) {
    std::mt19937 random(15);
    const auto broken = [&](auto&& damage) {
        Tree tree = random_tree(random, 40, false);
        damage(tree);
        CHECK_THROWS(tree.predictor(), std::invalid_argument);
    };
    for (int repeat = 0; repeat < 20; ++repeat) {
        broken([](Tree& t) { t.first_child[3] = 3; });
        broken([](Tree& t) { t.first_child[3] = 2; });
        broken([](Tree& t) { t.first_child[5] = 1 << 30; });
        broken([](Tree& t) { t.n_children[0] = 1 << 30; });
        broken([](Tree& t) { t.kind[2] = 9; });
        broken([](Tree& t) { t.missing[1] = 5; });
        broken([](Tree& t) { t.term_feature.at(0) = 6; });
        broken([](Tree& t) { t.branch.at(0) = 4; });
        broken([](Tree& t) { t.set_begin.back() += 1; });
        broken([](Tree& t) { t.branch_begin[1] = -1; });
        broken([](Tree& t) { t.value.pop_back(); });
        broken([](Tree& t) { t.weight.pop_back(); });
        broken([](Tree& t) {
            for (Size i = 0; i < t.kind.size(); ++i) {
                if (t.kind[i] == 1) t.feature[i] = 6;
            }
        });
    }
}

CHECK_MAIN
