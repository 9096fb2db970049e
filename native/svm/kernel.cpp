#include "svm/kernel.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/exponential.hpp"
#include "simd/vectors.hpp"

namespace spinney {

namespace {

constexpr Size kMinWork = 1 << 16;  // products below which threads cost more than they save

double root_of(double x) { return std::sqrt(x); }
Lanes root_of(Lanes x) {
    for (Size i = 0; i < kLanes; ++i) x[i] = std::sqrt(x[i]);
    return x;
}

template <class V>
V power(V x, int n) {
    V out = every<V>(1.0);
    for (; n > 0; n >>= 1, x *= x)
        if (n & 1) out *= x;
    return out;
}

/// The kernel from dot product and the sum of both squared norms.
template <class V>
[[gnu::always_inline]] inline V value_of(const Kernel& k, V dot, V norms) {
    if (k.type == KernelType::linear) return dot;
    if (k.type == KernelType::polynomial) return power(dot * k.gamma + k.coef0, k.degree);
    if (k.type == KernelType::sigmoid)
        return 1.0 - 2.0 / (exp_same_bits((dot * k.gamma + k.coef0) * 2.0) + 1.0);
    V distance = norms - (dot + dot);
    distance = where(distance < 0.0, every<V>(0.0), distance);
    if (k.type == KernelType::laplacian) distance = root_of(distance);
    return exp_same_bits(distance * -k.gamma);
}

bool by_distance(const Kernel& k) {
    return k.type == KernelType::gaussian || k.type == KernelType::laplacian;
}

Lanes load(const double* from) {
    Lanes out;
    std::memcpy(&out, from, sizeof out);
    return out;
}

/// Dense rows in blocks of eight: block b holds feature j of its rows at (b · n_features + j) · 8.
class BlockedRows {
  public:
    BlockedRows(const FeatureRows& rows, const Kernel& kernel)
        : n_(rows.n_rows), d_(rows.n_features), shift_(d_), kernel_(kernel) {
        const Size n_blocks = padded_blocks(n_);
        values_.resize(n_blocks * d_ * kLanes);
        norms_.resize(n_blocks * kLanes);
        // Distances do not change when all rows move; near the origin, norms lose fewer digits.
        if (by_distance(kernel)) {
            for (Size r = 0; r < n_; ++r)
                for (Size j = 0; j < d_; ++j) shift_[j] += rows.values[r * d_ + j];
            for (double& s : shift_) s /= static_cast<double>(n_);
        }
        for (Size r = 0; r < n_; ++r) {
            double* to = at(r);
            for (Size j = 0; j < d_; ++j) to[j * kLanes] = rows.values[r * d_ + j] - shift_[j];
            norms_[r] = norm_of(to, kLanes);
        }
    }

    static constexpr Size kGroup = 8;  // blocks beyond the last row are zeros, so that all groups are full

    /// Blocks of so many rows, in full groups.
    static Size padded_blocks(Size n) { return (n + kGroup * kLanes - 1) / (kGroup * kLanes) * kGroup; }

    Size size() const { return n_; }
    Size n_features() const { return d_; }
    double norm(Size r) const { return norms_[r]; }

    void swap(Size a, Size b) {
        double *x = at(a), *y = at(b);
        for (Size j = 0; j < d_; ++j) std::swap(x[j * kLanes], y[j * kLanes]);
        std::swap(norms_[a], norms_[b]);
    }

    /// Copy a row of these.  out (n_features,)
    void copy_row(double* out, Size r) const {
        for (Size j = 0; j < d_; ++j) out[j] = values_[(r / kLanes * d_ + j) * kLanes + r % kLanes];
    }

    /// Copy another row, moved as these are; returns its squared norm.
    double copy_other(double* out, const double* x) const {
        for (Size j = 0; j < d_; ++j) out[j] = x[j] - shift_[j];
        return norm_of(out, 1);
    }

