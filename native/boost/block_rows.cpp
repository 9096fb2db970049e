#include "boost/block_rows.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

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
    return draw.rule.multiplier(importance_of(w, g, h, draw.slope),
                                uniform_draw(draw.address, rows.first_row + r));
}

Stat weight_steps(double w, double unit) { return w > 0 ? std::max<Stat>(1, std::llround(w / unit)) : 0; }

/// Rows of a chunk, sorted by a number; ascending where the numbers are equal.
struct SortedRows {
    std::vector<LocalRow> rows = std::vector<LocalRow>(kChunkRows), left = rows, right = rows;
    std::vector<Stat> values = std::vector<Stat>(kChunkRows);
    std::vector<Size> begin;  // (n_places + 1,)

    /// Sort the rows that have a number.  place_of(i): number of row i, n_places: none
    template <class F>
    void sort(Size n, Size n_places, F&& place_of) {
        // Most passes are for few rows of a chunk: the others are dropped first, without branches.
        Size n_found = 0;
        for (Size i = 0; i < n; ++i) {
            left[n_found] = static_cast<LocalRow>(i);
            n_found += place_of(i) < n_places;
        }
        begin.assign(n_places + 1, 0);
        for (Size i = 0; i < n_found; ++i) ++begin[place_of(left[i]) + Size{1}];
        for (Size p = 0; p < n_places; ++p) begin[p + 1] += begin[p];
        if (n_places == 1) {
            std::swap(rows, left);
            return;
        }
        std::vector<Size> at(begin.begin(), begin.end() - 1);
        for (Size i = 0; i < n_found; ++i) rows[at[place_of(left[i])]++] = left[i];
    }

    std::span<const LocalRow> of(Size p) const { return {rows.data() + begin[p], begin[p + 1] - begin[p]}; }
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

using AddColumns = void (*)(Stat*, const std::array<const std::uint8_t*, kColumns>&, const LocalRow*,
                            const Stat*, Size);

template <Size... N>
constexpr std::array<AddColumns, sizeof...(N)> add_columns_table(std::index_sequence<N...>) {
    return {&add_columns<N + 1>...};
}

/// Add rows of a chunk to a histogram.  hist (n_features, 256); values: of the rows
void add_rows_to(Stat* hist, const BlockCodes& codes, Size chunk_begin, std::span<const LocalRow> rows,
                 const Stat* values) {
    static constexpr auto table = add_columns_table(std::make_index_sequence<kColumns>{});
    for (Size first = 0; first < codes.n_features; first += kColumns) {
        const Size n_columns = std::min(kColumns, codes.n_features - first);
        std::array<const std::uint8_t*, kColumns> columns{};
        for (Size j = 0; j < n_columns; ++j) columns[j] = codes.column(first + j) + chunk_begin;
        table[n_columns - 1](hist + first * kBundleBins, columns, rows.data(), values, rows.size());
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
            rows.packed[chunk.begin() + i] = std::bit_cast<Stat>(m);  // until the row is quantized
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
            const double w = rows.weight(r), m = draw.all ? 1.0 : std::bit_cast<double>(rows.packed[r]);
            rows.nodes[r] = 0;
            rows.packed[r] = 0;
            if (!(w * m > 0)) continue;
            const bool repeated = draw.integer_weights && m == 1.0;
            const double inside = repeated ? 1.0 : w * m;
            const Stat outside = repeated ? static_cast<Stat>(w) : 1;
            const Stat gradient = outside * std::llrint(inside * g[i] * draw.scales.gradient);
            const Stat hessian =
                outside * std::max<Stat>(1, std::llrint(inside * h[i] * draw.scales.hessian));
            const Stat steps = rows.weights ? weight_steps(w, draw.weight_unit) : 1;
            rows.packed[r] = pack(gradient, hessian, steps, draw.scales.layout);
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
        Size n = 0;
        for (Size i = 0; i < rows.chunk_size(c); ++i) {
            sorted.rows[n] = static_cast<LocalRow>(i);
            sorted.values[n] = packed[i];
            n += packed[i] != 0;
        }
        add_rows_to(of_thread(out, codes, thread), codes, c * kChunkRows, {sorted.rows.data(), n},
                    sorted.values.data());
    });
}

