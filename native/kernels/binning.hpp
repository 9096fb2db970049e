// Builds the CodeMatrix: reads the input columns, chooses bins or ranks, and codes every value.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bin_edges.hpp"
#include "dtypes.hpp"
#include "matrix.hpp"
#include "radix.hpp"
#include "threads.hpp"

namespace spinney {

/// Above this many rows, unweighted, edges come from a sample of this size; codes, lo and hi from all rows.
inline constexpr Size edge_sample_rows = 200'000;

/// Categories with a bin of their own when binned; the others share one more.
inline constexpr std::uint32_t max_category_bins = 255;

namespace detail {

/// Uninitialised scratch that grows and is kept by its thread.
template <class T>
class Scratch {
  public:
    T* need(Size n) {
        if (n > size_) {
            data_.reset();
            data_.reset(new T[n]);
            size_ = n;
        }
        return data_.get();
    }

  private:
    std::unique_ptr<T[]> data_;
    Size size_ = 0;
};

template <class T>
T load(const InputColumn& column, Size row) {
    T value;  // memcpy: an input array need not be aligned
    const auto* bytes = static_cast<const char*>(column.data);
    std::memcpy(&value, bytes + static_cast<std::ptrdiff_t>(row) * column.stride, sizeof(T));
    return value;
}

/// Copy rows begin..begin+n of a numeric column as doubles.  out (n,)
inline void read_numbers(double* out, const InputColumn& column, Size begin, Size n) {
    if (column.type == InputColumn::Type::f32) {
        for (Size i = 0; i < n; ++i) out[i] = load<float>(column, begin + i);
    } else {
        for (Size i = 0; i < n; ++i) out[i] = load<double>(column, begin + i);
    }
}

/// The rows that edges are learned from: all, those of positive weight, or a sample.
struct EdgeRows {
    const double* weights = nullptr;  // null: every row counts once
    bool sampled = false;
    std::vector<Row> rows;  // empty: all rows
    Size n = 0;

