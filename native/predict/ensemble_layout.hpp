// The trees of a fitted ensemble as prediction reads them: borrowed, checked once, and described as a whole.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"
#include "predict/tree_layout.hpp"

namespace spinney {

/// The arrays of TreeEnsemble, borrowed; model/ensemble.py tells what each means.
struct EnsembleView {
    std::span<const std::int64_t> tree_begin;
    std::span<const std::uint8_t> kind;
    std::span<const std::int32_t> feature;
    std::span<const double> threshold;
    std::span<const std::int8_t> narrow_missing;  // this one or the next is in use
    std::span<const std::int32_t> wide_missing;
    std::span<const double> value, weight;
    std::span<const std::int64_t> set_begin;
    std::span<const std::uint64_t> set_bits;
    std::span<const std::int64_t> branch_begin;
    std::span<const std::int32_t> branch_children, branch;
    std::span<const std::int64_t> term_begin;
    std::span<const std::int32_t> term_feature;
    std::span<const double> term_coefficient, term_fill;
    Size n_features = 0, n_outputs = 1, width = 1;

    Size n_trees() const { return tree_begin.size() - 1; }
    Size n_values() const { return n_outputs * width; }
    Size begin(Size tree) const { return static_cast<Size>(tree_begin[tree]); }
    Size size(Size tree) const { return begin(tree + 1) - begin(tree); }
    TestKind test(Size node) const { return static_cast<TestKind>(kind[node]); }
    std::int32_t missing(Size node) const {
        return narrow_missing.empty() ? wide_missing[node] : narrow_missing[node];
    }
};

/// Walks over the nodes of an ensemble in their order, and knows the children and pool entries of each.
struct NodeCursor {
    Size node = 0;                                  // among all
    Node first_child = 1;                           // within its tree, of the next test
    Size n_sets = 0, n_multiway = 0, n_linear = 0;  // before this node

    void enter_tree() { first_child = 1; }

    Node n_children(const EnsembleView& trees) const {
        const TestKind kind = trees.test(node);
        if (kind == TestKind::leaf) return 0;
        return kind == TestKind::multiway ? trees.branch_children[n_multiway] : 2;
    }

    void advance(const EnsembleView& trees) {
        first_child += n_children(trees);
        const TestKind kind = trees.test(node);
        n_sets += kind == TestKind::category_set;
        n_multiway += kind == TestKind::multiway;
        n_linear += kind == TestKind::linear;
        ++node;
    }
};

/// The first child of each node of the tree that begins where the cursor stands, −1 for a leaf; the cursor
/// goes on to the next tree.
inline std::vector<Node> first_children(const EnsembleView& trees, Size t, NodeCursor& cursor) {
    std::vector<Node> out(trees.size(t));
    cursor.enter_tree();
    for (Node& child : out) {
        child = trees.test(cursor.node) == TestKind::leaf ? -1 : cursor.first_child;
        cursor.advance(trees);
    }
    return out;
}

namespace detail {

inline void check_lengths(const EnsembleView& trees) {
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
    const auto count = [&](TestKind kind) {
        return static_cast<Size>(std::count(trees.kind.begin(), trees.kind.end(), static_cast<int>(kind)));
    };
    check_pool(trees.set_begin, trees.set_bits.size(), count(TestKind::category_set), "set_begin");
    check_pool(trees.branch_begin, trees.branch.size(), count(TestKind::multiway), "branch_begin");
    check_pool(trees.term_begin, trees.term_feature.size(), count(TestKind::linear), "term_begin");
}

}  // namespace detail

/// What the trees have in common, found by one look at every node.
struct EnsembleTraits {
    std::vector<std::uint32_t> used_features;  // rising
    Size n_leaves = 0, most_leaves = 0, most_nodes = 0;
    bool coded = true;  // every test is numeric or a category set, and sends a missing value one way

    /// Look at all nodes; throw std::invalid_argument unless a walk stays inside the arrays and ends. What is
    /// in the pools of multiway and linear tests is left to `check_tree`.
    explicit EnsembleTraits(const EnsembleView& trees) {
        detail::check_lengths(trees);
        std::vector<std::uint8_t> uses(trees.n_features, 0);
        NodeCursor cursor;
        for (Size t = 0; t < trees.n_trees(); ++t) add_tree(trees, t, cursor, uses);
        for (auto j : trees.term_feature) {
            detail::require(j >= 0 && static_cast<Size>(j) < trees.n_features, "term feature out of range",
                            0);
            uses[static_cast<Size>(j)] |= as_number;
        }
        for (Size j = 0; j < uses.size(); ++j) {
            if (uses[j]) used_features.push_back(static_cast<std::uint32_t>(j));
            coded &= uses[j] != (as_number | as_category);
        }
    }