namespace {

/// A number for each of some nodes, n for all others.
std::vector<std::uint16_t> number_nodes(std::span<const Node> nodes) {
    std::vector<std::uint16_t> out(65536, static_cast<std::uint16_t>(nodes.size()));
    for (Size i = 0; i < nodes.size(); ++i) out[static_cast<Size>(nodes[i])] = static_cast<std::uint16_t>(i);
    return out;
}

/// What one thread adds to the results of splits.
struct SplitSums {
    Stat* histograms;
    std::int64_t* counts;
};

/// Move the rows of a node that are in a chunk to its children, count those that were drawn, and add them to
/// the histograms that are wanted.  sums: of this split
void split_list(SplitSums& sums, SortedRows& sorted, std::span<const LocalRow> list, const BlockSplit& split,
                const BlockRows& rows, const BlockCodes& codes, double weight_unit, Size chunk_begin) {
    const std::uint8_t* column = codes.column(split.feature) + chunk_begin;
    const Stat* packed = rows.packed + chunk_begin;
    BlockNode* nodes = rows.nodes + chunk_begin;
    const auto first = static_cast<Size>(split.first_child);
    std::array<Size, 2> n{};
    LocalRow *left = sorted.left.data(), *right = sorted.right.data();
    for (const LocalRow r : list) {  // without branches: the side of a row is unpredictable
        const Size side = 1 - split.goes_left[column[r]], drawn = packed[r] != 0;
        nodes[r] = static_cast<BlockNode>(first + side);
        left[n[0]] = r;
        right[n[1]] = r;
        n[side] += drawn;
    }
    for (Size side = 0; side < 2; ++side) {
        const std::span<const LocalRow> own(side == 0 ? left : right, n[side]);
        std::int64_t* count = sums.counts + 2 * side;
        count[0] += static_cast<std::int64_t>(n[side]);
        if (!rows.weights) count[1] += static_cast<std::int64_t>(n[side]);
        for (Size i = 0; rows.weights && i < own.size(); ++i)
            count[1] += weight_steps(rows.weights[chunk_begin + own[i]], weight_unit);
        if (!split.builds[side]) continue;
        for (Size i = 0; i < own.size(); ++i) sorted.values[i] = packed[own[i]];
        add_rows_to(sums.histograms, codes, chunk_begin, own, sorted.values.data());
        sums.histograms += codes.n_features * kBundleBins;
    }
}

}  // namespace

void split_rows(const BlockHistograms& out, std::int64_t* counts, const BlockRows& rows,
                const BlockCodes& codes, std::span<const BlockSplit> splits, double weight_unit,
                int n_threads) {
    std::vector<Node> nodes;
    for (const BlockSplit& split : splits) nodes.push_back(split.node);
    const std::vector<std::uint16_t> split_of_node = number_nodes(nodes);
    const Size n_counts = splits.size() * 4;
    std::vector<std::int64_t> parts(static_cast<Size>(n_threads) * n_counts);
    for_chunks(rows, n_threads, [&](Size c, int thread, SortedRows& sorted) {
        const Size begin = c * kChunkRows;
        sorted.sort(rows.chunk_size(c), splits.size(),
                    [&](Size i) { return split_of_node[rows.nodes[begin + i]]; });
        SplitSums sums{of_thread(out, codes, thread), parts.data() + static_cast<Size>(thread) * n_counts};
        for (Size s = 0; s < splits.size(); ++s, sums.counts += 4)
            split_list(sums, sorted, sorted.of(s), splits[s], rows, codes, weight_unit, begin);
    });
    for (Size i = 0; i < parts.size(); ++i) counts[i % n_counts] += parts[i];
}

void weigh_nodes(const BlockHistograms& out, const BlockRows& rows, const BlockCodes& codes,
                 std::span<const Node> nodes, double weight_unit, int n_threads) {
    const std::vector<std::uint16_t> place_of = number_nodes(nodes);
    for_chunks(rows, n_threads, [&](Size c, int thread, SortedRows& sorted) {
        const Size begin = c * kChunkRows;
        const Stat* packed = rows.packed + begin;
        sorted.sort(rows.chunk_size(c), nodes.size(), [&](Size i) {
            const Size place = place_of[rows.nodes[begin + i]];
            return packed[i] != 0 ? place : nodes.size();
        });
        Stat* hist = of_thread(out, codes, thread);
        for (Size b = 0; b < nodes.size(); ++b, hist += codes.n_features * kBundleBins) {
            const auto own = sorted.of(b);
            for (Size i = 0; i < own.size(); ++i)
                sorted.values[i] = rows.weights ? weight_steps(rows.weights[begin + own[i]], weight_unit) : 1;
            add_rows_to(hist, codes, begin, own, sorted.values.data());
        }
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
