// The trees of a fitted ensemble as prediction reads them: borrowed and checked once. A tree is an ensemble
// of one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/split_kind.hpp"
#include "core/types.hpp"

namespace spinney {

/// The arrays of TreeEnsemble, borrowed; tree/ensemble.py describes each.
struct EnsembleView {
    std::span<const std::int64_t> tree_begin;
    std::span<const std::uint8_t> kind;
    std::span<const std::int32_t> feature;
    std::span<const double> threshold;
    std::span<const std::int8_t> narrow_missing;  // one of these two is in use
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
    SplitKind split(Size node) const { return static_cast<SplitKind>(kind[node]); }
    std::int32_t missing(Size node) const {
        return narrow_missing.empty() ? wide_missing[node] : narrow_missing[node];
    }
};

/// Iterates over the nodes of an ensemble in their order, and knows the children and pool entries of each.
struct NodeCursor {
    Size node = 0;                                  // among all
    Node first_child = 1;                           // within its tree, of the next inner node
    Size n_sets = 0, n_multiway = 0, n_linear = 0;  // before this node

    void enter_tree() { first_child = 1; }

    Node n_children(const EnsembleView& trees) const {
        const SplitKind kind = trees.split(node);
        if (kind == SplitKind::leaf) return 0;
        return kind == SplitKind::multiway ? trees.branch_children[n_multiway] : 2;
    }

    void advance(const EnsembleView& trees) {
        first_child += n_children(trees);
        const SplitKind kind = trees.split(node);
        n_sets += kind == SplitKind::category_set;
        n_multiway += kind == SplitKind::multiway;
        n_linear += kind == SplitKind::linear;
        ++node;
    }
};

/// The first child of each node of the tree at the cursor, −1 for a leaf. Advances the cursor to the next
/// tree.
std::vector<Node> first_children(const EnsembleView& trees, Size tree, NodeCursor& cursor);

/// Properties of all trees together, from one pass over the nodes.
struct EnsembleTraits {
    std::vector<std::uint32_t> used_features;  // ascending
    Size n_leaves = 0, max_leaves = 0, max_nodes = 0;
    bool coded = true;  // every split is numeric and finite, or a category set, and has a missing direction

    /// Throw std::invalid_argument unless every traversal stays inside the arrays and ends.
    explicit EnsembleTraits(const EnsembleView& trees);

  private:
    void add_tree(const EnsembleView& trees, Size tree, NodeCursor& cursor, std::vector<std::uint8_t>& uses);
};

}  // namespace spinney
