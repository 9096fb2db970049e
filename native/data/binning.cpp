#include "data/binning.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/radix_sort.hpp"
#include "data/bin_coder.hpp"
#include "data/bin_edges.hpp"
#include "data/bin_learning.hpp"
#include "simd/edge_table.hpp"

namespace spinney {

namespace {

/// A block of rows that fits the second-level cache whatever the number of columns; whole cache lines of
/// codes.
Size rows_of_block(Size n_columns) {
    return std::clamp<Size>(32768 / std::max<Size>(n_columns, 1), 64, 2048) / 64 * 64;
}

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
        const double scale = weights_ ? mass_scale(greatest_weight(), matrix_.n_rows) : 1.0;
        std::vector<double> mass(in.n_categories, 0.0);
        for (Size row = 0; row < matrix_.n_rows; ++row) {
            const auto c = static_cast<std::uint32_t>(load_value<std::int32_t>(in, row));
            if (c < in.n_categories) mass[c] += weights_ ? std::nearbyint(weights_[row] * scale) : 1.0;
        }
        bin_of_category = bins_of_categories(mass);
    }

    double greatest_weight() const { return *std::max_element(weights_, weights_ + matrix_.n_rows); }

    void learn_numeric_bins(std::uint32_t max_bins) {
        bins_.resize(columns_.size());
        const auto groups = detail::group_numeric(columns_, detail::columns_of_group(rows_.n));
        parallel(groups.size(), [&](Size g, int thread) {
            const auto [begin, end] = groups[g];
            learn_bins(begin, end - begin, rows_, max_bins, thread);
        });
    }

    // A column with few values in the sample has few in all, or some were missed: only all rows can tell.
    void look_for_few_values(std::uint32_t max_bins) {
        std::vector<Size> candidates;
        for (Size j = 0; j < columns_.size(); ++j) {
            const bool few = bins_[j].size() > 0 && bins_[j].lo == bins_[j].hi;
            if (columns_[j].type != Type::category && (few || bins_[j].size() == 0)) candidates.push_back(j);
        }
        const Size n_threads = static_cast<Size>(n_threads_);
        std::vector<detail::DistinctSet> sets(n_threads * candidates.size());
        for (Size i = 0; i < sets.size(); ++i) {
            sets[i] = {bins_[candidates[i % candidates.size()]].lo, max_bins};
        }
        for_each_block(candidates.size(), [&](Size begin, Size n, int thread, double* values) {
            for (Size k = 0; k < candidates.size(); ++k) {
                auto& set = sets[static_cast<Size>(thread) * candidates.size() + k];
                if (set.full()) continue;
                read_values(values, 1, columns_[candidates[k]], begin, n);
                for (Size i = 0; rows_.weights && i < n; ++i)
                    if (!(rows_.weights[begin + i] > 0)) values[i] = std::numeric_limits<double>::quiet_NaN();
                set.add(values, n);
            }
        });
        for (Size k = 0; k < candidates.size(); ++k) {
            for (Size thread = 1; thread < n_threads; ++thread) {
                const auto& other = sets[thread * candidates.size() + k].values();
                sets[k].add(other.data(), other.size());
            }
            if (!sets[k].full()) bins_[candidates[k]] = {sets[k].values(), sets[k].values()};
        }
        // The sample has seen next to nothing of the others.
        std::erase_if(candidates, [&, k = Size{0}](Size) mutable { return !sets[k++].full(); });
        if (candidates.empty()) return;
        std::vector<double> masses;
        const detail::EdgeRows all = all_rows(masses);
        parallel(candidates.size(),
                 [&](Size k, int thread) { learn_bins(candidates[k], 1, all, max_bins, thread); });
    }

