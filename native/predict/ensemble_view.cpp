#include "predict/ensemble_view.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace spinney {

namespace {

constexpr std::uint8_t as_number = 1, as_category = 2;

void require(bool sound, const char* what, Size node) {
    if (!sound) throw std::invalid_argument("tree node " + std::to_string(node) + ": " + what);
}

void check_pool(std::span<const std::int64_t> begin, Size pool, Size n, const char* what) {
    require(begin.size() == n + 1 && begin[0] == 0, what, 0);
    for (Size t = 0; t < n; ++t) require(begin[t] <= begin[t + 1], what, t);
    require(static_cast<Size>(begin[n]) == pool, what, n);
}

void check_lengths(const EnsembleView& trees) {
    const Size n = trees.kind.size();
    require(trees.tree_begin.size() >= 2, "an ensemble has at least one tree", 0);
    const bool lengths = trees.feature.size() == n && trees.threshold.size() == n &&
                         trees.narrow_missing.size() + trees.wide_missing.size() == n &&
                         trees.weight.size() == n && trees.value.size() == n * trees.n_values() &&
                         trees.branch_children.size() + 1 == trees.branch_begin.size() &&
                         trees.term_coefficient.size() == trees.term_feature.size() &&
                         trees.term_fill.size() == trees.term_feature.size();
    require(lengths && trees.n_values() > 0 && trees.n_features < 0x7fffffff, "arrays differ in length", 0);
    require(trees.tree_begin[0] == 0 && trees.tree_begin.back() == static_cast<std::int64_t>(n),
            "tree_begin out of range", 0);
    for (Size t = 0; t < trees.n_trees(); ++t) {
        const auto size = trees.tree_begin[t + 1] - trees.tree_begin[t];
        require(size > 0 && size < 0x7fffffff, "tree_begin out of range", t);
    }
    const auto count = [&](SplitKind kind) {
        return static_cast<Size>(std::count(trees.kind.begin(), trees.kind.end(), static_cast<int>(kind)));
    };
    check_pool(trees.set_begin, trees.set_bits.size(), count(SplitKind::category_set), "set_begin");
    check_pool(trees.branch_begin, trees.branch.size(), count(SplitKind::multiway), "branch_begin");
    check_pool(trees.term_begin, trees.term_feature.size(), count(SplitKind::linear), "term_begin");
}

}  // namespace

std::vector<Node> first_children(const EnsembleView& trees, Size tree, NodeCursor& cursor) {
    std::vector<Node> out(trees.size(tree));
    cursor.enter_tree();
    for (Node& child : out) {
        child = trees.split(cursor.node) == SplitKind::leaf ? -1 : cursor.first_child;
        cursor.advance(trees);
    }
    return out;
}

EnsembleTraits::EnsembleTraits(const EnsembleView& trees) {
    check_lengths(trees);
    std::vector<std::uint8_t> uses(trees.n_features, 0);
    NodeCursor cursor;
    for (Size t = 0; t < trees.n_trees(); ++t) add_tree(trees, t, cursor, uses);
    for (auto j : trees.term_feature) {
        require(j >= 0 && static_cast<Size>(j) < trees.n_features, "term feature out of range", 0);
        uses[static_cast<Size>(j)] |= as_number;
    }
    for (Size j = 0; j < uses.size(); ++j) {
        if (uses[j]) used_features.push_back(static_cast<std::uint32_t>(j));
        coded &= uses[j] != (as_number | as_category);
    }
}

void EnsembleTraits::add_tree(const EnsembleView& trees, Size tree, NodeCursor& cursor,
                              std::vector<std::uint8_t>& uses) {
    const auto n = static_cast<std::int64_t>(trees.size(tree));
    Size leaves = 0;
    cursor.enter_tree();
    for (std::int64_t i = 0; i < n; ++i, cursor.advance(trees)) {
        const Size node = cursor.node;
        require(trees.kind[node] <= static_cast<std::uint8_t>(SplitKind::linear), "unknown kind", node);
        const SplitKind kind = trees.split(node);
        if (kind == SplitKind::leaf) {
            ++leaves;
            continue;
        }
        const std::int64_t children = cursor.n_children(trees);
        require(cursor.first_child > i && children > 0 && cursor.first_child + children <= n,
                "children out of range", node);
        require(trees.missing(node) >= -1 && trees.missing(node) < children, "missing child out of range",
                node);
        const bool simple = kind == SplitKind::numeric || kind == SplitKind::category_set;
        coded &= simple && trees.missing(node) >= 0;
        if (kind == SplitKind::multiway) {
            const auto pool = cursor.n_multiway;
            for (auto b = trees.branch_begin[pool]; b < trees.branch_begin[pool + 1]; ++b) {
                const auto child = trees.branch[static_cast<Size>(b)];
                require(child >= -1 && child < children, "branch out of range", node);
            }
        }
        if (kind == SplitKind::linear) continue;
        const auto feature = trees.feature[node];
        require(feature >= 0 && static_cast<Size>(feature) < trees.n_features, "feature out of range", node);
        if (kind == SplitKind::numeric) {
            const double threshold = trees.threshold[node];
            require(threshold == threshold, "threshold is NaN", node);
            coded &= threshold - threshold == 0;  // infinite ones have no rank
        }
        uses[static_cast<Size>(feature)] |= kind == SplitKind::numeric ? as_number : as_category;
    }
    require(cursor.first_child == n, "a tree has other nodes than its children", cursor.node - 1);
    n_leaves += leaves;
    max_leaves = std::max(max_leaves, leaves);
    max_nodes = std::max(max_nodes, static_cast<Size>(n));
}

}  // namespace spinney
