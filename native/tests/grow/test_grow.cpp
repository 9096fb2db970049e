// The histogram grower against the exact one, threads against one thread, and invariants of grown trees.
#include <array>
#include <atomic>
#include <thread>

#include "grow/grow_tree.hpp"
#include "tests/check.hpp"
#include "tests/tables.hpp"

using namespace spinney;
using tables::Goal;
using tables::Table;

namespace {

FlatTree grow(const CodeMatrix& x, const Goal& goal, const GrowOptions& options, bool exact) {
    Interrupt none;
    return TreeGrower(x).grow(goal.target, options, exact, none);
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

bool same_tree(const FlatTree& a, const FlatTree& b) {
    return same(a.kind, b.kind) && same(a.feature, b.feature) && same(a.first_child, b.first_child) &&
           same(a.missing, b.missing) && same(a.threshold, b.threshold) && same(a.weight, b.weight) &&
           same(a.impurity, b.impurity) && same(a.value, b.value) && same(a.n_samples, b.n_samples) &&
           same(a.set_bits, b.set_bits) && same(a.branch, b.branch) &&
           same(a.term_coefficient, b.term_coefficient);
}

/// Various plans that both growers support.
GrowOptions plan(std::uint64_t seed, bool classification) {
    GrowOptions o;
    const CriterionName of_classes[] = {CriterionName::gini, CriterionName::entropy, CriterionName::error};
    const CriterionName of_values[] = {CriterionName::squared_error, CriterionName::poisson};
    o.criterion = classification ? of_classes[seed % 3] : of_values[seed % 2];
    if (seed % 3 == 1) o.min_samples_leaf = 5;
    if (seed % 4 == 1) o.max_depth = 6;
    if (seed % 5 == 1) o.max_features = 2;
    if (seed % 6 == 1) o.splitter = Splitter::random;
    if (seed % 7 == 1) o.max_leaf_nodes = 23;
    if (seed % 8 == 1) o.min_weight_leaf = 3.0;
    if (seed % 9 == 1) o.categorical_split = CategorySplit::one_vs_rest;
    if (seed % 10 == 1) o.min_impurity_decrease = 1e-3;
    o.seed = seed;
    return o;
}

}  // namespace

TEST(both_growers_give_the_same_bits) {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(check::rounds(120)); ++seed) {
        const bool large = seed % 40 == 14;  // large enough to be compacted and shared among threads
        const Table table(seed, large ? 10000 : 50 + seed * 9, 1 + seed % 5, seed % 3, seed % 2 == 0);
        const int n_classes = static_cast<int>(seed % 4 == 3 ? 0 : 2 + seed % 4);
        const Goal goal(table, seed + 1, n_classes, seed % 5 == 4 ? 2 : 1, seed % 3 == 2);
        const CodeMatrix x = table.codes(seed % 6 == 5 ? 2 + seed % 3 : 255);
        GrowOptions o = plan(seed, n_classes > 0);
        if (seed % 11 == 1 && goal.target.n_outputs == 1 && (n_classes == 0 || n_classes == 2)) {
            o.monotonic_cst.assign(x.columns.size(), 0);
            o.monotonic_cst[0] = 1;
        }
        const FlatTree slow = grow(x, goal, o, true), fast = grow(x, goal, o, false);
        CHECK(slow.kind.size() > 1);
        CHECK(same_tree(slow, fast));
    }
}

