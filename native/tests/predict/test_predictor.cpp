// Tests prediction against a recursive reference on random trees of every kind of test.
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "predict/predictor.hpp"
#include "tests/check.hpp"

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

    /// The arrays in the form of an ensemble of one tree: pool offsets per split of a kind, not per node.
    struct Narrow {
        std::vector<std::int64_t> tree_begin, set_begin{0}, branch_begin{0}, term_begin{0};
        std::vector<std::int32_t> branch_children;
    };
    Narrow narrow() const {
        Narrow out;
        out.tree_begin = {0, static_cast<std::int64_t>(kind.size())};
        for (Size t = 0; t < kind.size(); ++t) {
            if (kind[t] == 2) out.set_begin.push_back(set_begin[t + 1]);
            if (kind[t] == 3) out.branch_begin.push_back(branch_begin[t + 1]);
            if (kind[t] == 3) out.branch_children.push_back(n_children[t]);
            if (kind[t] == 4) out.term_begin.push_back(term_begin[t + 1]);
        }
        return out;
    }
    EnsembleView view(const Narrow& n) const {
        return {n.tree_begin, kind,         feature,        threshold,
                {},           missing,      value,          weight,
                n.set_begin,  set_bits,     n.branch_begin, n.branch_children,
                branch,       n.term_begin, term_feature,   term_coefficient,
                term_fill,    n_features,   n_outputs,      width};
    }
};

/// Check that the arrays are refused.
static void check_refused(const Tree& tree, const Tree::Narrow& narrow) {
    CHECK_THROWS(Predictor(tree.view(narrow), 0, {3, 2}), std::invalid_argument);
}

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

static void check_row(const Tree& tree, const double* x, const double* value, std::int32_t node,
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
        CHECK_EQUAL(path.fractions[i], share);
        ++i;
    }
}

static void check_table(const Tree& tree, const std::vector<double>& rows, const InputTable& table,
                        int n_threads) {
    const Tree::Narrow narrow = tree.narrow();
    Predictor predictor(tree.view(narrow), 0, {3, 2});
    const Size n = table.n_rows;
    std::vector<double> values(n * 6), sums(n * 6);
    std::vector<std::int32_t> nodes(n);
    std::vector<std::int64_t> classes(n * 2);
    predictor.values(values.data(), table, n_threads);
    predictor.sum(sums.data(), table, {0, 1}, n_threads);
    CHECK(sums == values);
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

/// Several trees at once: leaves, sums and paths are those of each tree.
static void check_ensemble(const std::vector<Tree>& trees, const std::vector<double>& rows, Size n) {
    const Size n_trees = trees.size();
    Tree all;
    Tree::Narrow joined;
    joined.tree_begin = {0};
    const auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    const auto append_offsets = [](auto& to, const auto& from) {
        for (Size i = 1, last = static_cast<Size>(to.back()); i < from.size(); ++i)
            to.push_back(static_cast<std::int64_t>(last) + from[i]);
    };
    for (const Tree& tree : trees) {
        const Tree::Narrow narrow = tree.narrow();
        append(all.kind, tree.kind);
        append(all.feature, tree.feature);
        append(all.threshold, tree.threshold);
        append(all.missing, tree.missing);
        append(all.value, tree.value);
        append(all.weight, tree.weight);
        append(all.set_bits, tree.set_bits);
        append(all.branch, tree.branch);
        append(all.term_feature, tree.term_feature);
        append(all.term_coefficient, tree.term_coefficient);
        append(all.term_fill, tree.term_fill);
        append(joined.branch_children, narrow.branch_children);
        append_offsets(joined.tree_begin, narrow.tree_begin);
        append_offsets(joined.set_begin, narrow.set_begin);
        append_offsets(joined.branch_begin, narrow.branch_begin);
        append_offsets(joined.term_begin, narrow.term_begin);
    }
    std::vector<InputColumn> columns;
    for (Size j = 0; j < n_features; ++j)
        columns.push_back({InputColumn::Type::f64, rows.data() + j, n_features * 8, 0});
    const InputTable table{columns, n, true};
    Predictor predictor(all.view(joined), 0);
    std::vector<double> sums(n * 6), expected(n * 6, 0.0), values(n * 6);
    std::vector<std::int32_t> leaves(n * n_trees), own(n);
    predictor.sum(sums.data(), table, {0, n_trees}, 2);
    predictor.apply(leaves.data(), table, 2);
    const DecisionPath path = predictor.decision_path(table, 2);
    Size n_visits = 0;
    for (Size t = 0; t < n_trees; ++t) {
        const Tree::Narrow narrow = trees[t].narrow();
        Predictor one(trees[t].view(narrow), 0);
        one.values(values.data(), table, 1);
        one.apply(own.data(), table, 1);
        n_visits += one.decision_path(table, 1).indices.size();
        for (Size i = 0; i < n * 6; ++i) expected[i] += values[i];
        for (Size i = 0; i < n; ++i) CHECK_EQUAL(leaves[i * n_trees + t], own[i]);
    }
    CHECK(sums == expected);
    CHECK_EQUAL(path.indices.size(), n_visits);
    for (Size i = 0; i < n; ++i)
        CHECK(
            std::is_sorted(path.indices.begin() + path.indptr[i], path.indices.begin() + path.indptr[i + 1]));
}

TEST(ensembles_are_their_trees) {
    std::mt19937 random(16);
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::vector<Tree> trees;
        for (int t = 0; t < 3; ++t)
            trees.push_back(random_tree(random, static_cast<int>(random() % 40), repeat % 2 == 0));
        const Size n = repeat < 10 ? 5 : 700;  // few rows, and enough for every layout
        check_ensemble(trees, random_rows(random, n), n);
    }
}

