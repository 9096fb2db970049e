#include "linear/products.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "linear/tiles.hpp"

namespace spinney {
namespace {

constexpr Size kChunkBytes = 1 << 17;   // a chunk of packed rows stays in the second-level cache
constexpr Size kTaskDoubles = 1 << 21;  // partial sums of all tasks together
constexpr Size kMaxTasks = 16;

/// Copy rows as float64, minus `shift`.  out (n, width), columns beyond p are left alone
void pack_rows(double* out, Size width, const MatrixView& x, Size begin, Size n, const double* shift) {
    const Size p = x.n_columns;
    for (Size r = 0; r < n; ++r) {
        double* to = out + r * width;
        if (x.plain()) {
            const double* from = x.row(begin + r);
            for (Size j = 0; j < p; ++j) to[j] = from[j] - shift[j];
            continue;
        }
        const char* from = x.data + static_cast<std::ptrdiff_t>(begin + r) * x.row_stride;
        for (Size j = 0; j < p; ++j, from += x.column_stride) {
            const double value =
                x.single ? *reinterpret_cast<const float*>(from) : *reinterpret_cast<const double*>(from);
            to[j] = value - shift[j];
        }
    }
}

/// Rows in chunks that fit the cache, and chunks in tasks. Both depend on the sizes only, never on threads.
struct RowChunks {
    Size n_rows, chunk, n_tasks, per_task;

    RowChunks(Size rows, Size width, Size sums_per_task) : n_rows(rows) {
        chunk = std::clamp<Size>(kChunkBytes / (8 * width), 8, 512) / 4 * 4;
        const Size n_chunks = std::max<Size>((rows + chunk - 1) / chunk, 1);
        const Size allowed = std::clamp<Size>(kTaskDoubles / std::max<Size>(sums_per_task, 1), 2, kMaxTasks);
        per_task = (n_chunks + allowed - 1) / allowed;
        n_tasks = (n_chunks + per_task - 1) / per_task;
    }