    // All rows that count. The masses of weighted ones are integers, so that their sums are exact.
    detail::EdgeRows all_rows(std::vector<double>& masses) const {
        detail::EdgeRows all{.n = matrix_.n_rows};
        if (!rows_.weights) return all;
        masses.assign(weights_, weights_ + matrix_.n_rows);
        const double scale = mass_scale(greatest_weight(), matrix_.n_rows);
        for (Size row = 0; row < matrix_.n_rows; ++row) {
            if (masses[row] > 0) all.rows.push_back(static_cast<Row>(row));
            masses[row] = std::nearbyint(masses[row] * scale);
        }
        all.weights = masses.data();
        all.n = all.rows.size();
        return all;
    }

    void learn_bins(Size begin, Size n, const detail::EdgeRows& rows, std::uint32_t max_bins, int thread) {
        const auto in = columns_.subspan(begin, n);
        const std::span<Bins> out(bins_.data() + begin, n);
        auto& scratch = scratch_[static_cast<Size>(thread)];
        if (in[0].type == Type::f32)
            detail::learn_bins<float>(out, in, rows, max_bins, scratch.narrow, scratch.values, interrupt_);
        else
            detail::learn_bins<double>(out, in, rows, max_bins, scratch.wide, scratch.values, interrupt_);
    }

    // Calls f(begin, n, thread, values) for blocks of rows.
    template <class F>
    void for_each_block(Size n_columns, F&& f) {
        if (n_columns == 0) return;
        const Size block = rows_of_block(n_columns);
        // Some blocks a task: a task for each would be too much ado for tables with many columns.
        const Size per_task = std::max<Size>(1, 4096 / block);
        const Size n_rows = matrix_.n_rows;
        parallel((n_rows + block * per_task - 1) / (block * per_task), [&](Size task, int thread) {
            double* values = detail::need(scratch_[static_cast<Size>(thread)].values, block);
            const Size end = std::min(n_rows, (task + 1) * block * per_task);
            for (Size begin = task * block * per_task; begin < end; begin += block) {
                f(begin, std::min(block, end - begin), thread, values);
            }
        });
    }

    void code_all_rows(bool binned) {
        const Size n_columns = columns_.size(), n_threads = static_cast<Size>(n_threads_);
        std::vector<EdgeTable> tables(bins_.begin(), bins_.end());
        parallel(bins_.size(), [&](Size j, int) {
            if (columns_[j].type != Type::category)
                allocate(matrix_.columns[j], static_cast<std::uint32_t>(bins_[j].size()));
        });
        std::vector<std::vector<Bins>> extents(rows_.sampled ? n_threads : 0, bins_);
        std::vector<std::uint8_t> missing(n_threads * n_columns, 0);
        for_each_block(n_columns, [&](Size begin, Size n, int thread, double* values) {
            for (Size j = 0; j < n_columns; ++j) {
                auto& any_missing = missing[static_cast<Size>(thread) * n_columns + j];
                CodeColumn& out = matrix_.columns[j];
                if (columns_[j].type == Type::category) {
                    any_missing |= code_categories(out, columns_[j], begin, n);
                } else if (binned) {
                    read_values(values, 1, columns_[j], begin, n);
                    std::uint8_t* codes = out.bytes.data() + begin;
                    tables[j].code(codes, values, n, static_cast<std::uint8_t>(out.n_bins));
                    any_missing |= std::memchr(codes, static_cast<int>(out.n_bins), n) != nullptr;
                    const double* weights = rows_.weights ? rows_.weights + begin : nullptr;
                    if (rows_.sampled)
                        widen_bins(extents[static_cast<Size>(thread)][j], codes, values, weights, n);
                }
            }
        });
        for (Size j = 0; j < n_columns; ++j) {
            CodeColumn& out = matrix_.columns[j];
            for (Size thread = 0; thread < n_threads; ++thread)
                out.has_missing |= missing[thread * n_columns + j] != 0;
            if (binned && columns_[j].type != Type::category) publish(out, std::move(bins_[j]), extents, j);
        }
    }

    static bool code_categories(CodeColumn& out, const InputColumn& in, Size begin, Size n) {
        return visit_codes(out, [&]<class C>(C* codes) {
            bool any_missing = false;
            for (Size row = begin; row < begin + n; ++row) {
                // As unsigned, −1 and whatever else is no category is too large.
                const auto c = static_cast<std::uint32_t>(load_value<std::int32_t>(in, row));
                const bool known = c < in.n_categories;
                codes[row] = static_cast<C>(known ? out.bin_of_category[c] : out.n_bins);
                any_missing |= !known;
            }
            return any_missing;
        });
    }