    /// K of Q query rows and B blocks from `block` on.  out[q] (B · 8,); queries (Q, n_features)
    template <Size Q, Size B>
    void kernel_block(Lanes (*out)[B], const double* queries, const double* query_norms, Size block) const {
        Lanes dots[Q][B] = {};
        const double* from = values_.data() + block * d_ * kLanes;
        for (Size j = 0; j < d_; ++j) {
            Lanes x[B];
            for (Size b = 0; b < B; ++b) x[b] = load(from + (b * d_ + j) * kLanes);
            for (Size q = 0; q < Q; ++q) {
                const double z = queries[q * d_ + j];
                for (Size b = 0; b < B; ++b) dots[q][b] += x[b] * z;
            }
        }
        if (kernel_.type == KernelType::gaussian)  // apart from the others, so that exponentials overlap
            finish<Q, B>(out, dots, query_norms, block, Kernel{KernelType::gaussian, kernel_.gamma});
        else
            finish<Q, B>(out, dots, query_norms, block, kernel_);
    }

  private:
    template <Size Q, Size B>
    [[gnu::always_inline]] void finish(Lanes (*out)[B], const Lanes (*dots)[B], const double* query_norms,
                                       Size block, const Kernel& kernel) const {
#pragma GCC unroll 8
        for (Size i = 0; i < Q * B; ++i) {
            const Size q = i / B, b = i % B;
            const Lanes norms = load(norms_.data() + (block + b) * kLanes) + query_norms[q];
            out[q][b] = value_of<Lanes>(kernel, dots[q][b], norms);
        }
    }

    double* at(Size r) { return values_.data() + (r / kLanes) * d_ * kLanes + r % kLanes; }

    double norm_of(const double* x, Size stride) const {
        double sum = 0.0;
        for (Size j = 0; j < d_; ++j) sum += x[j * stride] * x[j * stride];
        return sum;
    }

    Size n_, d_;
    std::vector<double> values_, norms_, shift_;
    Kernel kernel_;
};

/// Write eight values, those beyond [begin, end) left out.
void store(float* out, Lanes values, Size first, Size begin, Size end) {
    if (first >= begin && first + kLanes <= end) {
        const auto narrow = __builtin_convertvector(values, VectorOf<float, kLanes>::type);
        std::memcpy(out + (first - begin), &narrow, sizeof narrow);
        return;
    }
    for (Size l = 0; l < kLanes; ++l)
        if (first + l >= begin && first + l < end) out[first + l - begin] = static_cast<float>(values[l]);
}

class DenseKernel final : public KernelMatrix {
  public:
    DenseKernel(const FeatureRows& rows, const Kernel& kernel) : rows_(rows, kernel), kernel_(kernel) {}

    void row(float* out, Size position, Size begin, Size end, int n_threads) const override {
        fill<1, 8>(&out, &position, begin, end, n_threads);
    }

    void rows(float* const* out, const Size* positions, Size end, int n_threads) const override {
        fill<kBlock, 2>(out, positions, 0, end, n_threads);
    }

    bool blocks() const override { return true; }

    double diagonal(Size p) const override {
        return value_of<double>(kernel_, rows_.norm(p), rows_.norm(p) + rows_.norm(p));
    }

    void swap(Size a, Size b) override { rows_.swap(a, b); }

  private:
    template <Size Q, Size B>
    void fill(float* const* out, const Size* positions, Size begin, Size end, int n_threads) const {
        const Size d = rows_.n_features();
        std::vector<double> queries(Q * d);
        double norms[Q];
        for (Size q = 0; q < Q; ++q) {
            rows_.copy_row(queries.data() + q * d, positions[q]);
            norms[q] = rows_.norm(positions[q]);
        }
        const Size first = begin / kLanes / B, last = (end + B * kLanes - 1) / (B * kLanes);
        const bool shared = n_threads > 1 && Q * (end - begin) * d >= kMinWork;
        const Size n_tasks = shared ? static_cast<Size>(n_threads) : 1;
        Pool::shared().parallel_for(shared ? n_threads : 1, n_tasks, [&](Size task, int) {
            const Size to = first + (last - first) * (task + 1) / n_tasks;
            for (Size group = first + (last - first) * task / n_tasks; group < to; ++group) {
                Lanes found[Q][B];
                rows_.kernel_block<Q, B>(found, queries.data(), norms, group * B);
                for (Size q = 0; q < Q; ++q)
                    for (Size b = 0; b < B; ++b)
                        store(out[q], found[q][b], (group * B + b) * kLanes, begin, end);
            }
        });
    }

