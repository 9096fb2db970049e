#include "explain/interventional_shap.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace spinney {

namespace {

/// a! b! / (a + b + 1)!
double shapley_weight(int a, int b) {
    double weight = 1.0 / (a + b + 1);
    for (int i = 1; i <= b; ++i) weight *= static_cast<double>(i) / (a + i);
    return weight;
}

}  // namespace

void InterventionalTree::prepare(const ExplainedTree& tree, const ColumnBlock& background,
                                 const std::vector<Quadrature>& rules) {
    tree_ = &tree;
    background_ = &background;
    rules_ = &rules;
    find_leaves();
    tabulated_ = can_tabulate();
    if (tabulated_) tabulate();
    find_mean();
}

/// Collect the features on the path of each leaf, by slot.
void InterventionalTree::find_leaves() {
    leaves_.assign(tree_->n_leaves, {0, 0, 0});
    features_.clear();
    Size table = 0;
    const auto add = [&](std::int32_t child, Size parent) {
        if (child >= 0) return;
        const Size d = tree_->splits[parent].n_slots;
        leaves_[static_cast<Size>(-1 - child)] = {features_.size(), d, table};
        if (d <= max_table_features) table += d << d;
        features_.resize(features_.size() + d);
        for (auto i = static_cast<std::int32_t>(parent); i >= 0;
             i = tree_->splits[static_cast<Size>(i)].parent)
            features_[features_.size() - d + tree_->splits[static_cast<Size>(i)].slot] =
                tree_->splits[static_cast<Size>(i)].feature;
    };
    for (Size i = 0; i < tree_->splits.size(); ++i) {
        add(tree_->splits[i].left, i);
        add(tree_->splits[i].right, i);
    }
    tables_.assign(table <= max_table_numbers ? table : 0, 0.0);
}

bool InterventionalTree::can_tabulate() const {
    const auto fractional = [](const ExplainedSplit& split) { return split.fractional; };
    return tree_->max_features <= max_table_features && (tables_.size() > 0 || tree_->splits.empty()) &&
           std::none_of(tree_->splits.begin(), tree_->splits.end(), fractional);
}

/// Find the features of the path that a row passes, for every leaf.
void InterventionalTree::find_passed(Scratch& scratch, const ColumnBlock& rows, Size row) const {
    scratch.passed.resize(tree_->n_leaves);
    scratch.masks.assign(tree_->splits.size() + 1, ~0u);
    for (Size i = 0; i < tree_->splits.size(); ++i) {
        const ExplainedSplit& split = tree_->splits[i];
        const bool left = tree_->goes_left(split, rows.at(split.column, row));
        const std::uint32_t passed = scratch.masks[i], failed = passed & ~(1u << split.slot);
        const auto send = [&](std::int32_t child, std::uint32_t mask) {
            const std::uint32_t own = (1u << split.n_slots) - 1;
            if (child < 0)
                scratch.passed[static_cast<Size>(-1 - child)] = mask & own;
            else
                scratch.masks[static_cast<Size>(child)] = mask;
        };
        send(split.left, left ? passed : failed);
        send(split.right, left ? failed : passed);
    }
}

void InterventionalTree::tabulate() {
    const Size n_rows = background_->n, n_leaves = tree_->n_leaves;
    if (tree_->splits.empty()) return;
    std::vector<std::uint32_t> passed(n_leaves * n_rows);
    Scratch scratch;
    for (Size row = 0; row < n_rows; ++row) {
        find_passed(scratch, *background_, row);
        for (Size leaf = 0; leaf < n_leaves; ++leaf) passed[leaf * n_rows + row] = scratch.passed[leaf];
    }
    for (Size leaf = 0; leaf < n_leaves; ++leaf) {
        const auto begin = passed.begin() + static_cast<std::ptrdiff_t>(leaf * n_rows);
        const auto end = begin + static_cast<std::ptrdiff_t>(n_rows);
        std::sort(begin, end);
        for (auto at = begin; at != end;) {
            const auto next = std::upper_bound(at, end, *at);
            tabulate_leaf(leaves_[leaf], *at, static_cast<double>(next - at) / static_cast<double>(n_rows));
            at = next;
        }
    }
}

/// Add the background rows that pass a set of features to the table of a leaf. Rows x that pass all others
/// get contributions: table entry (x, i) for each set x and feature i.
void InterventionalTree::tabulate_leaf(const Leaf& leaf, std::uint32_t passed, double count) {
    const auto d = static_cast<int>(leaf.n_features);
    const std::uint32_t every = (1u << d) - 1, other = every & ~passed;
    const int n = std::popcount(other);
    for (std::uint32_t common = passed;; common = (common - 1) & passed) {
        const std::uint32_t x = other | common, alone = passed & ~common;
        const int m = std::popcount(alone);
        double* to = &tables_[leaf.table + static_cast<Size>(x) * leaf.n_features];
        const double gain = n > 0 ? count * shapley_weight(n - 1, m) : 0;
        const double loss = m > 0 ? count * shapley_weight(n, m - 1) : 0;
        for (int i = 0; i < d; ++i) {
            if (other >> i & 1) to[i] += gain;
            if (alone >> i & 1) to[i] -= loss;
        }
        if (common == 0) break;
    }
}

double InterventionalTree::left_share(const ExplainedSplit& split, const ColumnBlock& rows, Size row) const {
    const double x = rows.at(split.column, row);
    const bool missing = x != x || (split.kind != TestKind::numeric && x < 0);
    if (split.fractional && missing) return split.share;
    return tree_->goes_left(split, x) ? 1 : 0;
}

