// Stumps at prediction: all that test one feature are added up into one table of its values, so that a row is
// looked up once a feature, however many stumps there are.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/thread_pool.hpp"
#include "predict/traverse.hpp"

namespace spinney {

/// The table of one feature: lines of `width` numbers.
///
///   numeric      thresholds t_1 < … < t_m; line i holds the sum where i of them are below x; line m + 1
///                that of a missing value
///   categorical  no thresholds; line c holds the sum of category c, the last that of a missing value
struct FeatureTable {
    std::uint32_t feature = 0;
    bool categorical = false;
    std::span<const double> thresholds;  // (m,)
    std::span<const double> lines;       // (n_lines, width)
};

class StumpTables {
  public:
    /// Borrow the tables; `base` (width,) is what every row gets.
    StumpTables(std::span<const double> base, std::vector<FeatureTable> tables, Size n_features)
        : base_(base), tables_(std::move(tables)), n_features_(n_features) {
        const Size width = base_.size();
        for (const FeatureTable& table : tables_) {
            const Size m = table.thresholds.size(), lines = width > 0 ? table.lines.size() / width : 0;
            const bool sound = table.feature < n_features && lines * width == table.lines.size() &&
                               (table.categorical ? m == 0 && lines >= 1 : lines == m + 2) &&
                               std::is_sorted(table.thresholds.begin(), table.thresholds.end());
            if (!sound) throw std::invalid_argument("the tables of stumps do not fit together");
        }
    }

    /// Add up what every feature of a row says.  out (n_rows, width)
    void sum(double* out, const InputTable& input, int n_threads, Interrupt* interrupt) const {
        const Size n_blocks = (input.n_rows + rows_of_block - 1) / rows_of_block;
        const Size per_task = 16, n_tasks = (n_blocks + per_task - 1) / per_task;
        Pool::shared().parallel_for(
            n_threads, n_tasks,
            [&](Size task, int) {
                for (Size b = task * per_task; b < std::min(n_blocks, (task + 1) * per_task); ++b) {
                    const Size begin = b * rows_of_block;
                    sum_block(out, input, begin, std::min(rows_of_block, input.n_rows - begin));
                }
            },
            interrupt);
    }

    Size width() const { return base_.size(); }
    Size n_features() const { return n_features_; }
    std::span<const FeatureTable> tables() const { return tables_; }

  private:
    static constexpr Size rows_of_block = 256;
    // Up to so many thresholds, comparing with each of them is quicker than halving.
    static constexpr Size few = 48;
    using Places = std::array<std::uint32_t, rows_of_block>;

    void sum_block(double* out, const InputTable& input, Size begin, Size n) const {
        const Size width = base_.size();
        double* block = out + begin * width;
        for (Size i = 0; i < n; ++i) std::copy_n(base_.data(), width, block + i * width);
        Places places;
        for (const FeatureTable& table : tables_) {
            find(places, table, input.columns[table.feature], begin, n);
            const double* lines = table.lines.data();
            if (width == 1) {
                for (Size i = 0; i < n; ++i) block[i] += lines[places[i]];
            } else {
                for (Size i = 0; i < n; ++i)
                    for (Size k = 0; k < width; ++k) block[i * width + k] += lines[places[i] * width + k];
            }
        }
    }

    /// The line of each row.
    void find(Places& out, const FeatureTable& table, const InputColumn& column, Size begin, Size n) const {
        const char* at =
            static_cast<const char*>(column.data) + static_cast<std::ptrdiff_t>(begin) * column.stride;
        const auto read = [&](auto zero, Size i) {
            std::memcpy(&zero, at + static_cast<std::ptrdiff_t>(i) * column.stride, sizeof zero);
            return zero;
        };
        if (table.categorical) {
            const auto missing = static_cast<std::uint32_t>(table.lines.size() / base_.size() - 1);
            for (Size i = 0; i < n; ++i)
                out[i] = std::min(static_cast<std::uint32_t>(read(std::int32_t{}, i)), missing);
            return;
        }
        std::array<double, rows_of_block> x;
        if (column.type == InputColumn::Type::f32)
            for (Size i = 0; i < n; ++i) x[i] = static_cast<double>(read(float{}, i));
        else
            for (Size i = 0; i < n; ++i) x[i] = read(double{}, i);
        if (table.thresholds.size() <= few)
            compare_all(out, table.thresholds, x, n);
        else
            for (Size i = 0; i < n; ++i) out[i] = halve(table.thresholds, x[i]);
        const auto missing = static_cast<std::uint32_t>(table.thresholds.size() + 1);
        for (Size i = 0; i < n; ++i) out[i] = x[i] != x[i] ? missing : out[i];
    }

    static void compare_all(Places& out, std::span<const double> thresholds,
                            const std::array<double, rows_of_block>& x, Size n) {
        std::fill_n(out.begin(), n, 0u);
        for (const double t : thresholds)
            for (Size i = 0; i < n; ++i) out[i] += t < x[i] ? 1u : 0u;
    }

    static std::uint32_t halve(std::span<const double> thresholds, double x) {
        const double* t = thresholds.data();
        Size n = thresholds.size();
        while (n > 1) {
            const Size half = n / 2;
            t += t[half - 1] < x ? half : 0;
            n -= half;
        }
        return static_cast<std::uint32_t>(t - thresholds.data()) + (n == 1 && *t < x ? 1u : 0u);
    }

    std::span<const double> base_;
    std::vector<FeatureTable> tables_;
    Size n_features_;
};

}  // namespace spinney
