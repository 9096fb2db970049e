// Tests the quadrature, and that SHAP values are additive and have the same bits beside any other rows.
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "explain/tree_explainer.hpp"
#include "tests/check.hpp"

using namespace spinney;

TEST(quadrature_is_exact) {
    for (Size n = 1; n <= 40; ++n) {
        const Quadrature rule = gauss_legendre(n);
        for (Size degree = 0; degree < 2 * n; ++degree) {
            double sum = 0;
            for (Size i = 0; i < n; ++i)
                sum += rule.weights[i] * std::pow(rule.points[i], static_cast<double>(degree));
            CHECK(std::abs(sum - 1.0 / static_cast<double>(degree + 1)) < 1e-14);
        }
    }
}

/// A complete tree of numeric splits.
struct CompleteTree {
    std::vector<std::uint8_t> kind;
    std::vector<std::int32_t> feature, missing;
    std::vector<double> threshold, weight, value;
    std::vector<std::int64_t> tree_begin, none{0};

    CompleteTree(int depth, std::int32_t n_features, unsigned seed) {
        std::mt19937 random(seed);
        const int n = (2 << depth) - 1;
        weight.assign(static_cast<Size>(n), 0);
        for (int i = n; i-- > 0;) {
            const bool leaf = 2 * i + 2 >= n;
            const auto at = static_cast<Size>(i);
            weight[at] =
                leaf ? 1 + static_cast<double>(random() % 9) : weight[2 * at + 1] + weight[2 * at + 2];
        }
        for (int i = 0; i < n; ++i) {
            const bool leaf = 2 * i + 2 >= n;
            kind.push_back(leaf ? 0 : 1);
            feature.push_back(leaf ? -1
                                   : static_cast<std::int32_t>(random() % static_cast<unsigned>(n_features)));
            missing.push_back(leaf ? -1 : static_cast<std::int32_t>(random() % 2));
            threshold.push_back(static_cast<double>(random() % 100));
            value.push_back(static_cast<double>(random() % 1000) / 7);
        }
        tree_begin = {0, n};
    }
    EnsembleView view(Size n_features) const {
        return {tree_begin, kind, feature, threshold, {}, missing, value, weight,     none, {},
                none,       {},   {},      none,      {}, {},      {},    n_features, 1,    1};
    }
};

TEST(values_are_additive_and_independent_of_other_rows) {
    constexpr Size n_features = 12, n_rows = 29;
    const CompleteTree tree(7, n_features, 5);
    std::vector<std::uint32_t> owner(n_features);
    for (Size j = 0; j < n_features; ++j) owner[j] = static_cast<std::uint32_t>(j);
    const TreeExplainer explainer(tree.view(n_features), 0, owner, n_features);
    std::mt19937 random(1);
    std::vector<double> x(n_features * n_rows);
    for (double& value : x) value = static_cast<double>(random() % 100);
    std::vector<InputColumn> columns;
    for (Size j = 0; j < n_features; ++j)
        columns.push_back({InputColumn::Type::f64, &x[j * n_rows], sizeof(double), 0});
    std::vector<double> all(n_rows * n_features), some(n_features);
    explainer.values(all.data(), {columns, n_rows, false}, 2, nullptr);
    for (Size row = 0; row < n_rows; ++row) {
        Size at = 0;
        while (tree.kind[at])
            at = 2 * at + 1 + !(x[static_cast<Size>(tree.feature[at]) * n_rows + row] <= tree.threshold[at]);
        double sum = explainer.base()[0];
        for (Size j = 0; j < n_features; ++j) sum += all[row * n_features + j];
        CHECK(std::abs(sum - tree.value[at]) < 1e-11);
        std::vector<InputColumn> one = columns;
        for (Size j = 0; j < n_features; ++j) one[j].data = &x[j * n_rows + row];
        explainer.values(some.data(), {one, 1, false}, 1, nullptr);
        CHECK(std::memcmp(some.data(), &all[row * n_features], n_features * sizeof(double)) == 0);
    }
    std::uint64_t hash = 1469598103934665603ull;
    for (const double v : all) {
        std::uint64_t bits;
        std::memcpy(&bits, &v, sizeof bits);
        hash = (hash ^ bits) * 1099511628211ull;
    }
    CHECK_EQUAL(hash, 17294214921961227724ull);  // the same at every vector level
}

CHECK_MAIN