    BlockedRows rows_;
    Kernel kernel_;
};

/// Compressed rows with their squared norms; a query is scattered to a dense vector.
class SparseRows {
  public:
    explicit SparseRows(const FeatureRows& rows) : rows_(rows), norms_(rows.n_rows) {
        for (Size r = 0; r < rows.n_rows; ++r) each(r, [&](Size, double x) { norms_[r] += x * x; });
    }

    template <class F>
    void each(Size r, F&& f) const {
        for (auto i = rows_.begin[r]; i < rows_.begin[r + 1]; ++i)
            f(static_cast<Size>(rows_.indices[i]), rows_.values[i]);
    }

    double norm(Size r) const { return norms_[r]; }
    double times(Size r, const double* dense) const {
        double sum = 0.0;
        each(r, [&](Size j, double x) { sum += x * dense[j]; });
        return sum;
    }
    const FeatureRows& rows() const { return rows_; }

  private:
    FeatureRows rows_;
    std::vector<double> norms_;
};

class SparseKernel final : public KernelMatrix {
  public:
    SparseKernel(const FeatureRows& rows, const Kernel& kernel)
        : rows_(rows), kernel_(kernel), id_(rows.n_rows) {
        for (Size r = 0; r < id_.size(); ++r) id_[r] = static_cast<std::uint32_t>(r);
    }

    void row(float* out, Size position, Size begin, Size end, int n_threads) const override {
        const Size r = id_[position];
        std::vector<double> query(rows_.rows().n_features);
        rows_.each(r, [&](Size j, double x) { query[j] = x; });
        constexpr Size tile = 512;
        const Size n_tiles = (end - begin + tile - 1) / tile;
        Pool::shared().parallel_for(n_tiles > 2 ? n_threads : 1, n_tiles, [&](Size t, int) {
            for (Size k = begin + t * tile; k < std::min(end, begin + (t + 1) * tile); ++k) {
                const double dot = rows_.times(id_[k], query.data());
                out[k - begin] =
                    static_cast<float>(value_of<double>(kernel_, dot, rows_.norm(id_[k]) + rows_.norm(r)));
            }
        });
    }

    double diagonal(Size p) const override {
        const double norm = rows_.norm(id_[p]);
        return value_of<double>(kernel_, norm, norm + norm);
    }

    void swap(Size a, Size b) override { std::swap(id_[a], id_[b]); }

  private:
    SparseRows rows_;
    Kernel kernel_;
    std::vector<std::uint32_t> id_;
};

class PrecomputedKernel final : public KernelMatrix {
  public:
    explicit PrecomputedKernel(const FeatureRows& rows) : rows_(rows), id_(rows.n_rows) {
        for (Size r = 0; r < id_.size(); ++r) id_[r] = static_cast<std::uint32_t>(r);
    }

    void row(float* out, Size position, Size begin, Size end, int) const override {
        const double* from = rows_.values + id_[position] * rows_.n_features;
        for (Size k = begin; k < end; ++k) out[k - begin] = static_cast<float>(from[id_[k]]);
    }

    double diagonal(Size p) const override { return rows_.values[id_[p] * rows_.n_features + id_[p]]; }

    void swap(Size a, Size b) override { std::swap(id_[a], id_[b]); }

  private:
    FeatureRows rows_;
    std::vector<std::uint32_t> id_;
};

/// Σ coef · values in eight running sums.
double dot_range(const double* coef, const double* values, Size n) {
    Lanes sum = {};
    Size i = 0;
    for (; i + kLanes <= n; i += kLanes) sum += load(coef + i) * load(values + i);
    double rest = 0.0;
    for (; i < n; ++i) rest += coef[i] * values[i];
    return (((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]))) + rest;
}

/// What all rows of a prediction share.
struct Sums {
    std::span<const KernelTerm> terms;
    std::span<const double> coef, intercept;