void InterventionalTree::find_mean() {
    const Size n_values = tree_->n_values, n_rows = background_->n;
    mean_.assign(n_values, 0.0);
    if (tree_->splits.empty()) {
        mean_ = tree_->base;
        return;
    }
    std::vector<double> reach(tree_->splits.size());
    for (Size row = 0; row < n_rows; ++row) {
        std::fill(reach.begin(), reach.end(), 0.0);
        reach[0] = 1;
        for (Size i = 0; i < tree_->splits.size(); ++i) {
            if (reach[i] == 0) continue;
            const ExplainedSplit& split = tree_->splits[i];
            const double share = left_share(split, *background_, row);
            const auto send = [&](std::int32_t child, double amount) {
                if (child >= 0) {
                    reach[static_cast<Size>(child)] = amount;
                    return;
                }
                const double* value = &tree_->leaf_values[static_cast<Size>(-1 - child) * n_values];
                for (Size k = 0; amount > 0 && k < n_values; ++k) mean_[k] += amount * value[k];
            };
            send(split.left, reach[i] * share);
            send(split.right, reach[i] * (1 - share));
        }
    }
    for (double& value : mean_) value /= static_cast<double>(n_rows);
}

void InterventionalTree::add(double* sums, Size stride, Size first, const ColumnBlock& rows, Size row,
                             Scratch& scratch) const {
    if (tree_->splits.empty()) return;
    const Size n_values = tree_->n_values;
    if (!tabulated_) {
        scratch.sums.assign(scratch.sums.size(), 0.0);
        for (Size other = 0; other < background_->n; ++other) add_pair(rows, row, other, scratch);
        for (const std::uint32_t feature : scratch.features) {
            for (Size k = 0; k < n_values; ++k) {
                double& sum = scratch.sums[feature * n_values + k];
                sums[feature * stride + first + k] += sum / static_cast<double>(background_->n);
                sum = 0;
            }
        }
        scratch.features.clear();
        return;
    }
    find_passed(scratch, rows, row);
    for (Size i = 0; i < leaves_.size(); ++i) {
        const Leaf& leaf = leaves_[i];
        const double* shares = &tables_[leaf.table + static_cast<Size>(scratch.passed[i]) * leaf.n_features];
        const double* value = &tree_->leaf_values[i * n_values];
        for (Size s = 0; s < leaf.n_features; ++s) {
            double* to = sums + features_[leaf.features + s] * stride + first;
            for (Size k = 0; k < n_values; ++k) to[k] += shares[s] * value[k];
        }
    }
}

// ---- one background row at a time ----

void InterventionalTree::add_pair(const ColumnBlock& rows, Size row, Size other, Scratch& scratch) const {
    scratch.row_share.assign(tree_->max_features, 1.0);
    scratch.other_share.assign(tree_->max_features, 1.0);
    visit(0, 0, rows, row, other, scratch);
}

/// Visit the leaves that every feature of the path lets pass, by the row or by the background row.
void InterventionalTree::visit(std::int32_t node, Size n_slots, const ColumnBlock& rows, Size row, Size other,
                               Scratch& scratch) const {
    if (node < 0) return add_pair_leaf(static_cast<Size>(-1 - node), scratch);
    const ExplainedSplit& split = tree_->splits[static_cast<Size>(node)];
    double &mine = scratch.row_share[split.slot], &its = scratch.other_share[split.slot];
    // A feature that is new on the path has no tests above.
    const bool is_new = split.slot >= n_slots;
    const double mine_above = is_new ? 1 : mine, its_above = is_new ? 1 : its;
    const double left_mine = left_share(split, rows, row), left_its = left_share(split, *background_, other);
    for (const bool left : {true, false}) {
        const double new_mine = mine_above * (left ? left_mine : 1 - left_mine);
        const double new_its = its_above * (left ? left_its : 1 - left_its);
        if (new_mine == 0 && new_its == 0) continue;
        scratch.row_share[split.slot] = new_mine;
        scratch.other_share[split.slot] = new_its;
        visit(left ? split.left : split.right, split.n_slots, rows, row, other, scratch);
    }
    scratch.row_share[split.slot] = mine_above;
    scratch.other_share[split.slot] = its_above;
}

void InterventionalTree::add_pair_leaf(Size index, Scratch& scratch) const {
    const Leaf& leaf = leaves_[index];
    const Size n_values = tree_->n_values;
    const double* value = &tree_->leaf_values[index * n_values];
    const Quadrature& rule = (*rules_)[std::max<Size>((leaf.n_features + 1) / 2, 1)];
    for (Size s = 0; s < leaf.n_features; ++s) {
        const double difference = scratch.row_share[s] - scratch.other_share[s];
        if (difference == 0) continue;
        double integral = 0;
        for (Size p = 0; p < rule.points.size(); ++p) {
            double product = rule.weights[p];
            for (Size j = 0; j < leaf.n_features; ++j)
                if (j != s)
                    product *= scratch.other_share[j] +
                               rule.points[p] * (scratch.row_share[j] - scratch.other_share[j]);
            integral += product;
        }
        const std::uint32_t feature = features_[leaf.features + s];
        const Size at = feature * n_values;
        if (scratch.sums.size() < at + n_values) scratch.sums.resize(at + n_values, 0.0);
        if (std::find(scratch.features.begin(), scratch.features.end(), feature) == scratch.features.end())
            scratch.features.push_back(feature);
        for (Size k = 0; k < n_values; ++k) scratch.sums[at + k] += difference * integral * value[k];
    }
}

}  // namespace spinney
