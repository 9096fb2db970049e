// Learns the bins of numeric columns: which rows to look at, their keys in order, and the few-valued columns.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "core/radix_sort.hpp"
#include "core/random.hpp"
#include "core/thread_pool.hpp"
#include "core/types.hpp"
#include "data/bin_edges.hpp"
#include "data/distinct_keys.hpp"
#include "data/input_column.hpp"

namespace spinney {

/// Above this many rows, edges come from a sample of this size; codes, lo and hi from all rows.
inline constexpr Size edge_sample_rows = 200'000;

/// One row out of each of `n_sample` equal stretches, at a place hashed from the stretch: no period in the
/// data can fall in step with it, and it depends on nothing but the number of rows.
inline std::vector<Row> sample_rows(Size n_rows, Size n_sample) {
    std::vector<Row> rows(n_sample);
    for (Size i = 0; i < n_sample; ++i) {
        const std::uint64_t begin = i * n_rows / n_sample, end = (i + 1) * n_rows / n_sample;
        rows[i] = static_cast<Row>(begin + mix(0, i) % (end - begin));
    }
    return rows;
}

/// The factor, a power of two, by which weights become integers whose sum over n rows is exact in a double:
/// masses are sums of rounded products, the same in any order of the rows.
inline double mass_scale(double greatest, Size n_rows) {
    int exponent = 0;
    std::frexp(greatest, &exponent);
    return std::ldexp(1.0, std::min(52 - static_cast<int>(std::bit_width(n_rows)) - exponent, 1000));
}

namespace detail {

/// Scratch memory of at least n items, kept by its thread.
template <class T>
T* need(std::vector<T>& scratch, Size n) {
    if (scratch.size() < n) scratch.resize(n);
    return scratch.data();
}

/// The rows that edges are learned from: all, those of positive weight, or a sample.
struct EdgeRows {
    const double* weights = nullptr;  // null: every row counts once
    bool sampled = false;
    std::vector<Row> rows{};  // empty: all rows
    Size n = 0;

