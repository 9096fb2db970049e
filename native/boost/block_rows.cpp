#include "boost/block_rows.hpp"

#include <array>
#include <cmath>
#include <memory>

#include "core/thread_pool.hpp"
#include "data/bundle_rows.hpp"
#include "split/newton.hpp"

namespace spinney {

namespace {

/// The rows of a chunk of a block, with pointers to its first row.
class Chunk {
  public:
    Chunk(const BlockRows& rows, Size c) : block_(rows), begin_(c * kChunkRows), n_(rows.chunk_size(c)) {
        for (const double* column : rows.scores) scores_.push_back(column + begin_);
    }

    Size size() const { return n_; }
    Size begin() const { return begin_; }
    double weight(Size i) const { return block_.weight(begin_ + i); }

    LossRows loss_rows() const {
        return {block_.y + begin_, block_.n_outputs,
                block_.y_stride,   block_.weights ? block_.weights + begin_ : nullptr,
                scores_,           block_.log_sum_exp ? block_.log_sum_exp + begin_ : nullptr};
    }

    /// Write gradients and hessians; return their sums.  both (kChunkRows,)
    GradientSums gradients(const BlockLoss& loss, double* gradient, double* hessian) const {
        if (!block_.gradient)
            return compute_gradients(loss.loss, loss_rows(), loss.k, 0, n_, gradient, hessian);
        GradientSums out;
        const Size step = block_.scores.size();
        for (Size i = 0; i < n_; ++i) {
            gradient[i] = block_.gradient[(begin_ + i) * step + loss.k];
            hessian[i] = std::max(block_.hessian[(begin_ + i) * step + loss.k], kMinHessian);
            const double w = weight(i);
            if (!(w > 0)) continue;
            out.gradient += w * std::abs(gradient[i]);
            out.hessian += w * hessian[i];
        }
        return out;
    }

  private:
    const BlockRows& block_;
    Size begin_, n_;
    std::vector<const double*> scores_;
};

/// Gradients of a chunk, one buffer per thread.
struct GradientBuffers {
    explicit GradientBuffers(int n_threads) : values(static_cast<Size>(n_threads) * 2 * kChunkRows) {}
    std::vector<double> values;
    double* gradient(int thread) { return values.data() + static_cast<Size>(thread) * 2 * kChunkRows; }
    double* hessian(int thread) { return gradient(thread) + kChunkRows; }
};

double importance_of(double w, double g, double h, double slope) {
    const double scaled = slope * h;
    return w * std::sqrt(g * g + scaled * scaled);
}

/// How many rows a row stands for; 0: it is not drawn.
double multiplier(const BlockRows& rows, const BlockDraw& draw, Size r, double g, double h) {
    const double w = rows.weight(r);
    if (!(w > 0)) return 0;
    if (draw.all) return 1;
    return draw.rule.multiplier(importance_of(w, g, h, draw.slope),
                                row_address(draw.address, rows.first_row + r));
}

Stat weight_steps(double w, double unit) { return w > 0 ? std::max<Stat>(1, std::llround(w / unit)) : 0; }

/// Rows of a chunk in the order of the histograms that they are added to.
struct SortedRows {
    std::vector<LocalRow> rows = std::vector<LocalRow>(kChunkRows);
    std::vector<Stat> values = std::vector<Stat>(kChunkRows);
    std::vector<Size> begin;  // (n_built + 1,)
    std::vector<std::int32_t> place = std::vector<std::int32_t>(kChunkRows);