  private:
    static constexpr std::uint8_t as_number = 1, as_category = 2;

    void add_tree(const EnsembleView& trees, Size t, NodeCursor& cursor, std::vector<std::uint8_t>& uses) {
        using detail::require;
        const auto n = static_cast<std::int64_t>(trees.size(t));
        Size leaves = 0;
        cursor.enter_tree();
        for (std::int64_t i = 0; i < n; ++i, cursor.advance(trees)) {
            const Size node = cursor.node;
            require(trees.kind[node] <= static_cast<std::uint8_t>(TestKind::linear), "unknown kind", node);
            const TestKind kind = trees.test(node);
            if (kind == TestKind::leaf) {
                ++leaves;
                continue;
            }
            const std::int64_t children = cursor.n_children(trees);
            require(cursor.first_child > i && children > 0 && cursor.first_child + children <= n,
                    "children out of range", node);
            require(trees.missing(node) >= -1 && trees.missing(node) < children, "missing child out of range",
                    node);
            const bool simple = kind == TestKind::numeric || kind == TestKind::category_set;
            coded &= simple && trees.missing(node) >= 0;
            if (kind == TestKind::linear) continue;
            const auto feature = trees.feature[node];
            require(feature >= 0 && static_cast<Size>(feature) < trees.n_features, "feature out of range",
                    node);
            require(kind != TestKind::numeric || trees.threshold[node] - trees.threshold[node] == 0,
                    "threshold is not finite", node);
            uses[static_cast<Size>(feature)] |= kind == TestKind::numeric ? as_number : as_category;
        }
        require(cursor.first_child == n, "a tree has other nodes than its children", cursor.node - 1);
        n_leaves += leaves;
        most_leaves = std::max(most_leaves, leaves);
        most_nodes = std::max(most_nodes, static_cast<Size>(n));
    }
};

/// One tree of an ensemble in the form that `TreeLayout` takes, which has an entry for each node in every
/// array.
class WideTree {
  public:
    /// The tree that begins where the cursor stands; the cursor goes on to the next.
    WideTree(const EnsembleView& trees, Size t, NodeCursor& cursor) : trees_(trees) {
        begin_ = cursor.node;
        n_ = trees.size(t);
        cursor.enter_tree();
        first_set_ = trees.set_begin[cursor.n_sets];
        first_branch_ = trees.branch_begin[cursor.n_multiway];
        first_term_ = trees.term_begin[cursor.n_linear];
        for (Size i = 0; i < n_; ++i) {
            first_child_.push_back(cursor.first_child);
            n_children_.push_back(cursor.n_children(trees));
            missing_.push_back(trees.missing(cursor.node));
            cursor.advance(trees);
            set_begin_.push_back(trees.set_begin[cursor.n_sets] - first_set_);
            branch_begin_.push_back(trees.branch_begin[cursor.n_multiway] - first_branch_);
            term_begin_.push_back(trees.term_begin[cursor.n_linear] - first_term_);
        }
    }

    TreeView view() const {
        const auto pool = [](auto entries, std::int64_t first, const std::vector<std::int64_t>& begin) {
            return entries.subspan(static_cast<Size>(first), static_cast<Size>(begin.back()));
        };
        return {trees_.kind.subspan(begin_, n_),
                trees_.feature.subspan(begin_, n_),
                trees_.threshold.subspan(begin_, n_),
                first_child_,
                n_children_,
                missing_,
                trees_.weight.subspan(begin_, n_),
                set_begin_,
                pool(trees_.set_bits, first_set_, set_begin_),
                branch_begin_,
                pool(trees_.branch, first_branch_, branch_begin_),
                term_begin_,
                pool(trees_.term_feature, first_term_, term_begin_),
                pool(trees_.term_coefficient, first_term_, term_begin_),
                pool(trees_.term_fill, first_term_, term_begin_),
                trees_.n_features};
    }

    std::span<const double> value() const {
        return trees_.value.subspan(begin_ * trees_.n_values(), n_ * trees_.n_values());
    }

  private:
    const EnsembleView& trees_;
    Size begin_, n_;
    std::int64_t first_set_, first_branch_, first_term_;
    std::vector<std::int32_t> first_child_, n_children_, missing_;
    std::vector<std::int64_t> set_begin_{0}, branch_begin_{0}, term_begin_{0};
};

}  // namespace spinney
