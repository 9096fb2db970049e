// Small subtrees on sets of rows: the sets against loops, and whole trees against the exact grower.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "grow/grow_tree.hpp"
#include "simd/row_sets.hpp"
#include "tests/check.hpp"
#include "tests/tables.hpp"

using namespace spinney;
using tables::Goal;
using tables::Table;

namespace {

FlatTree grow(const CodeMatrix& x, const Target& target, const GrowOptions& options, bool exact) {
    Interrupt none;
    return TreeGrower(x).grow(target, options, exact, none);
}

template <class T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

bool same_tree(const FlatTree& a, const FlatTree& b) {
    return same(a.kind, b.kind) && same(a.feature, b.feature) && same(a.first_child, b.first_child) &&
           same(a.missing, b.missing) && same(a.threshold, b.threshold) && same(a.weight, b.weight) &&
           same(a.impurity, b.impurity) && same(a.value, b.value) && same(a.n_samples, b.n_samples);
}

/// Weights of a bootstrap sample; of unit: ones, as without bootstrap.
std::vector<double> draw_weights(std::mt19937_64& g, Size n, bool unit) {
    std::vector<double> out(n, unit ? 1.0 : 0.0);
    if (!unit)
        for (Size i = 0; i < n; ++i) out[g() % n] += 1.0;
    return out;
}

/// Plans of forests, with every limit that small subtrees know.
GrowOptions forest_plan(std::uint64_t seed, Size n_features) {
    GrowOptions o;
    o.splitter = seed % 2 ? Splitter::random : Splitter::best;
    o.max_features = static_cast<int>(1 + seed % 3);
    if (seed % 5 == 4) o.max_features = static_cast<int>(n_features);
    if (seed % 6 == 5) o.min_samples_leaf = 3;
    if (seed % 7 == 6) o.max_depth = 5;
    if (seed % 8 == 7) o.min_samples_split = 9;
    if (seed % 9 == 8) o.min_weight_leaf = 4.0;
    if (seed % 10 == 9) o.min_impurity_decrease = 1e-3;
    if (seed % 11 == 10) {
        o.cost_rule = CostRule::tan_linear;
        for (Size f = 0; f < n_features; ++f) o.feature_costs.push_back(1.0 + static_cast<double>(f % 3));
    }
    o.seed = o.tie_seed = seed;
    return o;
}

}  // namespace

TEST(sets_of_rows_are_those_of_loops) {
    std::mt19937_64 g(1);
    alignas(64) std::array<std::uint8_t, kSetRows> codes;
    for (int round = 0; round < check::rounds(300); ++round) {
        const std::uint64_t range = round % 3 == 0 ? 256 : 1 + g() % 7;
        for (auto& code : codes) code = static_cast<std::uint8_t>(255 - g() % range);
        const RowSet rows = (round % 2 ? g() : g() & g() & g()) | RowSet{1} << g() % kSetRows;
        const std::uint8_t last = codes[g() % kSetRows];
        RowSet below = 0, equal = 0;
        std::uint8_t smallest = 255, largest = 0;
        for (Size i = 0; i < kSetRows; ++i) {
            below |= RowSet{codes[i] <= last} << i;
            equal |= RowSet{codes[i] == last} << i;
            if (!(rows >> i & 1)) continue;
            smallest = std::min(smallest, codes[i]);
            largest = std::max(largest, codes[i]);
        }
        CHECK_EQUAL(at_most(codes.data(), last), below);
        CHECK_EQUAL(equal_to(codes.data(), last), equal);
        CHECK_EQUAL(smallest_code(codes.data(), rows), smallest);
        CHECK_EQUAL(largest_code(codes.data(), rows), largest);
    }
}

TEST(sums_over_sets_are_those_of_loops) {
    std::mt19937_64 g(2);
    alignas(64) std::array<std::int64_t, kSetRows> values;
    for (int round = 0; round < check::rounds(300); ++round) {
        const Size n = 1 + g() % kSetRows;
        const RowSet rows = g() & (~RowSet{0} >> (kSetRows - n));
        std::int64_t sum = 0;
        for (Size i = 0; i < kSetRows; ++i) {
            values[i] = static_cast<std::int64_t>(g() >> 8) - (std::int64_t{1} << 55);
            if (rows >> i & 1) sum += values[i];
        }
        CHECK_EQUAL(sum_over(values.data(), rows, (n + 7) / 8), sum);
    }
}

TEST(small_subtrees_are_those_of_the_exact_grower) {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(check::rounds(240)); ++seed) {
        std::mt19937_64 g(seed);
        // Some trees have a root that is small, some nodes of exactly as many rows as fit.
        const Size sizes[] = {2, 5, 31, 33, 63, 64, 65, 128, 400, 900};
        const Size n = sizes[seed % 10], n_features = 2 + g() % 40;
        const Table table(seed, n, n_features, 0, seed % 3 == 0);
        const int n_classes = static_cast<int>(seed % 4 == 3 ? 2 : 2 + g() % 30);
        Goal goal(table, seed + 1, n_classes, 1, false);
        const std::vector<double> weights = draw_weights(g, n, seed / 2 % 2 == 0);
        goal.target.weights = weights.data();
        const CodeMatrix x = table.codes(seed % 12 == 5 ? 3 : 255);
        const GrowOptions o = forest_plan(g() % 1000, n_features);
        CHECK(same_tree(grow(x, goal.target, o, true), grow(x, goal.target, o, false)));
    }
}

TEST(small_subtrees_of_numbers_are_those_of_the_exact_grower) {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(check::rounds(240)); ++seed) {
        std::mt19937_64 g(seed);
        const Size sizes[] = {2, 5, 31, 33, 63, 64, 65, 128, 400, 900};
        const Size n = sizes[seed % 10], n_features = 2 + g() % 40;
        const Table table(seed, n, n_features, 0, seed % 3 == 0);
        Goal goal(table, seed + 1, 0, 1, false);
        if (seed % 4 == 1)  // rows of the same value, of both signs
            for (double& y : goal.values) y = std::round(y) - 2;
        const std::vector<double> weights = draw_weights(g, n, seed / 2 % 2 == 0);
        goal.target.weights = weights.data();
        const CodeMatrix x = table.codes(seed % 12 == 5 ? 3 : 255);
        GrowOptions o = forest_plan(2 * (g() % 500) + 1, n_features);
        o.criterion = CriterionName::squared_error;
        CHECK(same_tree(grow(x, goal.target, o, true), grow(x, goal.target, o, false)));
    }
}
int main() { return check::run(); }