    /// values (n_support,): the kernel values of one row.  out (n_outputs,)
    void add(double* out, const double* values) const {
        std::copy(intercept.begin(), intercept.end(), out);
        for (const KernelTerm& t : terms)
            out[t.output] +=
                dot_range(coef.data() + t.first_coef, values + t.begin, static_cast<Size>(t.end - t.begin));
    }
};

void dense_sums(double* out, const FeatureRows& rows, const BlockedRows& support, const Sums& sums,
                int n_threads, Interrupt& interrupt) {
    constexpr Size Q = 4, B = 2, tile = 32;
    const Size n_blocks = BlockedRows::padded_blocks(support.size()), stride = n_blocks * kLanes;
    const Size d = rows.n_features;
    Pool::shared().parallel_for(
        n_threads, (rows.n_rows + tile - 1) / tile,
        [&](Size t, int) {
            std::vector<double> queries(Q * d), values(Q * stride);
            double norms[Q];
            for (Size r = t * tile; r < std::min(rows.n_rows, (t + 1) * tile); r += Q) {
                const Size n = std::min(Q, rows.n_rows - r);
                for (Size q = 0; q < Q; ++q)
                    norms[q] = support.copy_other(queries.data() + q * d,
                                                  rows.values + (r + std::min(q, n - 1)) * d);
                for (Size block = 0; block < n_blocks; block += B) {
                    Lanes found[Q][B];
                    support.kernel_block<Q, B>(found, queries.data(), norms, block);
                    for (Size q = 0; q < Q; ++q)
                        std::memcpy(values.data() + q * stride + block * kLanes, found[q], sizeof found[q]);
                }
                for (Size q = 0; q < n; ++q)
                    sums.add(out + (r + q) * sums.intercept.size(), values.data() + q * stride);
            }
        },
        &interrupt);
}

void sparse_sums(double* out, const FeatureRows& rows, const FeatureRows& support, const Kernel& kernel,
                 const Sums& sums, int n_threads, Interrupt& interrupt) {
    const SparseRows mine(rows), theirs(support);
    constexpr Size tile = 16;
    Pool::shared().parallel_for(
        n_threads, (rows.n_rows + tile - 1) / tile,
        [&](Size t, int) {
            std::vector<double> query(rows.n_features), values(support.n_rows);
            for (Size r = t * tile; r < std::min(rows.n_rows, (t + 1) * tile); ++r) {
                mine.each(r, [&](Size j, double x) { query[j] = x; });
                for (Size s = 0; s < support.n_rows; ++s)
                    values[s] = value_of<double>(kernel, theirs.times(s, query.data()),
                                                 mine.norm(r) + theirs.norm(s));
                sums.add(out + r * sums.intercept.size(), values.data());
                mine.each(r, [&](Size j, double) { query[j] = 0.0; });
            }
        },
        &interrupt);
}

}  // namespace

std::unique_ptr<KernelMatrix> make_kernel_matrix(const FeatureRows& rows, const Kernel& kernel) {
    if (kernel.type == KernelType::precomputed) return std::make_unique<PrecomputedKernel>(rows);
    if (rows.is_sparse()) return std::make_unique<SparseKernel>(rows, kernel);
    return std::make_unique<DenseKernel>(rows, kernel);
}

void kernel_sums(std::span<double> out, const FeatureRows& rows, const FeatureRows& support,
                 const Kernel& kernel, std::span<const KernelTerm> terms, std::span<const double> coef,
                 std::span<const double> intercept, int n_threads, Interrupt& interrupt) {
    const Sums sums{terms, coef, intercept};
    if (kernel.type == KernelType::precomputed) {
        for (Size r = 0; r < rows.n_rows; ++r)
            sums.add(out.data() + r * intercept.size(), rows.values + r * rows.n_features);
    } else if (rows.is_sparse()) {
        sparse_sums(out.data(), rows, support, kernel, sums, n_threads, interrupt);
    } else {
        dense_sums(out.data(), rows, BlockedRows(support, kernel), sums, n_threads, interrupt);
    }
}

}  // namespace spinney