TEST(both_growers_give_the_same_bits_on_bootstraps) {
    // As in forests: integer weights, many of them zero, a few features in each node, deep trees.
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(check::rounds(60)); ++seed) {
        const Size n = seed % 20 == 7 ? 12000 : 40 + seed * 30;
        const Table table(seed, n, 3 + seed % 30, seed % 4 == 3 ? 2 : 0, seed % 3 == 0);
        const int n_classes = static_cast<int>(seed % 3 == 2 ? 0 : seed % 2 ? 2 : 2 + seed % 40);
        Goal goal(table, seed + 1, n_classes, 1, false);
        std::vector<double> counts(n, 0.0);
        std::mt19937_64 g(seed);
        for (Size i = 0; i < n; ++i) counts[g() % n] += seed % 5 == 4 ? 300.0 : 1.0;
        goal.target.weights = counts.data();
        GrowOptions o;
        o.criterion = n_classes == 0 ? CriterionName::squared_error
                      : seed % 4     ? CriterionName::gini
                                     : CriterionName::entropy;
        o.max_features = static_cast<int>(1 + seed % 4);
        o.splitter = seed % 7 > 3 ? Splitter::random : Splitter::best;
        o.min_samples_leaf = 1 + seed % 6 / 5;
        o.seed = seed;
        const CodeMatrix x = table.codes(seed % 6 == 5 ? 2 + seed % 3 : 255);
        CHECK(same_tree(grow(x, goal, o, true), grow(x, goal, o, false)));
    }
}

TEST(threads_change_nothing) {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(std::max(2, check::rounds(8))); ++seed) {
        const Table table(seed, 9000, 4, 2, true);
        const Goal goal(table, seed, seed % 2 ? 3 : 0, 1, seed % 3 == 0);
        GrowOptions o = plan(seed, seed % 2);
        o.max_leaf_nodes = seed % 4 == 3 ? 40 : kNoLimit;
        for (const bool exact : {false, true}) {
            const CodeMatrix x = table.codes(exact ? 0 : 255);
            o.n_threads = 1;
            const FlatTree one = grow(x, goal, o, exact);
            for (int threads : {2, 13}) {
                o.n_threads = threads;
                CHECK(same_tree(one, grow(x, goal, o, exact)));
            }
        }
    }
}

TEST(many_callers_may_share_a_grower) {
    const Table table(3, 3000, 4, 2, true);
    const Goal goal(table, 3, 3, 1, false);
    const CodeMatrix x = table.codes(255);
    const FlatTree alone = grow(x, goal, plan(0, true), false);
    for (int round = 0; round < check::rounds(50); ++round) {
        const TreeGrower grower(x);
        std::array<FlatTree, 4> trees;
        std::atomic<int> waiting{static_cast<int>(trees.size())};
        std::vector<std::thread> callers;
        for (FlatTree& tree : trees)
            callers.emplace_back([&] {
                --waiting;
                while (waiting > 0) std::this_thread::yield();
                Interrupt none;
                tree = grower.grow(goal.target, plan(0, true), false, none);
            });
        for (std::thread& caller : callers) caller.join();
        for (const FlatTree& tree : trees) CHECK(same_tree(alone, tree));
    }
}

/// The child that a row of the table itself goes to.
static Size child_of(const FlatTree& tree, const Table& table, Size node, Size row) {
    const auto f = static_cast<Size>(tree.feature[node]);
    if (f < table.numeric.size()) {
        const double v = table.numeric[f][row];
        if (std::isnan(v)) return static_cast<Size>(tree.missing[node]);
        return v <= tree.threshold[node] ? 0 : 1;
    }
    const std::int32_t category = table.categories[f - table.numeric.size()][row];
    if (category < 0) return static_cast<Size>(tree.missing[node]);
    const auto word = static_cast<Size>(tree.set_begin[node]) + static_cast<Size>(category) / 64;
    return tree.set_bits[word] >> (category % 64) & 1 ? 0 : 1;
}

/// Send the rows of the table down the tree and check every node's rows, weight and value by what arrives.
static void check_by_walking(const FlatTree& tree, const Table& table, const Goal& goal) {
    const Size n = tree.kind.size(), m = static_cast<Size>(goal.target.n_outputs),
               width = static_cast<Size>(tree.width);
    std::vector<std::int64_t> count(n, 0);
    std::vector<double> weight(n, 0.0), sum(n * m * width, 0.0);
    for (Size r = 0; r < table.n_rows; ++r) {
        const double w = goal.target.weight(r);
        if (!(w > 0)) continue;
        for (Size node = 0;;
             node = static_cast<Size>(tree.first_child[node]) + child_of(tree, table, node, r)) {
            ++count[node];
            weight[node] += w;
            for (Size o = 0; o < m; ++o) {
                const Size at = (node * m + o) * width;
                if (goal.target.classes)
                    sum[at + static_cast<Size>(goal.classes[r * m + o])] += w;
                else
                    sum[at] += w * goal.values[r * m + o];
            }
            if (tree.n_children[node] == 0) break;
        }
    }
    for (Size i = 0; i < n; ++i) {
        CHECK_EQUAL(count[i], tree.n_samples[i]);
        CHECK_CLOSE(weight[i], tree.weight[i], 1e-9 * weight[0]);
        for (Size k = 0; k < m * width; ++k)
            CHECK_CLOSE(sum[i * m * width + k] / weight[i], tree.value[i * m * width + k], 1e-9);
    }
}

