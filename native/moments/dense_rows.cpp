// The kernels that use vectors: the scatter matrix, and the Gaussian log likelihood.
#include <algorithm>
#include <vector>

#include "moments/class_moments.hpp"
#include "simd/vectors.hpp"

namespace spinney {

namespace {

constexpr Size kRows = 256;  // rows of a centred tile: they stay in the cache
constexpr Size kMaxChunks = 32;
constexpr Size kMaxCells = 1 << 23;

Size padded(Size n) { return (n + kLanes - 1) / kLanes * kLanes; }

/// out += leftᵀ · right, upper triangle in blocks of 8 × 8.  out (width, width); left, right (n_rows, width)
void add_products(double* out, const double* left, const double* right, Size n_rows, Size width) {
    for (Size j = 0; j < width; j += kLanes) {
        for (Size k = j; k < width; k += kLanes) {
            Lanes sums[kLanes] = {};
            for (Size r = 0; r < n_rows; ++r) {
                Lanes b;
                std::memcpy(&b, right + r * width + k, sizeof b);
                const double* a = left + r * width + j;
                for (Size i = 0; i < kLanes; ++i) sums[i] += a[i] * b;
            }
            for (Size i = 0; i < kLanes; ++i) {
                double* to = out + (j + i) * width + k;
                for (Size l = 0; l < kLanes; ++l) to[l] += sums[i][l];
            }
        }
    }
}

/// Fill a tile with x − mean of the class, and another with the same times scale and weight.
void centre_tile(double* centred, double* scaled, const LabeledRows& rows, Size begin, Size end,
                 const double* mean, const double* scale, Size width) {
    const Size d = rows.n_features;
    for (Size r = begin; r < end; ++r) {
        const double *x = rows.x + r * d, *m = mean + static_cast<Size>(rows.codes[r]) * d;
        const double factor = scale[rows.codes[r]] * (rows.weights ? rows.weights[r] : 1.0);
        double* __restrict c = centred + (r - begin) * width, * __restrict s = scaled + (r - begin) * width;
        for (Size j = 0; j < d; ++j) {
            c[j] = x[j] - m[j];
            s[j] = factor * c[j];
        }
    }
}

}  // namespace

void within_scatter(std::span<double> out, const LabeledRows& rows, const double* mean, const double* scale,
                    int n_threads, Interrupt& interrupt) {
    const Size d = rows.n_features, width = padded(d), cells = width * width;
    const Size n_chunks =
        std::clamp<Size>(rows.n_rows / kRows, 1, std::clamp<Size>(kMaxCells / cells, 1, kMaxChunks));
    std::vector<std::vector<double>> parts(n_chunks);
    Pool::shared().parallel_for(
        n_threads, n_chunks,
        [&](Size chunk, int) {
            std::vector<double> part(cells), centred(kRows * width), scaled(kRows * width);
            const Size last = rows.n_rows * (chunk + 1) / n_chunks;
            for (Size begin = rows.n_rows * chunk / n_chunks; begin < last; begin += kRows) {
                const Size end = std::min(begin + kRows, last);
                centre_tile(centred.data(), scaled.data(), rows, begin, end, mean, scale, width);
                add_products(part.data(), scaled.data(), centred.data(), end - begin, width);
            }
            parts[chunk] = std::move(part);
        },
        &interrupt);
    for (Size j = 0; j < d; ++j) {
        for (Size k = j; k < d; ++k) {
            double sum = 0.0;
            for (const auto& part : parts) sum += part[j * width + k];
            out[j * d + k] = out[k * d + j] = sum;
        }
    }
}

void gaussian_log_likelihood(std::span<double> out, const LabeledRows& rows, const double* mean,
                             const double* log_scale, const double* precision, int n_threads,
                             Interrupt& interrupt) {
    constexpr Size tile_rows = 512;
    const Size d = rows.n_features, n_classes = rows.n_classes;
    Pool::shared().parallel_for(
        n_threads, (rows.n_rows + tile_rows - 1) / tile_rows,
        [&](Size tile, int) {
            std::vector<Lanes> columns(d);  // eight rows, one vector per feature
            const Size end = std::min(rows.n_rows, (tile + 1) * tile_rows);
            for (Size begin = tile * tile_rows; begin < end; begin += kLanes) {
                const Size n = std::min<Size>(kLanes, end - begin);
                for (Size l = 0; l < kLanes; ++l) {
                    const double* x = rows.x + (begin + std::min(l, n - 1)) * d;
                    for (Size j = 0; j < d; ++j) columns[j][l] = x[j];
                }
                for (Size k = 0; k < n_classes; ++k) {
                    Lanes sum = {};
                    for (Size j = 0; j < d; ++j) {
                        const Size at = k * d + j;
                        const Lanes delta = columns[j] - mean[at];
                        const Lanes term = log_scale[at] - delta * delta * precision[at];
                        sum += where(columns[j] == columns[j], term, Lanes{});
                    }
                    for (Size l = 0; l < n; ++l) out[(begin + l) * n_classes + k] = sum[l];
                }
            }
        },
        &interrupt);
}

}  // namespace spinney
