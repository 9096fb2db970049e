#include "moments/class_moments.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "simd/vectors.hpp"

namespace spinney {

namespace {

constexpr Size kTile = 1024;     // rows that are read twice while they are in the cache
constexpr Size kMaxChunks = 64;  // more than there are cores to share them
constexpr Size kMaxCells = 1 << 22;

/// The rows of one chunk, [begin, end).
struct Range {
    Size begin, end;
};

/// Chunks of rows: a function of the shape, not of the threads.  cells: numbers that a chunk sums up
class Chunks {
  public:
    Chunks(Size n_rows, Size cells)
        : n_rows_(n_rows),
          n_(std::clamp<Size>(n_rows / kTile, 1,
                              std::clamp<Size>(kMaxCells / std::max<Size>(cells, 1), 1, kMaxChunks))) {}

    Size size() const { return n_; }
    Range operator[](Size chunk) const { return {n_rows_ * chunk / n_, n_rows_ * (chunk + 1) / n_}; }

  private:
    Size n_rows_, n_;
};

/// to = sums of w·x and of the known w, per class.  Rows of a tile without NaN take the first loop only.
template <class Value>
void sum_tile(const LabeledRows& rows, Range range, double* sum, double* known, Value value) {
    const Size d = rows.n_features;
    for (Size r = range.begin; r < range.end; ++r) {
        const double* x = rows.x + r * d;
        const Size at = static_cast<Size>(rows.codes[r]) * d;
        const double w = rows.weights ? rows.weights[r] : 1.0;
        double* __restrict s = sum + at, * __restrict k = known + at;
        for (Size j = 0; j < d; ++j) {
            const bool is_known = x[j] == x[j];
            s[j] += is_known ? w * value(x[j]) : 0.0;
            k[j] += is_known ? w : 0.0;
        }
    }
}

void square_tile(const LabeledRows& rows, Range range, const double* mean, double* squares) {
    const Size d = rows.n_features;
    for (Size r = range.begin; r < range.end; ++r) {
        const double* x = rows.x + r * d;
        const Size at = static_cast<Size>(rows.codes[r]) * d;
        const double w = rows.weights ? rows.weights[r] : 1.0;
        const double* __restrict m = mean + at;
        double* __restrict q = squares + at;
        for (Size j = 0; j < d; ++j) {
            const double delta = x[j] - m[j];
            q[j] += x[j] == x[j] ? w * delta * delta : 0.0;
        }
    }
}

ClassMoments zero_moments(Size cells) {
    return {std::vector<double>(cells), std::vector<double>(cells), std::vector<double>(cells)};
}

/// The moments of two sets of rows together (Chan, Golub and LeVeque, 1983).
void merge(ClassMoments& to, const ClassMoments& from) {
    for (Size c = 0; c < to.weight.size(); ++c) {
        if (from.weight[c] == 0.0) continue;
        const double total = to.weight[c] + from.weight[c], share = from.weight[c] / total;
        const double delta = from.mean[c] - to.mean[c];
        to.mean[c] += delta * share;
        to.squares[c] += from.squares[c] + delta * delta * to.weight[c] * share;
        to.weight[c] = total;
    }
}

void add(std::vector<double>& to, const std::vector<double>& from) {
    for (Size i = 0; i < to.size(); ++i) to[i] += from[i];
}

ClassMoments chunk_moments(const LabeledRows& rows, Range chunk) {
    const Size cells = rows.n_classes * rows.n_features;
    ClassMoments total = zero_moments(cells), tile = zero_moments(cells);
    for (Size begin = chunk.begin; begin < chunk.end; begin += kTile) {
        const Range range{begin, std::min(begin + kTile, chunk.end)};
        for (auto* part : {&tile.weight, &tile.mean, &tile.squares})
            std::fill(part->begin(), part->end(), 0.0);
        sum_tile(rows, range, tile.mean.data(), tile.weight.data(), [](double x) { return x; });
        for (Size c = 0; c < cells; ++c)
            if (tile.weight[c] > 0.0) tile.mean[c] /= tile.weight[c];
        square_tile(rows, range, tile.mean.data(), tile.squares.data());
        merge(total, tile);
    }
    return total;
}

}  // namespace

ClassMoments class_moments(const LabeledRows& rows, int n_threads, Interrupt& interrupt) {
    const Chunks chunks(rows.n_rows, rows.n_classes * rows.n_features);
    std::vector<ClassMoments> parts(chunks.size());
    Pool::shared().parallel_for(
        n_threads, chunks.size(), [&](Size c, int) { parts[c] = chunk_moments(rows, chunks[c]); },
        &interrupt);
    for (Size c = 1; c < parts.size(); ++c) merge(parts[0], parts[c]);
    return std::move(parts[0]);
}

ClassSums class_sums(const LabeledRows& rows, double above, int n_threads, Interrupt& interrupt) {
    const Size cells = rows.n_classes * rows.n_features;
    const Chunks chunks(rows.n_rows, cells);
    std::vector<ClassSums> parts(chunks.size());
    Pool::shared().parallel_for(
        n_threads, chunks.size(),
        [&](Size c, int) {
            ClassSums part{std::vector<double>(cells), std::vector<double>(cells)};
            if (std::isnan(above))
                sum_tile(rows, chunks[c], part.sum.data(), part.weight.data(), [](double x) { return x; });
            else
                sum_tile(rows, chunks[c], part.sum.data(), part.weight.data(),
                         [above](double x) { return x > above ? 1.0 : 0.0; });
            parts[c] = std::move(part);
        },
        &interrupt);
    for (Size c = 1; c < parts.size(); ++c) {
        add(parts[0].weight, parts[c].weight);
        add(parts[0].sum, parts[c].sum);
    }
    return std::move(parts[0]);
}

template <class Integer>
void integer_codes(std::int32_t* codes, Integer* highest, Integer* lowest, const Integer* x, Size n_rows,
                   Size n_features, int n_threads, Interrupt& interrupt) {
    const Chunks chunks(n_rows, 1);
    std::vector<std::vector<Integer>> highs(chunks.size(), std::vector<Integer>(n_features));
    std::vector<Integer> lows(chunks.size());
    Pool::shared().parallel_for(
        n_threads, chunks.size(),
        [&](Size c, int) {
            Integer* __restrict high = highs[c].data();
            Integer low = 0;
            for (Size r = chunks[c].begin; r < chunks[c].end; ++r) {
                const Integer* __restrict from = x + r * n_features;
                std::int32_t* __restrict to = codes + r * n_features;
                for (Size j = 0; j < n_features; ++j) {
                    to[j] = static_cast<std::int32_t>(from[j]);
                    high[j] = std::max(high[j], from[j]);
                    low = std::min(low, from[j]);
                }
            }
            lows[c] = low;
        },
        &interrupt);
    *lowest = *std::min_element(lows.begin(), lows.end());
    std::copy(highs[0].begin(), highs[0].end(), highest);
    for (const auto& high : highs)
        for (Size j = 0; j < n_features; ++j) highest[j] = std::max(highest[j], high[j]);
}

template void integer_codes(std::int32_t*, std::int64_t*, std::int64_t*, const std::int64_t*, Size, Size, int,
                            Interrupt&);
template void integer_codes(std::int32_t*, std::int32_t*, std::int32_t*, const std::int32_t*, Size, Size, int,
                            Interrupt&);

namespace {

/// Count the categories of a chunk of rows without weights; codes that no category has count in a last cell.
void count_rows(std::vector<double>& out, const CategoryRows& rows, const std::int32_t* classes,
                Range range) {
    const Size n_classes = rows.n_classes;
    std::vector<std::uint32_t> counts(out.size() + n_classes);
    std::vector<std::uint64_t> begin(rows.n_features), size(rows.n_features);
    for (Size j = 0; j < rows.n_features; ++j) {
        begin[j] = static_cast<std::uint64_t>(rows.offset[j]);
        size[j] = static_cast<std::uint64_t>(rows.offset[j + 1] - rows.offset[j]);
    }
    const std::uint64_t none = out.size() / n_classes;
    for (Size r = range.begin; r < range.end; ++r) {
        const std::int32_t* codes = rows.codes + r * rows.n_features;
        std::uint32_t* to = counts.data() + classes[r];
        for (Size j = 0; j < rows.n_features; ++j) {
            const auto code = static_cast<std::uint64_t>(codes[j]);  // −1 is a large number
            ++to[(code < size[j] ? begin[j] + code : none) * n_classes];
        }
    }
    for (Size i = 0; i < out.size(); ++i) out[i] = counts[i];
}

}  // namespace

void category_counts(std::span<double> out, const CategoryRows& rows, const std::int32_t* classes,
                     const double* weights, int n_threads, Interrupt& interrupt) {
    const Chunks chunks(rows.n_rows, out.size());
    std::vector<std::vector<double>> parts(chunks.size());
    Pool::shared().parallel_for(
        n_threads, chunks.size(),
        [&](Size c, int) {
            std::vector<double> part(out.size());
            if (!weights) count_rows(part, rows, classes, chunks[c]);
            for (Size r = chunks[c].begin; weights && r < chunks[c].end; ++r) {
                const std::int32_t* codes = rows.codes + r * rows.n_features;
                double* to = part.data() + classes[r];
                const double w = weights[r];
                for (Size j = 0; j < rows.n_features; ++j)
                    if (rows.has(j, codes[j]))
                        to[static_cast<Size>(rows.offset[j] + codes[j]) * rows.n_classes] += w;
            }
            parts[c] = std::move(part);
        },
        &interrupt);
    std::fill(out.begin(), out.end(), 0.0);
    for (const auto& part : parts)
        for (Size i = 0; i < out.size(); ++i) out[i] += part[i];
}

void sum_categories(std::span<double> out, const CategoryRows& rows, const double* table, int n_threads,
                    Interrupt& interrupt) {
    const Size n_classes = rows.n_classes;
    Pool::shared().parallel_for(
        n_threads, (rows.n_rows + kTile - 1) / kTile,
        [&](Size tile, int) {
            for (Size r = tile * kTile; r < std::min(rows.n_rows, (tile + 1) * kTile); ++r) {
                const std::int32_t* codes = rows.codes + r * rows.n_features;
                double* to = out.data() + r * n_classes;
                std::fill(to, to + n_classes, 0.0);
                for (Size j = 0; j < rows.n_features; ++j) {
                    if (!rows.has(j, codes[j])) continue;
                    const double* from = table + static_cast<Size>(rows.offset[j] + codes[j]) * n_classes;
                    for (Size k = 0; k < n_classes; ++k) to[k] += from[k];
                }
            }
        },
        &interrupt);
}

// ---- kernels that use vectors ----

namespace {

constexpr Size kRows = 256;  // rows of a centred tile: they stay in the cache
constexpr Size kMaxParts = 32;
constexpr Size kMaxPartCells = 1 << 23;

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
        std::clamp<Size>(rows.n_rows / kRows, 1, std::clamp<Size>(kMaxPartCells / cells, 1, kMaxParts));
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
