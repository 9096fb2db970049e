// Bit-vector traversal of small trees over blocks of rows.
//
// Every split of a tree is evaluated, without branches. The bits of a vector are rows, 64 or more per
// instruction: those that go right at the split. The rows of a child are those of its parent and this vector,
// or its complement, level by level. (QuickScorer is another algorithm: its bits are leaves.)
#pragma once

#include <cstdint>
#include <vector>

#include "predict/code_planes.hpp"
#include "predict/split_masks.hpp"

namespace spinney {

/// Trees of at most 256 leaves each, laid out for blocks of 256 rows.
///
/// Leaves are numbered from left to right: going right at a split adds the leaves on its left to the number.
class BitvectorTrees {
  public:
    static constexpr Size block = CodePlanes::block, max_leaves = 256;

    /// Whether this layout is worth it for these trees.
    static bool suits(const EnsembleView& trees, const EnsembleTraits& traits, const EnsembleCodes& codes);

    BitvectorTrees(const EnsembleView& trees, const EnsembleCodes& codes);

    /// A block of rows as these trees read them.
    struct Block {
        std::vector<std::uint8_t> planes, masks;
    };

    void read(Block& out, const EnsembleCodes& codes, std::span<const InputColumn> columns, Size begin,
              Size n) const;

    /// Find the leaves of n rows, numbered from left to right.  ids (block,)
    void find_leaves(std::uint8_t* ids, Size tree, const Block& rows, Size n) const;

    /// Add the value of each row's leaf.  sums (n,), for trees of one value per node
    void add_values(double* sums, const std::uint8_t* ids, Size tree, Size n) const;

    /// The same for several values per node.  sums (n, n_values)
    void add_value_rows(double* sums, const std::uint8_t* ids, Size tree, Size n) const;

    /// The node, within its tree, of a leaf.
    Node node_of(Size tree, std::uint8_t id) const { return leaf_nodes_[trees_[tree].leaves + id]; }

  private:
    struct ByteSplit {
        std::uint32_t plane;
        std::int8_t rank;
        std::uint8_t branch;
    };
    struct WordSplit {
        std::uint32_t plane;
        std::int16_t rank;
        std::uint8_t branch;
    };
    struct SetSplit {
        std::uint32_t plane, n_parts, bits;  // 32 bytes of `set_bits_` per part
        std::uint8_t branch;
    };
    /// An inner node: the branches of its children, and its number of leaves on the left. Branches with an
    /// inner child come first, in breadth-first order: the rows of the others' children are not needed.
    struct Branch {
        std::uint8_t left, right, leaves_left;
    };
    static constexpr std::uint8_t no_branch = 255;  // of a leaf: its rows are written there and never read
    struct Tree {
        std::uint32_t bytes, words, sets, branches;  // where each begins
        std::uint32_t n_bytes, n_words, n_sets, n_branches;
        std::uint32_t n_forks;  // branches with an inner child
        Size leaves;
    };

    void add_tree(const EnsembleView& trees, const EnsembleCodes& codes, Size tree, NodeCursor& cursor);
    static std::vector<std::uint8_t> number_branches(Tree& tree, const std::vector<Node>& first_child);
    void add_split(const EnsembleView& trees, const EnsembleCodes& codes, const NodeCursor& at,
                   std::uint8_t branch);
    void add_set(const EnsembleView& trees, const NodeCursor& at, Size n_parts);
    void add_branches(const std::vector<Node>& first_child, const std::vector<std::uint8_t>& branch_of);
    void number_leaves(const EnsembleView& trees, const std::vector<Node>& first_child, Size begin);
    template <int S>
    void find_leaves_of(std::uint8_t* ids, const Tree& tree, const Block& rows, Size first) const;

    CodePlanes planes_;
    SplitMasks masks_;  // of no splits: the trees have few in common
    Size n_values_;
    std::vector<Tree> trees_;
    std::vector<ByteSplit> byte_splits_;
    std::vector<WordSplit> word_splits_;
    std::vector<SetSplit> set_splits_;
    std::vector<std::uint8_t> set_bits_;
    std::vector<Branch> branches_;
    std::vector<std::uint32_t> split_of_branch_;  // (n_branches,) by masks_, instead of the lists of splits
    std::vector<Node> leaf_nodes_;                // left to right, padded to a power of two per tree
    std::vector<double> values_;                  // (leaves, n_values)
    std::vector<Size> leaves_below_;
};

}  // namespace spinney