    /// Call f(task, begin, n) for each chunk of every task.
    template <class F>
    void for_each(int n_threads, Interrupt& interrupt, F&& f) const {
        Pool::shared().parallel_for(
            n_threads, n_tasks,
            [&](Size task, int) {
                const Size end = std::min(n_rows, (task + 1) * per_task * chunk);
                for (Size begin = task * per_task * chunk; begin < end; begin += chunk) {
                    interrupt.poll();
                    f(task, begin, std::min(chunk, end - begin));
                }
            },
            &interrupt);
    }
};

/// Add the partial sums of all tasks to those of the first, in order.
void add_tasks(std::vector<std::vector<double>>& parts) {
    for (Size t = 1; t < parts.size(); ++t)
        for (Size i = 0; i < parts[0].size(); ++i) parts[0][i] += parts[t][i];
}

}  // namespace

void gram_matrix(double* gram, double* cross, const MatrixView& x, const double* shift, const double* weights,
                 const double* residuals, Size n_residuals, int n_threads, Interrupt& interrupt) {
    const Size p = x.n_columns, width = padded(p + 1), tall = gram ? (p + kTile) / kTile * kTile : 0;
    const Size extra = (n_residuals + kTile - 1) / kTile * kTile;
    const RowChunks chunks(x.n_rows, weights && gram ? 2 * width : width, (tall + extra) * width);
    std::vector<std::vector<double>> sums(chunks.n_tasks);
    chunks.for_each(n_threads, interrupt, [&](Size task, Size begin, Size n) {
        thread_local std::vector<double> rows, weighted, rest;
        rows.resize(chunks.chunk * width);
        weighted.resize(weights ? chunks.chunk * width : 0);
        rest.resize(chunks.chunk * extra);
        if (sums[task].empty()) sums[task].assign((tall + extra) * width, 0.0);
        pack_rows(rows.data(), width, x, begin, n, shift);
        for (Size r = 0; r < n; ++r) {
            double* z = rows.data() + r * width;
            z[p] = 1.0;
            std::fill(z + p + 1, z + width, 0.0);
            if (weights && gram)
                for (Size j = 0; j < width; ++j) weighted[r * width + j] = weights[begin + r] * z[j];
            for (Size k = 0; k < extra; ++k)
                rest[r * extra + k] = k < n_residuals ? residuals[(begin + r) * n_residuals + k] : 0.0;
        }
        double* out = sums[task].data();
        const double* left = weights ? weighted.data() : rows.data();
        for (Size i = 0; i < tall; i += kTile) {  // the lower triangle is enough
            const Size n_columns = std::min(width, (i + kTile + kRegister - 1) / kRegister * kRegister);
            add_rows<kTile>(out + i * width, width, left + i, width, 1, rows.data(), width, n, n_columns);
        }
        for (Size k = 0; k < extra; k += kTile)
            add_rows<kTile>(out + (tall + k) * width, width, rest.data() + k, extra, 1, rows.data(), width, n,
                            width);
    });
    add_tasks(sums);
    const double* total = sums[0].data();
    for (Size i = 0; gram && i <= p; ++i)
        for (Size j = 0; j <= i; ++j) gram[i * (p + 1) + j] = gram[j * (p + 1) + i] = total[i * width + j];
    for (Size k = 0; k < n_residuals; ++k)
        std::copy_n(total + (tall + k) * width, p + 1, cross + k * (p + 1));
}

void matrix_product(double* out, const MatrixView& x, const double* w, const double* intercept, Size k,
                    int n_threads, Interrupt& interrupt) {
    const Size p = x.n_columns, wide = (k + kRegister - 1) / kRegister * kRegister;
    std::vector<double> transposed(p * wide, 0.0), zero(p, 0.0);
    for (Size c = 0; c < k; ++c)
        for (Size j = 0; j < p; ++j) transposed[j * wide + c] = w[c * p + j];
    const RowChunks chunks(x.n_rows, p + wide, 0);
    chunks.for_each(n_threads, interrupt, [&](Size, Size begin, Size n) {
        thread_local std::vector<double> packed, sums;
        sums.resize(chunks.chunk * wide);
        for (Size r = 0; r < n; ++r)
            for (Size c = 0; c < wide; ++c) sums[r * wide + c] = c < k ? intercept[c] : 0.0;
        const double* rows = x.row(begin);
        Size step = static_cast<Size>(x.row_stride) / sizeof(double);
        if (!x.plain() || x.row_stride < 0) {
            packed.resize(chunks.chunk * p);
            pack_rows(packed.data(), p, x, begin, n, zero.data());
            rows = packed.data();
            step = p;
        }
        add_product(sums.data(), wide, rows, step, transposed.data(), wide, n, p, wide);
        for (Size r = 0; r < n; ++r) std::copy_n(sums.data() + r * wide, k, out + (begin + r) * k);
    });
}

namespace {

/// Add the weighted squares of a row's leave-one-out errors for n alphas, whole registers of them.
void add_squares(double* __restrict sums, const double* __restrict leverages,
                 const double* __restrict predictions, Size n, double base, double weight, double target) {
    for (Size a = 0; a < n; ++a) {
        const double left = 1.0 - (base + weight * leverages[a]);
        const double error = (target - predictions[a]) / (left < 1e-12 ? 1e-12 : left);
        sums[a] += weight * error * error;
    }
}

}  // namespace

void leave_one_out(double* sums, double* out, const MatrixView& x, const RidgePath& path, int n_threads,
                   Interrupt& interrupt) {
    const Size p = x.n_columns, width = padded(p), n_alphas = path.n_alphas, n_targets = path.n_targets;
    const Size n_scores = n_alphas * n_targets, wide = padded(n_alphas + n_scores);
    // Columns of `solutions`: predictions of each alpha and target; `shrinks`: leverages of each alpha.
    std::vector<double> vectors(p * width, 0.0), solutions(p * wide, 0.0), shrinks(p * wide, 0.0);
    for (Size j = 0; j < p; ++j) {
        std::copy_n(path.vectors + j * p, p, vectors.data() + j * width);
        for (Size a = 0; a < n_alphas; ++a) {
            const double shrink = path.shrink[a * p + j];
            shrinks[j * wide + a] = shrink;
            for (Size t = 0; t < n_targets; ++t)
                solutions[j * wide + a * n_targets + t] = shrink * path.responses[t * p + j];
        }
    }
    const Size n_left = (n_alphas + kRegister - 1) / kRegister * kRegister;
    const Size n_right = (n_scores + kRegister - 1) / kRegister * kRegister;
    const RowChunks chunks(x.n_rows, 2 * width + 2 * wide, n_scores);
    std::vector<std::vector<double>> parts(chunks.n_tasks, std::vector<double>(std::max(n_scores, n_left)));
    chunks.for_each(n_threads, interrupt, [&](Size task, Size begin, Size n) {
        thread_local std::vector<double> packed, projected, leverages, predictions;
        packed.resize(chunks.chunk * p);
        projected.assign(chunks.chunk * width, 0.0);
        leverages.assign(chunks.chunk * wide, 0.0);
        predictions.assign(chunks.chunk * wide, 0.0);
        pack_rows(packed.data(), p, x, begin, n, path.shift);
        add_product(projected.data(), width, packed.data(), p, vectors.data(), width, n, p, width);
        add_product(predictions.data(), wide, projected.data(), width, solutions.data(), wide, n, p, n_right);
        for (double& z : projected) z *= z;
        add_product(leverages.data(), wide, projected.data(), width, shrinks.data(), wide, n, p, n_left);
        for (Size r = 0; r < n; ++r) {
            const Size row = begin + r;
            const double weight = path.weights ? path.weights[row] : 1.0;
            if (n_targets == 1 && !out) {
                add_squares(parts[task].data(), leverages.data() + r * wide, predictions.data() + r * wide,
                            n_left, path.base ? path.base[row] : 0.0, weight, path.targets[row]);
                continue;
            }
            for (Size a = 0; a < n_alphas; ++a) {
                const double leverage = (path.base ? path.base[row] : 0.0) + weight * leverages[r * wide + a];
                const double rest = std::max(1.0 - leverage, 1e-12);
                for (Size t = 0; t < n_targets; ++t) {
                    const Size score = a * n_targets + t;
                    const double error =
                        (path.targets[row * n_targets + t] - predictions[r * wide + score]) / rest;
                    parts[task][score] += weight * error * error;
                    if (out) out[row * n_scores + score] = error;
                }
            }
        }
    });
    add_tasks(parts);
    std::copy_n(parts[0].begin(), n_scores, sums);
}

}  // namespace spinney
