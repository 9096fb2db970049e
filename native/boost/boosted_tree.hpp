// The data that a boosted tree is grown on, and the tree while it grows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "data/bundle_rows.hpp"
#include "grow/grown_tree.hpp"
#include "split/newton.hpp"

namespace spinney {

/// The table in the forms that boosting reads, built once for all trees.
struct BoostTable {
    const CodeMatrix& x;
    Bundles bundles;
    BundleRows rows;

    /// kept (n_features,): the features that trees may split on
    BoostTable(const CodeMatrix& matrix, int n_threads, std::span<const std::uint8_t> kept = {})
        : x(matrix), bundles(make_bundles(matrix, kept)), rows(matrix, bundles, n_threads) {}

    /// A table whose rows are elsewhere: of `matrix` only the description of its columns is read.
    explicit BoostTable(const CodeMatrix& matrix)
        : x(matrix), bundles(bundle_each(matrix)), rows(matrix, bundles, 1) {}

    Size n_chunks() const { return (x.n_rows + kChunkRows - 1) / kChunkRows; }
    Size chunk_size(Size chunk) const { return std::min(kChunkRows, x.n_rows - chunk * kChunkRows); }
    Size histogram_size() const { return bundles.bundles.size() * kBundleBins; }
};

/// Target and weights of the rows, the same for all rounds.
struct BoostTarget {
    std::vector<double> y;        // one output after the other
    std::vector<double> weights;  // empty: all ones
    bool unit_weights = true;     // all are 0 or 1
    bool integer_weights = true;  // a row of weight 2 is then the row twice
    double total_weight = 0;
    Size n_weighted = 0;  // rows with a weight above 0

    const double* weights_or_null() const { return weights.empty() ? nullptr : weights.data(); }
    double weight(Size row) const { return weights.empty() ? 1.0 : weights[row]; }

    /// Number of rows, a row of weight 2 counted twice; weights with a mean below 1 are proportions.
    double n_counted() const { return std::max(total_weight, static_cast<double>(n_weighted)); }

    /// What rounding may add to a sum of packed gradients: half a step per row to gradients, and up to one to
    /// hessians, which are at least 1.
    double rounding_slack(Size n_rows) const {
        const auto n = static_cast<double>(n_rows);
        return integer_weights ? std::max(total_weight, n) : n;
    }

    /// values (n_outputs, n); row_weights (n,) or null
    void set(const double* values, Size n_outputs, const double* row_weights, Size n);
};

/// The rows of one tree. Rows that were not drawn follow the splits only: they have no packed gradient.
struct BoostRows {
    std::vector<LocalRow> ids;        // (n_rows,): per chunk first the drawn rows, then the others
    std::vector<std::uint32_t> n_in;  // (n_chunks,): drawn rows
    std::vector<Stat> packed;         // (n_rows,): packed gradient and hessian
    std::vector<Stat> weights;        // (n_rows,) in units of weight_unit; empty: every row weighs 1
    double weight_unit = 1;
    bool any_out = false;  // some rows were not drawn
    NewtonUnits units;
    PackedLayout layout;
    double score_noise = 0;  // deviation of the noise on the scores of symmetric splits
    double min_hessian_ratio = 1, max_hessian_ratio = 1;  // of a row: hessian per weight, in units
};

/// The part of a chunk's list of rows that belongs to a node.
struct ChunkRange {
    LocalRow begin = 0, end = 0, out_begin = 0, out_end = 0;
    Size size() const { return static_cast<Size>(end - begin); }
};
static_assert(kChunkRows <= 65535);

/// A node of a boosted tree, and its best split.
struct BoostNode {
    Node id = 0;
    int depth = 0;
    std::uint64_t address = 0, path = 0;
    double lower = kImpossible, upper = -kImpossible;  // bounds of its value, from monotonic constraints
    std::vector<std::uint32_t> groups;                 // interaction sets that contain its path
    Stat total = 0, weight = 0;
    Size n_rows = 0;
    std::unique_ptr<Stat[]> histogram;
    NewtonSplit best;
    std::int32_t feature = -1;
    double gain = 0;  // of the best split
};

struct BoostedTree {
    Fragment fragment;
    std::vector<BoostNode> nodes;    // by id
    std::vector<ChunkRange> ranges;  // (n_nodes, n_chunks)
    std::vector<Node> leaves;
};

}  // namespace spinney