    /// place (n,): histogram of each row, −1: none; value_of(i): what the row adds
    template <class F>
    void sort(Size n, Size n_built, F&& value_of) {
        begin.assign(n_built + 1, 0);
        for (Size i = 0; i < n; ++i)
            if (place[i] >= 0) ++begin[static_cast<Size>(place[i]) + 1];
        for (Size b = 0; b < n_built; ++b) begin[b + 1] += begin[b];
        std::vector<Size> at(begin.begin(), begin.end() - 1);
        for (Size i = 0; i < n; ++i) {
            if (place[i] < 0) continue;
            const Size to = at[static_cast<Size>(place[i])]++;
            rows[to] = static_cast<LocalRow>(i);
            values[to] = value_of(i);
        }
    }
};

/// Columns whose histograms are added to at once.
constexpr Size kColumns = 8;

template <Size N>
void add_columns(Stat* __restrict hist, const std::array<const std::uint8_t*, kColumns>& codes,
                 const LocalRow* rows, const Stat* values, Size n) {
    for (Size i = 0; i < n; ++i) {
        const Size r = rows[i];
        const Stat value = values[i];
#pragma GCC unroll 8
        for (Size j = 0; j < N; ++j) hist[j * kBundleBins + codes[j][r]] += value;
    }
}

/// Add sorted rows of a chunk to the histograms.
void add_sorted(Stat* hist, const SortedRows& sorted, const BlockCodes& codes, Size chunk_begin) {
    const Size n_built = sorted.begin.size() - 1;
    for (Size first = 0; first < codes.n_features; first += kColumns) {
        const Size n_columns = std::min(kColumns, codes.n_features - first);
        std::array<const std::uint8_t*, kColumns> columns{};
        for (Size j = 0; j < n_columns; ++j) columns[j] = codes.column(first + j) + chunk_begin;
        for (Size b = 0; b < n_built; ++b) {
            Stat* to = hist + (b * codes.n_features + first) * kBundleBins;
            const Size begin = sorted.begin[b], n = sorted.begin[b + 1] - begin;
            const LocalRow* rows = sorted.rows.data() + begin;
            const Stat* values = sorted.values.data() + begin;
            if (n_columns == kColumns) {
                add_columns<kColumns>(to, columns, rows, values, n);
                continue;
            }
            for (Size j = 0; j < n_columns; ++j)
                add_columns<1>(to + j * kBundleBins, {columns[j]}, rows, values, n);
        }
    }
}

/// Call f(c, thread, sorted) for the chunks of a block.
template <class F>
void for_chunks(const BlockRows& rows, int n_threads, F&& f) {
    std::vector<SortedRows> sorted(static_cast<Size>(n_threads));
    Pool::shared().parallel_for(n_threads, rows.n_chunks(),
                                [&](Size c, int thread) { f(c, thread, sorted[static_cast<Size>(thread)]); });
}

Stat* of_thread(const BlockHistograms& out, const BlockCodes& codes, int thread) {
    return out.sums + static_cast<Size>(thread) * out.n_built * codes.n_features * kBundleBins;
}

}  // namespace

void update_log_sum_exp(const BlockRows& rows, int n_threads) {
    const std::vector<const double*> scores(rows.scores.begin(), rows.scores.end());
    Pool::shared().parallel_for(n_threads, rows.n_chunks(), [&](Size c, int) {
        compute_log_sum_exp(rows.log_sum_exp, scores, c * kChunkRows, c * kChunkRows + rows.chunk_size(c));
    });
}

void sum_gradients(std::span<ChunkGradients> out, const BlockRows& rows, const BlockLoss& loss,
                   int n_threads) {
    GradientBuffers buffers(n_threads);
    Pool::shared().parallel_for(n_threads, rows.n_chunks(), [&](Size c, int thread) {
        const Chunk chunk(rows, c);
        double *g = buffers.gradient(thread), *h = buffers.hessian(thread);
        const GradientSums sums = chunk.gradients(loss, g, h);
        double squares = 0, hessians = 0;
        for (Size i = 0; i < chunk.size(); ++i) {
            const double w = chunk.weight(i);
            squares += w * g[i] * g[i];
            hessians += w * h[i];
        }
        out[c] = {sums.gradient, sums.hessian, squares, hessians};
    });
}

void count_importances(std::int64_t* counts, const BlockRows& rows, const BlockLoss& loss, double slope) {
    GradientBuffers buffers(1);
    ImportanceCounts own;
    for (Size c = 0; c < rows.n_chunks(); ++c) {
        const Chunk chunk(rows, c);
        double *g = buffers.gradient(0), *h = buffers.hessian(0);
        chunk.gradients(loss, g, h);
        for (Size i = 0; i < chunk.size(); ++i)
            if (const double w = chunk.weight(i); w > 0) own.add(importance_of(w, g[i], h[i], slope));
    }
    for (Size i = 0; i < ImportanceCounts::n_bins; ++i) counts[i] += own.counts()[i];
}

void sum_drawn(std::span<GradientSums> out, const BlockRows& rows, const BlockLoss& loss,
               const BlockDraw& draw, int n_threads) {
    GradientBuffers buffers(n_threads);
    Pool::shared().parallel_for(n_threads, rows.n_chunks(), [&](Size c, int thread) {
        const Chunk chunk(rows, c);
        double *g = buffers.gradient(thread), *h = buffers.hessian(thread);
        chunk.gradients(loss, g, h);
        GradientSums sum;
        for (Size i = 0; i < chunk.size(); ++i) {
            const double w = chunk.weight(i), m = multiplier(rows, draw, chunk.begin() + i, g[i], h[i]);
            sum.gradient += w * m * std::abs(g[i]);
            sum.hessian += w * m * h[i];
        }
        out[c] = sum;
    });
}

QuantizedRows quantize_rows(const BlockRows& rows, const BlockLoss& loss, const BlockDraw& draw,
                            int n_threads) {
    GradientBuffers buffers(n_threads);
    const QuantizedRows none{HUGE_VAL, 0, 0, 0};
    std::vector<QuantizedRows> parts(rows.n_chunks(), none);
    Pool::shared().parallel_for(n_threads, rows.n_chunks(), [&](Size c, int thread) {
        const Chunk chunk(rows, c);
        double *g = buffers.gradient(thread), *h = buffers.hessian(thread);
        chunk.gradients(loss, g, h);
        QuantizedRows& out = parts[c];
        for (Size i = 0; i < chunk.size(); ++i) {
            const Size r = chunk.begin() + i;
            const double w = rows.weight(r), m = multiplier(rows, draw, r, g[i], h[i]);
            rows.nodes[r] = 0;
            rows.packed[r] = 0;
            if (!(w * m > 0)) continue;
            const bool repeated = draw.integer_weights && m == 1.0;
            const double inside = repeated ? 1.0 : w * m;
            const Stat outside = repeated ? static_cast<Stat>(w) : 1;
            const Stat gradient = outside * std::llrint(inside * g[i] * draw.scales.gradient);
            const Stat hessian =
                outside * std::max<Stat>(1, std::llrint(inside * h[i] * draw.scales.hessian));
            rows.packed[r] = pack(gradient, hessian);
            const Stat steps = rows.weights ? weight_steps(w, draw.weight_unit) : 1;
            const double ratio = static_cast<double>(hessian) / static_cast<double>(steps);
            out.min_ratio = std::min(out.min_ratio, ratio);
            out.max_ratio = std::max(out.max_ratio, ratio);
            out.weight += steps;
            ++out.n_rows;
        }
    });
    QuantizedRows all = none;
    for (const QuantizedRows& part : parts) {
        all.min_ratio = std::min(all.min_ratio, part.min_ratio);
        all.max_ratio = std::max(all.max_ratio, part.max_ratio);
        all.n_rows += part.n_rows;
        all.weight += part.weight;
    }
    return all;
}

void add_root(const BlockHistograms& out, const BlockRows& rows, const BlockCodes& codes, int n_threads) {
    for_chunks(rows, n_threads, [&](Size c, int thread, SortedRows& sorted) {
        const Stat* packed = rows.packed + c * kChunkRows;
        const Size n = rows.chunk_size(c);
        for (Size i = 0; i < n; ++i) sorted.place[i] = packed[i] != 0 ? 0 : -1;
        sorted.sort(n, 1, [&](Size i) { return packed[i]; });
        add_sorted(of_thread(out, codes, thread), sorted, codes, c * kChunkRows);
    });
}

namespace {

/// Where the rows of each node go.
struct Routes {
    std::vector<std::int32_t> split_of_node;          // −1: the node is not split
    std::vector<std::array<std::int32_t, 2>> places;  // (n_splits,): histogram of each child, −1: none

