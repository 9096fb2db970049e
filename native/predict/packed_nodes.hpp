// Deep trees and single rows: traversal of nodes of eight bytes over threshold ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predict/threshold_ranks.hpp"

namespace spinney {

/// A split in eight bytes, from the highest bit: rank (26), plane (13), whether it is a category set (1),
/// child 0 (24, within the tree; child 1 follows it).
///
/// A number goes to child 1 if its code in the plane is above the rank. A leaf has the maximum rank and is
/// its own child. The rank of a category set is the index of its first 64-bit word.
struct PackedNode {
    static constexpr int child_bits = 24, plane_bits = 13, rank_bits = 26;
    static constexpr std::uint32_t max_rank = (1u << rank_bits) - 1;

    std::uint64_t bits;

    static PackedNode split(std::uint32_t rank, std::uint32_t plane, bool is_set, Node child) {
        return {std::uint64_t{rank} << 38 | std::uint64_t{plane} << 25 | std::uint64_t{is_set} << 24 |
                static_cast<std::uint64_t>(child)};
    }
    static PackedNode leaf(Node self) { return split(max_rank, 0, false, self); }

    Node child() const { return static_cast<Node>(bits & 0xffffff); }
    std::uint32_t plane() const { return static_cast<std::uint32_t>(bits >> 25) & 0x1fff; }
    std::uint32_t rank() const { return static_cast<std::uint32_t>(bits >> 38); }
    std::uint32_t is_set() const { return static_cast<std::uint32_t>(bits >> 24) & 1; }

    /// The next node; a leaf stays.  row: one code per plane; sets: the words of all category sets
    template <bool Sets>
    Node next(const std::uint32_t* row, [[maybe_unused]] const std::uint64_t* sets) const {
        const std::uint32_t code = row[plane()];
        if constexpr (!Sets) return child() + static_cast<Node>(code > rank());
        // Without branches: the kind of the next split is unpredictable.
        const std::uint32_t word = (rank() + code / 64) & (0u - is_set());
        const std::uint32_t outside = ~static_cast<std::uint32_t>(sets[word] >> code % 64) & 1;
        return child() + static_cast<Node>(is_set() ? outside : code > rank());
    }
};

/// All trees of an ensemble as packed nodes.
class PackedTrees {
  public:
    /// Whether every number fits into its bits.
    static bool suits(const EnsembleView& trees, const EnsembleTraits& traits, const EnsembleCodes& codes);

    PackedTrees(const EnsembleView& trees, const EnsembleCodes& codes);

    Size n_planes() const { return n_planes_; }

    /// Code rows, one after the other.  rows (n, n_planes)
    void code_rows(std::uint32_t* rows, const EnsembleCodes& codes, std::span<const InputColumn> columns,
                   Size begin, Size n) const;

    /// Find the leaf of each row in one tree.  leaves (n,); rows (n, n_planes)
    void walk_rows(Node* leaves, Size tree, const std::uint32_t* rows, Size n) const;

    /// Find the leaf of one row in each of n trees.  leaves (n,); row (n_planes,)
    void walk_trees(Node* leaves, Size first_tree, Size n, const std::uint32_t* row) const;

  private:
    struct Planes {
        std::uint32_t high = 0,
                      low = 0;  // missing as the highest or lowest code; a categorical feature has `high`
    };

    void lay_out_planes(const EnsembleCodes& codes);
    /// child: where child 0 is
    PackedNode make_split(const EnsembleView& trees, const EnsembleCodes& codes, const NodeCursor& at,
                          Node child);
    void add_set(const EnsembleView& trees, const NodeCursor& at, const FeatureCodes& f);
    void write_planes(std::uint32_t* rows, const Planes& p, const FeatureCodes& f, const std::uint32_t* code,
                      Size n) const;
    template <class MakeLane>
    void walk(Node* leaves, Size n, MakeLane&& make_lane) const;
    template <bool Sets, class MakeLane>
    void walk_with(Node* leaves, Size n, MakeLane&& make_lane) const;

    std::span<const std::int64_t> tree_begin_;
    std::vector<PackedNode> nodes_;
    std::vector<Node> node_at_;  // the node of the tree at each place of nodes_
    std::vector<std::uint64_t> sets_;
    std::vector<Planes> planes_;  // as the features of the codes
    Size n_planes_ = 0;
    bool has_sets_ = false;
};

}  // namespace spinney
