#include "linear/sparse_products.hpp"

#include <algorithm>
#include <vector>

namespace spinney {
namespace {

constexpr Size kScoreRows = 1024;    // rows of a task of a product
constexpr Size kSumColumns = 16384;  // columns of a task that adds the sums of chunks
constexpr Size kMaxSumChunks = 16;
// A chunk has so many entries per column that adding up its sums takes little beside making them.
constexpr Size kEntriesPerColumn = 4;

/// The dot product of a row, in four sums so that additions do not wait for each other.
double row_score(const RowView& x, Size row, const double* w) {
    const Size begin = static_cast<Size>(x.indptr[row]), end = static_cast<Size>(x.indptr[row + 1]);
    double sums[4] = {};
    Size k = begin;
    for (; k + 4 <= end; k += 4)
        for (Size i = 0; i < 4; ++i) sums[i] += x.values[k + i] * w[x.columns[k + i]];
    for (; k < end; ++k) sums[0] += x.values[k] * w[x.columns[k]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Sum over rows by column: add_row(row, to) adds a row to the sums of its chunk.  out (n_columns + 1,)
template <class F>
void sum_columns(double* out, const RowView& x, int n_threads, Interrupt& interrupt, F&& add_row) {
    const Size width = x.n_columns + 1, n_entries = static_cast<Size>(x.indptr[x.n_rows]);
    const Size n_chunks = std::clamp<Size>(n_entries / (kEntriesPerColumn * width), 1, kMaxSumChunks);
    std::vector<std::vector<double>> sums(n_chunks);
    Pool::shared().parallel_for(
        n_threads, n_chunks,
        [&](Size chunk, int) {
            sums[chunk].assign(width, 0.0);
            double* to = sums[chunk].data();
            const Size end = x.n_rows * (chunk + 1) / n_chunks;
            for (Size row = x.n_rows * chunk / n_chunks; row < end; ++row) {
                if (row % kScoreRows == 0) interrupt.poll();
                add_row(row, to);
            }
        },
        &interrupt);
    Pool::shared().parallel_for(
        n_threads, (width + kSumColumns - 1) / kSumColumns,
        [&](Size task, int) {
            const Size begin = task * kSumColumns, end = std::min(width, begin + kSumColumns);
            std::copy(sums[0].begin() + static_cast<std::ptrdiff_t>(begin),
                      sums[0].begin() + static_cast<std::ptrdiff_t>(end), out + begin);
            for (Size chunk = 1; chunk < n_chunks; ++chunk)
                for (Size j = begin; j < end; ++j) out[j] += sums[chunk][j];
        },
        &interrupt);
}

/// Add a row times a number; the last sum is that of the numbers.
void add_multiple(double* to, const RowView& x, Size row, double factor) {
    const Size begin = static_cast<Size>(x.indptr[row]), end = static_cast<Size>(x.indptr[row + 1]);
    for (Size k = begin; k < end; ++k) to[x.columns[k]] += factor * x.values[k];
    to[x.n_columns] += factor;
}

void add_squares(double* to, const RowView& x, Size row, double factor) {
    const Size begin = static_cast<Size>(x.indptr[row]), end = static_cast<Size>(x.indptr[row + 1]);
    for (Size k = begin; k < end; ++k) to[x.columns[k]] += factor * (x.values[k] * x.values[k]);
    to[x.n_columns] += factor;
}

}  // namespace

void sparse_product(double* out, const RowView& x, const double* w, double intercept, int n_threads,
                    Interrupt& interrupt) {
    Pool::shared().parallel_for(
        n_threads, (x.n_rows + kScoreRows - 1) / kScoreRows,
        [&](Size task, int) {
            const Size end = std::min(x.n_rows, (task + 1) * kScoreRows);
            for (Size row = task * kScoreRows; row < end; ++row) out[row] = row_score(x, row, w) + intercept;
        },
        &interrupt);
}

void sparse_cross(double* out, const RowView& x, const double* factors, bool squares, int n_threads,
                  Interrupt& interrupt) {
    if (squares)
        sum_columns(out, x, n_threads, interrupt,
                    [&](Size row, double* to) { add_squares(to, x, row, factors[row]); });
    else
        sum_columns(out, x, n_threads, interrupt,
                    [&](Size row, double* to) { add_multiple(to, x, row, factors[row]); });
}

void sparse_curvature_product(double* out, double* scores, const RowView& x, const double* v,
                              const double* curvatures, int n_threads, Interrupt& interrupt) {
    sum_columns(out, x, n_threads, interrupt, [&](Size row, double* to) {
        scores[row] = row_score(x, row, v) + v[x.n_columns];
        add_multiple(to, x, row, curvatures[row] * scores[row]);
    });
}

}  // namespace spinney
