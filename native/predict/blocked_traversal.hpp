// Deep trees and many rows: a tree in blocks of levels, as in FAST (Kim et al. 2010).
//
// The top of a tree is evaluated for many rows at once; below it, a row takes four levels in one step, whose
// splits are in one cache line.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "predict/blocked_rows.hpp"

namespace spinney {

// In both layouts splits are in breadth-first order; where the tree has a leaf above the lowest level, all
// splits below it lead to child 0.

/// The first six levels of a tree.
struct TopTree {
    static constexpr Size n_levels = 6, n_exits = Size{1} << n_levels, n_splits = n_exits - 1;

    std::uint16_t feature[n_splits] = {};
    std::int16_t rank[n_splits];  // greater codes go right
    std::uint64_t missing_right = 0;
    std::int32_t exit[n_exits] = {};  // a subtree, or a leaf with the sign bit set

    TopTree() { std::fill_n(rank, n_splits, std::numeric_limits<std::int16_t>::max()); }
};

/// A node and its descendants, four levels of splits.
struct alignas(64) SubtreeNode {
    static constexpr Size n_exits = 16, n_splits = n_exits - 1;

    std::uint8_t feature[n_exits] = {};
    std::int8_t rank[n_exits];        // greater codes go right
    std::uint8_t exit[n_exits] = {};  // high bit: which of `first` the other bits are added to
    // The first of the subtrees that this one leads to; the first of its leaves, with the sign bit set.
    std::uint32_t first[2] = {};
    std::uint16_t missing_right = 0;  // the splits that send missing values right
    std::uint16_t inexact = 0;        // the splits that need exact codes where coarse ones are equal

    SubtreeNode() { std::fill_n(rank, n_exits, std::numeric_limits<std::int8_t>::max()); }
};

/// All trees of an ensemble as subtrees, one after the other, and their leaves likewise.
class BlockedTrees {
  public:
    static bool suits(const EnsembleView& trees, const EnsembleCodes& codes);

    BlockedTrees(const EnsembleView& trees, const EnsembleCodes& codes);

    /// The codes of one byte.  (n_features,)
    const std::vector<CoarseRanks>& coarse() const { return coarse_; }
    const double* value(std::int32_t leaf) const { return &values_[static_cast<Size>(leaf) * n_values_]; }
    Node node_of(std::int32_t leaf) const { return node_of_leaf_[static_cast<Size>(leaf)]; }

    /// A row that has not reached a leaf, and the subtree it is at.
    struct Pending {
        std::uint32_t row;
        std::int32_t at;
    };
    static constexpr Size ahead = 32;  // rows between the prefetch of a subtree and its use

    /// Find the leaf of each row in one tree, among all leaves.  leaves (n,); scratch (n + ahead,)
    void walk_rows(std::int32_t* leaves, Pending* scratch, Size tree, const BlockedRows& rows, Size n) const;

  private:
    template <int Parts, bool Missing>
    void walk(std::int32_t* leaves, Pending* list, Size tree, const BlockedRows& rows, Size n) const;
    unsigned compare_exact(unsigned results, Pending here, const BlockedRows& rows) const;
    std::vector<std::uint16_t> rank_thresholds(const EnsembleView& trees, const EnsembleCodes& codes);
    void add_tree(const EnsembleView& trees, const EnsembleCodes& codes,
                  const std::vector<std::uint16_t>& rank, Size begin, const std::vector<Node>& first_child);

    Size n_values_, row_bytes_;
    std::vector<CoarseRanks> coarse_;
    std::vector<TopTree> tops_;  // (n_trees,)
    std::vector<SubtreeNode> nodes_;
    std::vector<std::array<std::int16_t, 16>> exact_;  // exact ranks of the splits of each subtree
    std::vector<Node> node_of_leaf_;                   // (n_leaves,), within its tree
    std::vector<double> values_;                       // (n_leaves, n_values)
};

}  // namespace spinney