    static void publish(CodeColumn& out, Bins&& bins, const std::vector<std::vector<Bins>>& extents, Size j) {
        for (const auto& extent : extents) merge_bins(bins, extent[j]);
        out.lo = std::move(bins.lo);
        out.hi = std::move(bins.hi);
    }

    // Exact: the code of a number is its rank among the distinct ones.
    void rank_numbers() {
        parallel(columns_.size(), [&](Size j, int thread) {
            auto& scratch = scratch_[static_cast<Size>(thread)];
            if (columns_[j].type == Type::f32) rank_column<float>(j, scratch.narrow);
            if (columns_[j].type == Type::f64) rank_column<double>(j, scratch.wide);
        });
    }

    template <class T, class Key>
    void rank_column(Size j, detail::KeyScratch<Key>& scratch) {
        const Size n_rows = matrix_.n_rows;
        Key* keys = detail::need(scratch.keys, n_rows);
        std::uint32_t* rows = detail::need(scratch.rows, n_rows);
        Size n = 0;
        detail::gather_keys<T>(keys, rows, columns_.subspan(j, 1), detail::EdgeRows{.n = n_rows}, &n);
        radix_sort_pairs(keys, rows, detail::need(scratch.spare, n), detail::need(scratch.spare_rows, n), n,
                         [&] { interrupt_.poll(); });
        CodeColumn& out = matrix_.columns[j];
        Size distinct = n > 0;
        for (Size i = 1; i < n; ++i) distinct += keys[i] != keys[i - 1];
        out.lo.reserve(distinct);  // exactly: with many columns the slack of a growing vector would add up
        for (Size i = 0; i < n; ++i) {
            if (i == 0 || keys[i] != keys[i - 1]) out.lo.push_back(number_of(keys[i]));
        }
        out.has_missing = n < n_rows;
        allocate(out, static_cast<std::uint32_t>(out.lo.size()));
        visit_codes(out, [&]<class C>(C* codes) {
            if (out.has_missing) std::fill_n(codes, n_rows, static_cast<C>(out.n_bins));
            std::uint32_t rank = 0;
            for (Size i = 0; i < n; ++i) {
                rank += i > 0 && keys[i] != keys[i - 1];
                codes[rows[i]] = static_cast<C>(rank);
            }
        });
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

}  // namespace

std::vector<std::uint32_t> bins_of_categories(std::span<const double> mass) {
    std::vector<std::uint32_t> order(mass.size()), bins(mass.size(), max_category_bins - 1);
    std::iota(order.begin(), order.end(), 0u);
    if (mass.size() <= max_category_bins) return order;
    const auto more = [&](auto a, auto b) { return mass[a] != mass[b] ? mass[a] > mass[b] : a < b; };
    std::nth_element(order.begin(), order.begin() + (max_category_bins - 1), order.end(), more);
    std::sort(order.begin(), order.begin() + (max_category_bins - 1));
    for (std::uint32_t bin = 0; bin < max_category_bins - 1; ++bin) bins[order[bin]] = bin;
    return bins;
}

CodeMatrix build_codes(std::span<const InputColumn> columns, Size n_rows, const double* weights,
                       std::uint32_t max_bins, int n_threads, Interrupt& interrupt) {
    if (max_bins == 1 || max_bins > 255) throw std::invalid_argument("max_bins must be 0 or from 2 to 255");
    if (n_rows >= std::numeric_limits<Row>::max())
        throw std::invalid_argument("a table may have at most " +
                                    std::to_string(std::numeric_limits<Row>::max() - 1) + " rows");
    n_threads = std::clamp(n_threads, 1, Pool::max_threads);
    return CodeBuilder(columns, n_rows, weights, n_threads, interrupt).build(max_bins);
}

}  // namespace spinney
