// What boosting does to the rows of one block: functions that need no other rows, whose results are added
// over blocks.
//
// Integers are added in any order. Real numbers are given per chunk, and added in the order of the chunks.
// Gradients are computed again where they are needed: a row keeps its scores, a packed gradient and the
// number of its node.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "boost/block_grower.hpp"
#include "boost/gradient_scales.hpp"
#include "boost/leaf_quantiles.hpp"
#include "boost/sampling_rule.hpp"
#include "core/chunk_sum.hpp"

namespace spinney {

using BlockNode = std::uint16_t;

/// Rows of a block, borrowed. It begins where a chunk does.
struct BlockRows {
    Size first_row = 0, n_rows = 0;    // first_row: among all rows
    const double* y = nullptr;         // (n_outputs, y_stride)
    Size n_outputs = 1, y_stride = 0;  // 1 output, or one per score
    const double* weights = nullptr;   // (n_rows,), null: all ones
    std::vector<double*> scores;       // (n_scores,) of (n_rows,)
    double* log_sum_exp = nullptr;     // (n_rows,), softmax only
    const double* gradient = nullptr;  // (n_rows, n_scores), null: those of the loss
    const double* hessian = nullptr;
    Stat* packed = nullptr;      // (n_rows,): 0 of rows that were not drawn
    BlockNode* nodes = nullptr;  // (n_rows,)

    Size n_chunks() const { return (n_rows + kChunkRows - 1) / kChunkRows; }
    Size chunk_size(Size c) const { return std::min(kChunkRows, n_rows - c * kChunkRows); }
    double weight(Size r) const { return weights ? weights[r] : 1.0; }
};

/// A loss, and the score whose gradients are meant.
struct BlockLoss {
    Loss loss;
    Size k = 0;
};

/// How the rows of a tree are drawn and quantized.
struct BlockDraw {
    bool all = true;  // no rows are drawn
    SamplingRule rule;
    double slope = 0;           // of importances: gradient per hessian
    std::uint64_t address = 0;  // of the tree's draws
    GradientScales scales;
    bool integer_weights = true;
    double weight_unit = 1;
};

/// Sums of a chunk: |g|, h and g², each times the row's weight.
struct ChunkGradients {
    double gradient = 0, hessian = 0, squares = 0, hessians = 0;
};

struct QuantizedRows {
    double min_ratio, max_ratio;
    Size n_rows = 0;
    Stat weight = 0;
};

/// Write ln Σ e^score, which stays fixed while the trees of a round are grown.
void update_log_sum_exp(const BlockRows& rows, int n_threads);

/// out (n_chunks,)
void sum_gradients(std::span<ChunkGradients> out, const BlockRows& rows, const BlockLoss& loss,
                   int n_threads);

/// Count the importances of the rows.  counts (ImportanceCounts::n_bins,), added to
void count_importances(std::int64_t* counts, const BlockRows& rows, const BlockLoss& loss, double slope);

/// Draw the rows of a tree, and sum them; to be called before they are quantized.  out (n_chunks,)
void sum_drawn(std::span<GradientSums> out, const BlockRows& rows, const BlockLoss& loss,
               const BlockDraw& draw, int n_threads);

/// Write the packed gradients of a tree, and put all rows into its root.
QuantizedRows quantize_rows(const BlockRows& rows, const BlockLoss& loss, const BlockDraw& draw,
                            int n_threads);

/// Codes of a block, one column after the other.
struct BlockCodes {
    const std::uint8_t* codes = nullptr;
    Size n_features = 0, stride = 0;
    const std::uint8_t* column(Size j) const { return codes + j * stride; }
};

/// Histograms of a pass, one set per thread.  (n_threads, n_built, n_features, 256)
struct BlockHistograms {
    Stat* sums = nullptr;
    Size n_built = 0;
};

/// Add all drawn rows to a histogram.
void add_root(const BlockHistograms& out, const BlockRows& rows, const BlockCodes& codes, int n_threads);

/// Move rows to the children of splits, count those that were drawn, and add them to the histograms of the
/// children that are wanted, in the order of the splits.  counts (n_splits, 2, 2): rows and weight of both
/// children, added to
void split_rows(const BlockHistograms& out, std::int64_t* counts, const BlockRows& rows,
                const BlockCodes& codes, std::span<const BlockSplit> splits, double weight_unit,
                int n_threads);

/// Add the row weights of some nodes by bin.
void weigh_nodes(const BlockHistograms& out, const BlockRows& rows, const BlockCodes& codes,
                 std::span<const Node> nodes, double weight_unit, int n_threads);

/// out (n_chunks, n_leaves); leaf_of_node (n_nodes,)
void sum_leaves(std::span<LeafSums> out, const BlockRows& rows, const BlockLoss& loss,
                std::span<const std::int32_t> leaf_of_node, Size n_leaves, bool all, int n_threads);

/// The residuals and weights of the rows of each leaf, in the order of the rows.
std::vector<std::vector<Residual>> list_residuals(const BlockRows& rows, Size k,
                                                  std::span<const std::int32_t> leaf_of_node, Size n_leaves,
                                                  bool all);

/// Add the value of its leaf to the score of each row.  values (n_leaves,)
void update_scores(const BlockRows& rows, Size k, std::span<const std::int32_t> leaf_of_node,
                   const double* values, int n_threads);

/// Weighted losses and weights of the chunks.  out (n_chunks, 2); weights (n_rows,) or null: those of the
/// rows
void sum_losses(double* out, const BlockRows& rows, const Loss& loss, const double* weights, int n_threads);

}  // namespace spinney