    Row operator[](Size i) const { return rows.empty() ? static_cast<Row>(i) : rows[i]; }
};

inline EdgeRows choose_edge_rows(Size n_rows, const double* weights) {
    EdgeRows chosen{.n = n_rows};
    // Equal weights say nothing: they are left out, so that they and no weights give the same codes.
    if (weights && std::any_of(weights, weights + n_rows, [&](double w) { return w != weights[0]; })) {
        chosen.weights = weights;
        for (Size row = 0; row < n_rows; ++row) {
            if (weights[row] > 0) chosen.rows.push_back(static_cast<Row>(row));
        }
        chosen.n = chosen.rows.size();
    }
    chosen.sampled = chosen.n > edge_sample_rows;
    if (!chosen.sampled) return chosen;
    std::vector<Row> drawn = sample_rows(chosen.n, edge_sample_rows);
    for (Row& row : drawn) row = chosen[row];
    chosen.rows = std::move(drawn);
    chosen.n = edge_sample_rows;
    return chosen;
}

/// Columns whose values lie in the same cache lines are read together, a few at a time: more would take more
/// memory. Whole lines of many rows, which are in no cache.
inline constexpr Size group_columns = 16;
inline Size columns_of_group(Size n_rows) { return n_rows < 16'384 ? 4 : group_columns; }
inline constexpr Size group_block_rows = 256;

template <class Key>
struct KeyScratch {
    std::vector<Key> keys, spare;
    std::vector<std::uint32_t> rows, spare_rows;
    DistinctKeys<Key> distinct;
};

struct BinningScratch {
    KeyScratch<std::uint32_t> narrow;
    KeyScratch<std::uint64_t> wide;
    std::vector<double> values;
};

/// Write the keys of n rows of a column, 0 where one is missing; true if any is.
/// Step: bytes from one value to the next if it is a constant, or 0
template <class T, Size Step, class Key, class RowAt>
bool write_keys(Key* keys, const InputColumn& column, Size n, RowAt&& row_at) {
    const auto* const bytes = static_cast<const char*>(column.data);
    const std::ptrdiff_t step = Step ? static_cast<std::ptrdiff_t>(Step) : column.stride;
    bool missing = false;
    for (Size i = 0; i < n; ++i) {
        T x;
        std::memcpy(&x, bytes + static_cast<std::ptrdiff_t>(row_at(i)) * step, sizeof x);
        keys[i] = x == x ? key_of(x) : Key{0};
        missing |= x != x;
    }
    return missing;
}

/// Gather the keys of a group of columns, missing values left out.  keys (group, rows.n); gives the number of
/// each
template <class T, class Key>
void gather_keys(Key* keys, std::uint32_t* key_rows, std::span<const InputColumn> group, const EdgeRows& rows,
                 Size* counts) {
    std::fill_n(counts, group.size(), Size{0});
    for (Size begin = 0; begin < rows.n; begin += group_block_rows) {
        const Size n = std::min(rows.n - begin, group_block_rows);
        for (Size j = 0; j < group.size(); ++j) {
            const Size at = j * rows.n + counts[j];
            Key* const out = keys + at;
            std::uint32_t* const out_rows = key_rows ? key_rows + at : nullptr;
            const auto write = [&](auto&& row_at) {
                for (Size i = 0; out_rows && i < n; ++i) out_rows[i] = static_cast<std::uint32_t>(row_at(i));
                if (group[j].stride == sizeof(T)) return write_keys<T, sizeof(T)>(out, group[j], n, row_at);
                return write_keys<T, 0>(out, group[j], n, row_at);
            };
            const Row* const listed = rows.rows.data() + begin;
            const bool missing = rows.rows.empty() ? write([=](Size i) { return begin + i; })
                                                   : write([=](Size i) { return Size{listed[i]}; });
            Size kept = missing ? 0 : n;
            for (Size i = 0; missing && i < n; ++i) {
                out[kept] = out[i];
                if (out_rows) out_rows[kept] = out_rows[i];
                kept += out[i] != 0;
            }
            counts[j] += kept;
        }
    }
}

/// Choose the bins of a group of numeric columns of one type.  out (group,)
template <class T, class Key>
void learn_bins(std::span<Bins> out, std::span<const InputColumn> group, const EdgeRows& rows,
                std::uint32_t max_bins, KeyScratch<Key>& scratch, std::vector<double>& masses,
                Interrupt& interrupt) {
    Key* const keys = need(scratch.keys, rows.n * group.size());
    std::uint32_t* key_rows = rows.weights ? need(scratch.rows, rows.n * group.size()) : nullptr;
    Size counts[group_columns];
    gather_keys<T>(keys, key_rows, group, rows, counts);
    for (Size j = 0; j < group.size(); ++j) {
        interrupt.poll();
        Key* const own = keys + j * rows.n;
        const std::span<const Key> sorted(own, counts[j]);
        if (scratch.distinct.collect(sorted, std::min<Size>(max_bins, scratch.distinct.capacity))) {
            bins_of_distinct(out[j], scratch.distinct.sorted(), max_bins);
            continue;
        }
        if (!rows.weights) {
            radix_sort(own, need(scratch.spare, rows.n), counts[j]);
            if (!bins_of_distinct(out[j], sorted, max_bins)) bins_of_quantiles(out[j], sorted, max_bins);
            continue;
        }
        std::uint32_t* const own_rows = key_rows + j * rows.n;
        radix_sort_pairs(own, own_rows, need(scratch.spare, rows.n), need(scratch.spare_rows, rows.n),
                         counts[j], [&] { interrupt.poll(); });
        if (bins_of_distinct(out[j], sorted, max_bins)) continue;
        // Once into sorted order: each later pass would else jump about in memory.
        double* const mass = need(masses, counts[j]);
        double total = 0;
        for (Size i = 0; i < counts[j]; ++i) total += mass[i] = rows.weights[own_rows[i]];
        bins_of_quantiles(out[j], sorted, total, max_bins, [&](Size i) { return mass[i]; });
    }
}

/// The ends of groups of neighbouring numeric columns of one type; strided ones go together, at most `limit`.
inline std::vector<std::pair<Size, Size>> group_numeric(std::span<const InputColumn> columns, Size limit) {
    std::vector<std::pair<Size, Size>> groups;
    for (Size j = 0; j < columns.size(); ++j) {
        const InputColumn& c = columns[j];
        if (c.type == InputColumn::Type::category) continue;
        const std::ptrdiff_t item = c.type == InputColumn::Type::f32 ? 4 : 8;
        const bool joins = !groups.empty() && groups.back().second == j && j - groups.back().first < limit &&
                           columns[j - 1].type == c.type && columns[j - 1].stride == c.stride &&
                           c.stride != item;
        if (joins) {
            groups.back().second = j + 1;
        } else {
            groups.emplace_back(j, j + 1);
        }
    }
    return groups;
}

/// A few distinct numbers in order; full when there are more than the limit.
class DistinctSet {
  public:
    DistinctSet() = default;
    DistinctSet(std::vector<double> values, Size limit) : values_(std::move(values)), limit_(limit) { pad(); }

    bool full() const { return values_.size() > limit_; }
    const std::vector<double>& values() const { return values_; }

    void add(const double* x, Size n) {
        Size begin = 0;
        while (!full() && (begin = first_unknown(x, begin, n)) < n) {
            values_.insert(std::lower_bound(values_.begin(), values_.end(), x[begin]), x[begin] + 0.0);
            pad();
        }
    }

  private:
    void pad() {
        padded_ = values_;
        padded_.resize(std::bit_ceil(values_.size() + 1), std::numeric_limits<double>::infinity());
    }

    // Without branches on the values, for the usual case is that none is new.
    Size first_unknown(const double* x, Size begin, Size n) const {
        const double* const table = padded_.data();
        for (Size i = begin; i < n; ++i) {
            Size at = 0;
            for (Size half = padded_.size() / 2; half > 0; half /= 2)
                at += x[i] > table[at + half - 1] ? half : 0;
            if ((at >= values_.size() || table[at] != x[i]) && x[i] == x[i]) return i;
        }
        return n;
    }

    std::vector<double> values_, padded_;
    Size limit_ = 0;
};

}  // namespace detail

}  // namespace spinney