    explicit Routes(std::span<const BlockSplit> splits) : split_of_node(65536, -1), places(splits.size()) {
        std::int32_t n_built = 0;
        for (Size s = 0; s < splits.size(); ++s) {
            split_of_node[static_cast<Size>(splits[s].node)] = static_cast<std::int32_t>(s);
            for (Size side = 0; side < 2; ++side) places[s][side] = splits[s].builds[side] ? n_built++ : -1;
        }
    }
};

/// Move the rows of a chunk to the children, and count them.  counts (n_splits, 2, 2)
void route_chunk(std::int64_t* counts, std::int32_t* place, const BlockRows& rows, const BlockCodes& codes,
                 std::span<const BlockSplit> splits, const Routes& routes, double weight_unit, Size c) {
    const Size begin = c * kChunkRows, n = rows.chunk_size(c);
    for (Size i = 0; i < n; ++i) {
        const Size r = begin + i;
        const std::int32_t s = routes.split_of_node[rows.nodes[r]];
        place[i] = -1;
        if (s < 0) continue;
        const BlockSplit& split = splits[static_cast<Size>(s)];
        const Size side = 1 - split.goes_left[codes.column(split.feature)[r]];
        rows.nodes[r] = static_cast<BlockNode>(static_cast<Size>(split.first_child) + side);
        if (rows.packed[r] == 0) continue;
        place[i] = routes.places[static_cast<Size>(s)][side];
        std::int64_t* count = counts + (static_cast<Size>(s) * 2 + side) * 2;
        ++count[0];
        count[1] += rows.weights ? weight_steps(rows.weights[r], weight_unit) : 1;
    }
}

}  // namespace

void split_rows(const BlockHistograms& out, std::int64_t* counts, const BlockRows& rows,
                const BlockCodes& codes, std::span<const BlockSplit> splits, double weight_unit,
                int n_threads) {
    const Routes routes(splits);
    const Size n_counts = splits.size() * 4;
    std::vector<std::int64_t> parts(static_cast<Size>(n_threads) * n_counts);
    for_chunks(rows, n_threads, [&](Size c, int thread, SortedRows& sorted) {
        route_chunk(parts.data() + static_cast<Size>(thread) * n_counts, sorted.place.data(), rows, codes,
                    splits, routes, weight_unit, c);
        if (out.n_built == 0) return;
        const Stat* packed = rows.packed + c * kChunkRows;
        sorted.sort(rows.chunk_size(c), out.n_built, [&](Size i) { return packed[i]; });
        add_sorted(of_thread(out, codes, thread), sorted, codes, c * kChunkRows);
    });
    for (Size i = 0; i < parts.size(); ++i) counts[i % n_counts] += parts[i];
}

void weigh_nodes(const BlockHistograms& out, const BlockRows& rows, const BlockCodes& codes,
                 std::span<const Node> nodes, double weight_unit, int n_threads) {
    std::vector<std::int32_t> place_of(65536, -1);
    for (Size i = 0; i < nodes.size(); ++i)
        place_of[static_cast<Size>(nodes[i])] = static_cast<std::int32_t>(i);
    for_chunks(rows, n_threads, [&](Size c, int thread, SortedRows& sorted) {
        const Size begin = c * kChunkRows, n = rows.chunk_size(c);
        for (Size i = 0; i < n; ++i)
            sorted.place[i] = rows.packed[begin + i] != 0 ? place_of[rows.nodes[begin + i]] : -1;
        sorted.sort(n, nodes.size(), [&](Size i) {
            return rows.weights ? weight_steps(rows.weights[begin + i], weight_unit) : Stat{1};
        });
        add_sorted(of_thread(out, codes, thread), sorted, codes, begin);
    });
}

void sum_leaves(std::span<LeafSums> out, const BlockRows& rows, const BlockLoss& loss,
                std::span<const std::int32_t> leaf_of_node, Size n_leaves, bool all, int n_threads) {
    GradientBuffers buffers(n_threads);
    Pool::shared().parallel_for(n_threads, rows.n_chunks(), [&](Size c, int thread) {
        const Chunk chunk(rows, c);
        double *g = buffers.gradient(thread), *h = buffers.hessian(thread);
        chunk.gradients(loss, g, h);
        LeafSums* sums = out.data() + c * n_leaves;
        std::fill_n(sums, n_leaves, LeafSums{});
        for (const bool drawn :
             {true, false}) {  // in the order of growth in memory: the rows that were drawn first
            if (!drawn && !all) break;
            for (Size i = 0; i < chunk.size(); ++i) {
                const Size r = chunk.begin() + i;
                if ((rows.packed[r] != 0) != drawn) continue;
                LeafSums& sum = sums[leaf_of_node[rows.nodes[r]]];
                const double w = rows.weight(r);
                sum.gradient += rows.weights ? w * g[i] : g[i];
                sum.hessian += rows.weights ? w * h[i] : h[i];
                if (drawn) sum.weight += w;
            }
        }
    });
}

std::vector<std::vector<Residual>> list_residuals(const BlockRows& rows, Size k,
                                                  std::span<const std::int32_t> leaf_of_node, Size n_leaves,
                                                  bool all) {
    std::vector<std::vector<Residual>> out(n_leaves);
    const double* y = rows.n_outputs == 1 ? rows.y : rows.y + k * rows.y_stride;
    for (Size r = 0; r < rows.n_rows; ++r) {
        if (!(rows.weight(r) > 0) || (rows.packed[r] == 0 && !all)) continue;
        out[static_cast<Size>(leaf_of_node[rows.nodes[r]])].emplace_back(y[r] - rows.scores[k][r],
                                                                         rows.weight(r));
    }
    return out;
}

void update_scores(const BlockRows& rows, Size k, std::span<const std::int32_t> leaf_of_node,
                   const double* values, int n_threads) {
    std::vector<double> value_of(leaf_of_node.size());
    for (Size i = 0; i < value_of.size(); ++i)
        value_of[i] = leaf_of_node[i] >= 0 ? values[static_cast<Size>(leaf_of_node[i])] : 0.0;
    Pool::shared().parallel_for(n_threads, rows.n_chunks(), [&](Size c, int) {
        double* scores = rows.scores[k];
        for (Size r = c * kChunkRows; r < c * kChunkRows + rows.chunk_size(c); ++r)
            scores[r] += value_of[rows.nodes[r]];
    });
}

void sum_losses(double* out, const BlockRows& rows, const Loss& loss, const double* weights, int n_threads) {
    Pool::shared().parallel_for(n_threads, rows.n_chunks(), [&](Size c, int) {
        const Chunk chunk(rows, c);
        const LossRows loss_rows = chunk.loss_rows();
        double part = 0, total = 0;
        for (Size i = 0; i < chunk.size(); ++i) {
            const double w = weights ? weights[chunk.begin() + i] : chunk.weight(i);
            if (!(w > 0)) continue;
            part += w * loss_of_row(loss, loss_rows, i);
            total += w;
        }
        out[2 * c] = part;
        out[2 * c + 1] = total;
    });
}

}  // namespace spinney