TEST(nodes_count_the_rows_that_reach_them) {
    // More cells than 16 bits can count, for the build with short row numbers: its products must not wrap
    // around.
    const Table table(1, 5000, 20, 3, true);
    const CodeMatrix binned = table.codes(255), exact = table.codes(0);
    for (int n_classes : {0, 2, 3})
        for (int n_outputs : {1, 8})
            for (bool weighted : {false, true}) {
                const Goal goal(table, 2, n_classes, n_outputs, weighted);
                GrowOptions o;
                o.criterion = n_classes ? CriterionName::entropy : CriterionName::squared_error;
                o.min_samples_leaf = 20;
                o.max_depth = 5;
                check_by_walking(grow(binned, goal, o, false), table, goal);
                if (weighted) check_by_walking(grow(exact, goal, o, true), table, goal);
            }
    const Goal goal(table, 3, 0, 8, true);
    GrowOptions o;
    o.criterion = CriterionName::absolute_error;
    o.max_depth = 1;
    const FlatTree tree = grow(binned, goal, o, true);
    Size left = 0, all = 0;
    for (Size r = 0; r < table.n_rows; ++r)
        if (goal.weights[r] > 0) {
            ++all;
            left += child_of(tree, table, 0, r) == 0;
        }
    CHECK_EQUAL(tree.n_samples[0], static_cast<std::int64_t>(all));
    CHECK_EQUAL(tree.n_samples[1], static_cast<std::int64_t>(left));
}

TEST(units_of_the_values_change_no_split) {
    struct Unit {
        CriterionName criterion;
        int exponent;  // of two, by which the values are multiplied
        int power;     // with which the impurity grows
    };
    const Table table(4, 300, 3, 1, true);
    const CodeMatrix x = table.codes(255);
    for (const Unit& unit :
         {Unit{CriterionName::squared_error, 400, 2}, Unit{CriterionName::squared_error, 1000, 2},
          Unit{CriterionName::squared_error, -400, 2}, Unit{CriterionName::squared_error, -900, 2},
          Unit{CriterionName::absolute_error, 400, 1}, Unit{CriterionName::absolute_error, 1000, 1},
          Unit{CriterionName::absolute_error, -400, 1}, Unit{CriterionName::absolute_error, -900, 1},
          Unit{CriterionName::poisson, 400, 1}, Unit{CriterionName::poisson, -400, 1}}) {
        Goal plain(table, 5, 0, 1, false), scaled(table, 5, 0, 1, false);
        for (double& y : scaled.values) y = std::ldexp(y, unit.exponent);
        GrowOptions o;
        o.criterion = unit.criterion;
        o.max_depth = 4;
        const FlatTree a = grow(x, plain, o, true), b = grow(x, scaled, o, true);
        CHECK(a.kind.size() > 5);
        CHECK(same(a.kind, b.kind) && same(a.feature, b.feature) && same(a.n_samples, b.n_samples));
        if (a.kind.size() != b.kind.size()) continue;
        for (Size i = 0; i < a.kind.size(); ++i) {
            CHECK_CLOSE(std::ldexp(b.value[i], -unit.exponent), a.value[i], 1e-12);
            const double impurity = std::ldexp(a.impurity[i], unit.power * unit.exponent);
            if (std::isfinite(impurity) && impurity > 1e-300)
                CHECK_CLOSE(b.impurity[i] / impurity, 1.0, 1e-9);
            CHECK(std::isfinite(b.impurity[i]));
        }
    }
}

