// The grower of boosted trees on rows that are read block by block.
//
// It asks for what it needs of the rows, as many nodes at a time as best-first growth is sure or likely to
// split, and keeps the splits that growth in memory would have made: the same tree, with one pass over the
// rows per level or so.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "boost/boost_options.hpp"
#include "boost/gradient_scales.hpp"
#include "boost/leaf_quantiles.hpp"
#include "boost/losses.hpp"
#include "data/bundles.hpp"
#include "grow/flat_tree.hpp"

namespace spinney {

/// Facts of the rows of a tree that growth needs.
struct BlockRowFacts {
    GradientScales scales;
    double weight_unit = 1, score_noise = 0;
    double min_hessian_ratio = 1, max_hessian_ratio = 1;
    Size n_rows = 0;  // drawn
    Stat weight = 0;  // of the rows drawn
};

/// A node whose rows go to two children.
struct BlockSplit {
    Node node = 0, first_child = 0;
    std::uint32_t feature = 0;
    std::array<std::uint8_t, kBundleBins> goes_left{};  // 0 or 1 per bin code
    std::array<bool, 2> builds{};                       // children whose histograms are wanted
};

/// What a pass over the rows found of a split.
struct BlockSplitResult {
    std::array<Size, 2> n_rows{};
    std::array<Stat, 2> weights{};
    std::array<const Stat*, 2> histograms{};  // (n_features, 256) of children that were wanted
};

class BlockGrower {
  public:
    virtual ~BlockGrower() = default;

    /// Begin a tree.  histogram (n_features, 256): of all drawn rows; address: of the tree's random draws
    virtual void start(const BlockRowFacts& facts, const Stat* histogram, std::uint64_t address) = 0;

    /// Nodes whose row weights per bin are wanted before `splits` may be called.
    virtual std::vector<Node> nodes_to_weigh() const = 0;
    /// weights (n_nodes, n_features, 256): of the nodes to weigh
    virtual void give_weights(const Stat* weights) = 0;

    /// The splits of the next pass over the rows; empty: the tree is complete.
    virtual const std::vector<BlockSplit>& splits() = 0;
    /// Those that `splits` returned last.
    virtual const std::vector<BlockSplit>& planned() const = 0;
    virtual void give(std::span<const BlockSplitResult> results) = 0;

    virtual Size n_leaves() const = 0;
    /// The leaf that the rows of each node end in, −1 of inner nodes. Some nodes were split in vain: growth
    /// did not choose their splits in the end.  -> (n_nodes,)
    virtual std::vector<std::int32_t> leaf_of_node() const = 0;

    /// Leaf values, learning rate included: Newton steps.  sums (n_leaves,)
    virtual std::vector<double> fit_leaves(const std::vector<LeafSums>& sums, LossName loss) const = 0;
    /// The same: quantiles of the residuals.  residuals (n_leaves,), which are sorted
    virtual std::vector<double> fit_quantiles(std::vector<std::vector<Residual>>& residuals, Size k,
                                              const Loss& loss) const = 0;

    /// The fitted tree.
    virtual FlatTree finish(const std::vector<LeafSums>& sums, const std::vector<double>& values) = 0;

    /// The deviation of the noise on split scores.  squares: Σ w·g²; hessians: Σ w·h
    virtual double score_noise(std::uint64_t round, double n_counted, double squares,
                               double hessians) const = 0;
};

/// Borrows both; of `matrix` only the description of its columns is read.
std::unique_ptr<BlockGrower> make_block_grower(const CodeMatrix& matrix, const BoostOptions& options);

}  // namespace spinney