    Row operator[](Size i) const { return rows.empty() ? static_cast<Row>(i) : rows[i]; }
};

/// One row out of each of `n_sample` equal stretches, at a place hashed from the stretch: no period in the
/// data can fall in step with it, and it depends on nothing but the number of rows.
inline std::vector<Row> sample_rows(Size n_rows, Size n_sample) {
    std::vector<Row> rows(n_sample);
    for (Size i = 0; i < n_sample; ++i) {
        const std::uint64_t begin = i * n_rows / n_sample, end = (i + 1) * n_rows / n_sample;
        std::uint64_t hash = (i + 1) * 0x9e3779b97f4a7c15ull;
        hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9ull;
        hash = (hash ^ hash >> 27) * 0x94d049bb133111ebull;
        rows[i] = static_cast<Row>(begin + (hash ^ hash >> 31) % (end - begin));
    }
    return rows;
}

inline EdgeRows choose_edge_rows(Size n_rows, const double* weights) {
    EdgeRows chosen;
    // Equal weights say nothing: they are left out, so that they and no weights give the same codes.
    if (weights && std::any_of(weights, weights + n_rows, [&](double w) { return w != weights[0]; })) {
        chosen.weights = weights;
        for (Size row = 0; row < n_rows; ++row) {
            if (weights[row] > 0) chosen.rows.push_back(static_cast<Row>(row));
        }
        chosen.n = chosen.rows.size();
        return chosen;
    }
    chosen.sampled = n_rows > edge_sample_rows;
    if (chosen.sampled) chosen.rows = sample_rows(n_rows, edge_sample_rows);
    chosen.n = chosen.sampled ? edge_sample_rows : n_rows;
    return chosen;
}

/// Columns whose values lie in the same cache lines are read together, a few at a time: more would take more
/// memory.
inline constexpr Size group_columns = 4;
inline constexpr Size group_block_rows = 256;

template <class Key>
struct KeyScratch {
    Scratch<Key> keys, spare;
    Scratch<std::uint32_t> rows, spare_rows;
};

struct BinningScratch {
    KeyScratch<std::uint32_t> narrow;
    KeyScratch<std::uint64_t> wide;
    Scratch<double> values;
};

/// Gather the keys of a group of columns, missing values left out.  keys (group, rows.n); gives the number of
/// each
template <class T, class Key>
void gather_keys(Key* keys, std::uint32_t* key_rows, std::span<const InputColumn> group, const EdgeRows& rows,
                 Size* counts) {
    std::fill_n(counts, group.size(), Size{0});
    for (Size begin = 0; begin < rows.n; begin += group_block_rows) {
        const Size end = std::min(rows.n, begin + group_block_rows);
        for (Size j = 0; j < group.size(); ++j) {
            Size at = j * rows.n + counts[j];
            for (Size i = begin; i < end; ++i) {
                const T x = load<T>(group[j], rows[i]);
                keys[at] = key_of(x);
                if (key_rows) key_rows[at] = rows[i];
                at += x == x;
            }
            counts[j] = at - j * rows.n;
        }
    }
}

/// Choose the bins of a group of numeric columns of one type.  out (group,)
template <class T>
void learn_bins(std::span<Bins> out, std::span<const InputColumn> group, const EdgeRows& rows,
                std::uint32_t max_bins, BinningScratch& all_scratch, Interrupt& interrupt) {
    using Key = decltype(key_of(T{}));
    KeyScratch<Key>* scratch;
    if constexpr (sizeof(Key) == 4) {
        scratch = &all_scratch.narrow;
    } else {
        scratch = &all_scratch.wide;
    }
    Key* const keys = scratch->keys.need(rows.n * group.size());
    std::uint32_t* key_rows = rows.weights ? scratch->rows.need(rows.n * group.size()) : nullptr;
    Size counts[group_columns];
    gather_keys<T>(keys, key_rows, group, rows, counts);
    for (Size j = 0; j < group.size(); ++j) {
        interrupt.poll();
        const std::span<Key> own(keys + j * rows.n, counts[j]);
        const std::span<const Key> sorted = own;
        const std::uint32_t* own_rows = key_rows + (key_rows ? j * rows.n : 0);
        if (rows.weights) {
            radix_sort_pairs(own.data(), key_rows + j * rows.n, scratch->spare.need(rows.n),
                             scratch->spare_rows.need(rows.n), own.size());
        } else {
            radix_sort(own.data(), scratch->spare.need(rows.n), own.size());
        }
        if (bins_of_distinct(out[j], sorted, max_bins)) continue;
        if (!rows.weights) {
            bins_of_quantiles(out[j], sorted, static_cast<double>(sorted.size()), max_bins,
                              [](Size) { return 1.0; });
            continue;
        }
        const auto mass = [&](Size i) { return rows.weights[own_rows[i]]; };
        double total = 0;
        for (Size i = 0; i < sorted.size(); ++i) total += mass(i);
        bins_of_quantiles(out[j], sorted, total, max_bins, mass);
    }
}

/// The ends of groups of neighbouring numeric columns of one type; strided ones go together.
inline std::vector<std::pair<Size, Size>> group_numeric(std::span<const InputColumn> columns) {
    std::vector<std::pair<Size, Size>> groups;
    for (Size j = 0; j < columns.size(); ++j) {
        const InputColumn& c = columns[j];
        if (c.type == InputColumn::Type::category) continue;
        const std::ptrdiff_t item = c.type == InputColumn::Type::f32 ? 4 : 8;
        const bool joins = !groups.empty() && groups.back().second == j &&
                           j - groups.back().first < group_columns && columns[j - 1].type == c.type &&
                           columns[j - 1].stride == c.stride && c.stride != item;
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

/// A block of rows that fits the second-level cache whatever the number of columns; whole cache lines of
/// codes.
inline Size rows_of_block(Size n_columns) {
    return std::clamp<Size>(32768 / std::max<Size>(n_columns, 1), 64, 2048) / 64 * 64;
}

}  // namespace detail

/// The steps from input columns to codes, kept together because they share what they learn.
class CodeBuilder {
  public:
    CodeBuilder(std::span<const InputColumn> columns, Size n_rows, const double* weights, int n_threads,
                Interrupt& interrupt)
        : columns_(columns),
          weights_(weights),
          n_threads_(n_threads),
          interrupt_(interrupt),
          scratch_(static_cast<Size>(n_threads)) {
        matrix_.n_rows = n_rows;
        matrix_.columns.resize(columns.size());
    }

    CodeMatrix build(std::uint32_t max_bins) {
        count_categories(max_bins != 0);
        if (max_bins == 0) {
            rank_numbers();
        } else {
            rows_ = detail::choose_edge_rows(matrix_.n_rows, weights_);
            learn_numeric_bins(max_bins);
            if (rows_.sampled) look_for_few_values(max_bins);
        }
        code_all_rows(max_bins != 0);
        return std::move(matrix_);
    }

  private:
    using Type = InputColumn::Type;

    template <class F>
    void parallel(Size n_tasks, F&& f) {
        Pool::shared().parallel_for(n_threads_, n_tasks, f, &interrupt_);
    }

    void allocate(CodeColumn& out, std::uint32_t n_bins) {
        out.n_bins = n_bins;
        out.width = n_bins <= 0xff ? 1 : n_bins <= 0xffff ? 2 : 4;
        out.bytes.resize(matrix_.n_rows * out.width);
    }

    // Gives every category a bin; binned, rare ones share the last.
    void count_categories(bool binned) {
        parallel(columns_.size(), [&](Size j, int) {
            const InputColumn& in = columns_[j];
            if (in.type != Type::category) return;
            CodeColumn& out = matrix_.columns[j];
            out.kind = ColumnKind::categorical;
            out.bin_of_category.resize(in.n_categories);
            std::iota(out.bin_of_category.begin(), out.bin_of_category.end(), 0u);
            const bool share = binned && in.n_categories > max_category_bins;
            if (share) share_last_bin(out.bin_of_category, in);
            allocate(out, share ? max_category_bins : in.n_categories);
        });
    }

    void share_last_bin(std::vector<std::uint32_t>& bin_of_category, const InputColumn& in) {
        std::vector<double> mass(in.n_categories, 0.0);
        for (Size row = 0; row < matrix_.n_rows; ++row) {
            const auto c = static_cast<std::uint32_t>(detail::load<std::int32_t>(in, row));
            if (c < in.n_categories) mass[c] += weights_ ? weights_[row] : 1.0;
        }
        std::vector<std::uint32_t> order = bin_of_category;
        const auto more = [&](auto a, auto b) { return mass[a] != mass[b] ? mass[a] > mass[b] : a < b; };
        std::nth_element(order.begin(), order.begin() + (max_category_bins - 1), order.end(), more);
        std::sort(order.begin(), order.begin() + (max_category_bins - 1));
        std::fill(bin_of_category.begin(), bin_of_category.end(), max_category_bins - 1);
        for (std::uint32_t bin = 0; bin < max_category_bins - 1; ++bin) bin_of_category[order[bin]] = bin;
    }

    void learn_numeric_bins(std::uint32_t max_bins) {
        bins_.resize(columns_.size());
        const auto groups = detail::group_numeric(columns_);
        parallel(groups.size(), [&](Size g, int slot) {
            const auto [begin, end] = groups[g];
            learn_bins(begin, end - begin, rows_, max_bins, slot);
        });
    }

    // A column with few values in the sample has few in all, or some were missed: only all rows can tell.
    void look_for_few_values(std::uint32_t max_bins) {
        std::vector<Size> candidates;
        for (Size j = 0; j < columns_.size(); ++j) {
            const bool few = bins_[j].size() > 0 && bins_[j].lo == bins_[j].hi;
            if (columns_[j].type != Type::category && (few || bins_[j].size() == 0)) candidates.push_back(j);
        }
        const Size n_slots = static_cast<Size>(n_threads_);
        std::vector<detail::DistinctSet> sets(n_slots * candidates.size());
        for (Size i = 0; i < sets.size(); ++i) {
            sets[i] = {bins_[candidates[i % candidates.size()]].lo, max_bins};
        }
        for_each_block(candidates.size(), [&](Size begin, Size n, int slot, double* values) {
            for (Size k = 0; k < candidates.size(); ++k) {
                auto& set = sets[static_cast<Size>(slot) * candidates.size() + k];
                if (set.full()) continue;
                detail::read_numbers(values, columns_[candidates[k]], begin, n);
                set.add(values, n);
            }
        });
        for (Size k = 0; k < candidates.size(); ++k) {
            for (Size slot = 1; slot < n_slots; ++slot) {
                const auto& other = sets[slot * candidates.size() + k].values();
                sets[k].add(other.data(), other.size());
            }
            if (!sets[k].full()) bins_[candidates[k]] = {sets[k].values(), sets[k].values()};
        }
        std::erase_if(candidates, [&, k = Size{0}](Size) mutable { return !sets[k++].full(); });
        learn_from_all_rows(candidates, max_bins);
    }

    // For columns of which the sample has seen next to nothing.
    void learn_from_all_rows(const std::vector<Size>& wanted, std::uint32_t max_bins) {
        detail::EdgeRows all;
        all.n = matrix_.n_rows;
        parallel(wanted.size(), [&](Size k, int slot) { learn_bins(wanted[k], 1, all, max_bins, slot); });
    }

    void learn_bins(Size begin, Size n, const detail::EdgeRows& rows, std::uint32_t max_bins, int slot) {
        const auto in = columns_.subspan(begin, n);
        const std::span<Bins> out(bins_.data() + begin, n);
        auto& scratch = scratch_[static_cast<Size>(slot)];
        if (in[0].type == Type::f32) {
            detail::learn_bins<float>(out, in, rows, max_bins, scratch, interrupt_);
        } else {
            detail::learn_bins<double>(out, in, rows, max_bins, scratch, interrupt_);
        }
    }

    // Calls f(begin, n, slot, values) for blocks of rows.
    template <class F>
    void for_each_block(Size n_columns, F&& f) {
        if (n_columns == 0) return;
        const Size block = detail::rows_of_block(n_columns);
        // Some blocks a task: a task for each would be too much ado for tables with many columns.
        const Size per_task = std::max<Size>(1, 4096 / block);
        const Size n_rows = matrix_.n_rows;
        parallel((n_rows + block * per_task - 1) / (block * per_task), [&](Size task, int slot) {
            double* values = scratch_[static_cast<Size>(slot)].values.need(block);
            const Size end = std::min(n_rows, (task + 1) * block * per_task);
            for (Size begin = task * block * per_task; begin < end; begin += block) {
                f(begin, std::min(block, end - begin), slot, values);
            }
        });
    }

    void code_all_rows(bool binned) {
        const Size n_columns = columns_.size(), n_slots = static_cast<Size>(n_threads_);
        std::vector<EdgeTable> tables;
        for (Size j = 0; binned && j < n_columns; ++j) {
            tables.emplace_back(bins_[j]);
        }
        if (binned) {
            parallel(n_columns, [&](Size j, int) {
                if (columns_[j].type != Type::category) {
                    allocate(matrix_.columns[j], static_cast<std::uint32_t>(bins_[j].size()));
                }
            });
        }
        std::vector<std::vector<Bins>> extents(rows_.sampled ? n_slots : 0, bins_);
        std::vector<std::uint8_t> missing(n_slots * n_columns, 0);
        for_each_block(n_columns, [&](Size begin, Size n, int slot, double* values) {
            for (Size j = 0; j < n_columns; ++j) {
                auto& any_missing = missing[static_cast<Size>(slot) * n_columns + j];
                CodeColumn& out = matrix_.columns[j];
                if (columns_[j].type == Type::category) {
                    any_missing |= code_categories(out, columns_[j], begin, n);
                } else if (binned) {
                    detail::read_numbers(values, columns_[j], begin, n);
                    std::uint8_t* codes = out.bytes.data() + begin;
                    tables[j].code(codes, values, n, static_cast<std::uint8_t>(out.n_bins));
                    any_missing |= std::memchr(codes, static_cast<int>(out.n_bins), n) != nullptr;
                    if (rows_.sampled) widen(extents[static_cast<Size>(slot)][j], codes, values, n);
                }
            }
        });
        for (Size j = 0; j < n_columns; ++j) {
            CodeColumn& out = matrix_.columns[j];
            for (Size slot = 0; slot < n_slots; ++slot) out.has_missing |= missing[slot * n_columns + j] != 0;
            if (binned && columns_[j].type != Type::category) publish(out, std::move(bins_[j]), extents, j);
        }
    }

    static bool code_categories(CodeColumn& out, const InputColumn& in, Size begin, Size n) {
        switch (out.width) {
            case 1:
                return code_categories<std::uint8_t>(out, in, begin, n);
            case 2:
                return code_categories<std::uint16_t>(out, in, begin, n);
            default:
                return code_categories<std::uint32_t>(out, in, begin, n);
        }
    }

    template <class T>
    static bool code_categories(CodeColumn& out, const InputColumn& in, Size begin, Size n) {
        T* codes = reinterpret_cast<T*>(out.bytes.data()) + begin;
        bool any_missing = false;
        for (Size i = 0; i < n; ++i) {
            // As unsigned, −1 and whatever else is no category is too large.
            const auto c = static_cast<std::uint32_t>(detail::load<std::int32_t>(in, begin + i));
            const bool known = c < in.n_categories;
            codes[i] = static_cast<T>(known ? out.bin_of_category[c] : out.n_bins);
            any_missing |= !known;
        }
        return any_missing;
    }

    // A sample knows the edges, not the least and greatest value of each bin.
    static void widen(Bins& bins, const std::uint8_t* codes, const double* values, Size n) {
        for (Size i = 0; i < n; ++i) {
            if (codes[i] >= bins.size()) continue;
            double &lo = bins.lo[codes[i]], &hi = bins.hi[codes[i]];
            if (values[i] < lo) lo = values[i];
            if (values[i] > hi) hi = values[i];
        }
    }

    static void publish(CodeColumn& out, Bins&& bins, const std::vector<std::vector<Bins>>& extents, Size j) {
        out.lo = std::move(bins.lo);
        out.hi = std::move(bins.hi);
        for (const auto& extent : extents) {
            for (Size b = 0; b < out.lo.size(); ++b) {
                out.lo[b] = std::min(out.lo[b], extent[j].lo[b] + 0.0);
                out.hi[b] = std::max(out.hi[b], extent[j].hi[b] + 0.0);
            }
        }
    }

    // Exact: the code of a number is its rank among the distinct ones.
    void rank_numbers() {
        parallel(columns_.size(), [&](Size j, int slot) {
            auto& scratch = scratch_[static_cast<Size>(slot)];
            if (columns_[j].type == Type::f32) rank_column<float>(j, scratch.narrow);
            if (columns_[j].type == Type::f64) rank_column<double>(j, scratch.wide);
        });
    }

    template <class T, class Key>
    void rank_column(Size j, detail::KeyScratch<Key>& scratch) {
        const Size n_rows = matrix_.n_rows;
        Key* keys = scratch.keys.need(n_rows);
        std::uint32_t* rows = scratch.rows.need(n_rows);
        detail::EdgeRows all;
        all.n = n_rows;
        Size n = 0;
        detail::gather_keys<T>(keys, rows, columns_.subspan(j, 1), all, &n);
        radix_sort_pairs(keys, rows, scratch.spare.need(n), scratch.spare_rows.need(n), n);
        CodeColumn& out = matrix_.columns[j];
        for (Size i = 0; i < n; ++i) {
            if (i == 0 || keys[i] != keys[i - 1]) out.lo.push_back(number_of(keys[i]));
        }
        out.hi = out.lo;
        out.has_missing = n < n_rows;
        allocate(out, static_cast<std::uint32_t>(out.lo.size()));
        switch (out.width) {
            case 1:
                return write_ranks<std::uint8_t>(out, keys, rows, n);
            case 2:
                return write_ranks<std::uint16_t>(out, keys, rows, n);
            default:
                return write_ranks<std::uint32_t>(out, keys, rows, n);
        }
    }

    template <class T, class Key>
    void write_ranks(CodeColumn& out, const Key* keys, const std::uint32_t* rows, Size n) {
        T* codes = reinterpret_cast<T*>(out.bytes.data());
        if (out.has_missing) std::fill_n(codes, matrix_.n_rows, static_cast<T>(out.n_bins));
        std::uint32_t rank = 0;
        for (Size i = 0; i < n; ++i) {
            rank += i > 0 && keys[i] != keys[i - 1];
            codes[rows[i]] = static_cast<T>(rank);
        }
    }

    std::span<const InputColumn> columns_;
    const double* weights_;
    int n_threads_;
    Interrupt& interrupt_;
    CodeMatrix matrix_;
    detail::EdgeRows rows_;
    std::vector<Bins> bins_;
    std::vector<detail::BinningScratch> scratch_;
};

/// Code every column. max_bins 2..255 bins numbers by quantiles, 0 ranks them exactly. The codes depend on
/// the data alone.
///
/// Rows of weight 0 take no part in choosing bins: bins, lo and hi are those of the table without them.
/// (Exact ranks have all rows' values.)  columns (d,); weights (n_rows,) or null
inline CodeMatrix build_codes(std::span<const InputColumn> columns, Size n_rows, const double* weights,
                              std::uint32_t max_bins, int n_threads, Interrupt& interrupt) {
    if (max_bins == 1 || max_bins > 255) throw std::invalid_argument("max_bins must be 0 or from 2 to 255");
    if (n_rows >= 0xffffffffu) throw std::invalid_argument("a table may have at most 4294967294 rows");
    n_threads = std::clamp(n_threads, 1, Pool::max_threads);
    return CodeBuilder(columns, n_rows, weights, n_threads, interrupt).build(max_bins);
}

}  // namespace spinney