TEST(units_of_the_weights_change_no_split) {
    const Table table(4, 300, 3, 1, true);
    const CodeMatrix x = table.codes(255);
    for (const int exponent : {-400, 300, 900}) {
        Goal plain(table, 5, 3, 1, true), scaled(table, 5, 3, 1, true);
        for (double& w : scaled.weights) w = std::ldexp(w, exponent);
        GrowOptions o;
        o.max_depth = 4;
        o.min_weight_leaf = 3.0;
        const FlatTree a = grow(x, plain, o, true);
        o.min_weight_leaf = std::ldexp(3.0, exponent);
        const FlatTree b = grow(x, scaled, o, true);
        CHECK(a.kind.size() > 5);
        CHECK(same(a.kind, b.kind) && same(a.feature, b.feature) && same(a.n_samples, b.n_samples));
        if (a.kind.size() != b.kind.size()) continue;
        for (Size i = 0; i < a.kind.size(); ++i)
            CHECK_CLOSE(std::ldexp(b.weight[i], -exponent) / a.weight[i], 1.0, 1e-12);
    }
}

TEST(integer_weights_are_repeated_rows) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const Table table(seed, 300, 3, 1, seed % 2 == 0);
        Goal goal(table, seed, seed % 2 ? 3 : 0, 1, false);
        std::mt19937_64 g(seed);
        for (Size r = 0; r < table.n_rows; ++r) goal.weights.push_back(static_cast<double>(g() % 4));
        goal.target.weights = goal.weights.data();
        Table twice = table;
        Goal repeated = goal;
        for (auto& c : twice.numeric) c.clear();
        for (auto& c : twice.categories) c.clear();
        repeated.values.clear();
        repeated.classes.clear();
        for (Size r = 0; r < table.n_rows; ++r)
            for (int k = 0; k < static_cast<int>(goal.weights[r]); ++k) {
                for (Size f = 0; f < table.numeric.size(); ++f)
                    twice.numeric[f].push_back(table.numeric[f][r]);
                for (Size f = 0; f < table.categories.size(); ++f)
                    twice.categories[f].push_back(table.categories[f][r]);
                repeated.values.push_back(goal.values[r]);
                repeated.classes.push_back(goal.classes[r]);
            }
        twice.n_rows = repeated.values.size();
        repeated.target.n_rows = twice.n_rows;
        repeated.target.values = goal.target.values ? repeated.values.data() : nullptr;
        repeated.target.classes = goal.target.classes ? repeated.classes.data() : nullptr;
        repeated.target.weights = nullptr;
        GrowOptions o;
        o.criterion = seed % 2 ? CriterionName::gini : CriterionName::squared_error;
        const FlatTree a = grow(table.codes(255, goal.weights.data()), goal, o, false);
        const FlatTree b = grow(twice.codes(255), repeated, o, false);
        CHECK(same(a.feature, b.feature));
        CHECK(same(a.threshold, b.threshold));
        CHECK(same(a.weight, b.weight));
    }
}

TEST(fractions_of_rows_add_up) {
    const Table table(5, 400, 2, 3, true);
    const Goal goal(table, 5, 3, 1, true);
    GrowOptions o;
    o.criterion = CriterionName::entropy;
    o.categorical_split = CategorySplit::multiway;
    o.missing = MissingRule::fractional;
    o.score = SplitScore::gain_ratio;
    o.use_categories_once = true;
    o.min_weight_leaf = 2;
    o.min_gain = 1e-12;
    const FlatTree tree = grow(table.codes(0), goal, o, true);
    CHECK(tree.kind.size() > 10);
    double all = 0;
    for (double w : goal.weights) all += w;
    for (Size i = 0; i < tree.kind.size(); ++i) {
        if (tree.n_children[i] == 0) continue;
        double sum = 0;
        for (int c = 0; c < tree.n_children[i]; ++c)
            sum += tree.weight[static_cast<Size>(tree.first_child[i] + c)];
        CHECK(std::abs(sum - tree.weight[i]) < 1e-9 * all);
    }
    CHECK(std::abs(tree.weight[0] - all) < 1e-9 * all);
}

int main() { return check::run(); }