TEST(trees_with_splits_in_common) {
    std::mt19937 random(17);
    std::normal_distribution<double> normal;
    // Codes of one byte and of two.
    for (const Size n_thresholds : {5, 400})
        for (const Size n : {20, 64, 300}) {
            std::vector<double> thresholds(n_thresholds);
            for (double& threshold : thresholds) threshold = normal(random);
            std::vector<Tree> trees;
            for (int t = 0; t < 80; ++t) {
                Tree tree = random_tree(random, 1 + static_cast<int>(random() % 60), true);
                for (Size i = 0; i < tree.kind.size(); ++i) {
                    if (tree.kind[i] != 1) continue;
                    tree.threshold[i] = thresholds[random() % n_thresholds];
                    if (n_thresholds > 5) tree.feature[i] = tree.missing[i] = 1;
                }
                trees.push_back(tree);
            }
            check_ensemble(trees, random_rows(random, n), n);
        }
}

TEST(a_tree_without_splits_needs_no_columns) {
    std::mt19937 random(14);
    const Tree tree = random_tree(random, 0, true);
    const Tree::Narrow narrow = tree.narrow();
    EnsembleView view = tree.view(narrow);
    view.n_features = 0;
    Predictor predictor(view, 0);
    std::vector<std::int32_t> nodes(3000, 7);
    predictor.apply(nodes.data(), {{}, 3000, false}, 2);
    CHECK(nodes == std::vector<std::int32_t>(3000, 0));
}

TEST(unsound_trees_are_refused) {
    std::mt19937 random(15);
    const auto broken = [&](auto&& damage) {
        Tree tree = random_tree(random, 40, false);
        Tree::Narrow narrow = tree.narrow();
        damage(tree, narrow);
        check_refused(tree, narrow);
    };
    for (int repeat = 0; repeat < 20; ++repeat) {
        broken([](Tree&, Tree::Narrow& n) { n.tree_begin[1] += 1; });
        broken([](Tree&, Tree::Narrow& n) { n.tree_begin[1] -= 1; });
        broken([](Tree&, Tree::Narrow& n) { n.tree_begin[0] = 1; });
        broken([](Tree&, Tree::Narrow& n) { n.branch_children.at(0) = 1 << 30; });
        broken([](Tree&, Tree::Narrow& n) { n.branch_children.at(0) += 1; });
        broken([](Tree&, Tree::Narrow& n) { n.branch_children.at(0) = 0; });
        broken([](Tree& t, Tree::Narrow&) { t.kind[2] = 9; });
        broken([](Tree& t, Tree::Narrow&) { t.missing[1] = 5; });
        broken([](Tree& t, Tree::Narrow&) { t.term_feature.at(0) = 6; });
        broken([](Tree& t, Tree::Narrow&) { t.branch.at(0) = 4; });
        broken([](Tree&, Tree::Narrow& n) { n.set_begin.back() += 1; });
        broken([](Tree&, Tree::Narrow& n) { n.branch_begin[1] = -1; });
        broken([](Tree& t, Tree::Narrow&) { t.value.pop_back(); });
        broken([](Tree& t, Tree::Narrow&) { t.weight.pop_back(); });
        broken([](Tree& t, Tree::Narrow&) {
            for (Size i = 0; i < t.kind.size(); ++i) {
                if (t.kind[i] == 1) t.feature[i] = 6;
            }
        });
    }
}

CHECK_MAIN
