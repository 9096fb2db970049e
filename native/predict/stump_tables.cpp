#include "predict/stump_tables.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace spinney {

namespace {

constexpr Size block_rows = 256;
// Up to so many thresholds, comparing with each of them is faster than binary search.
constexpr Size few_thresholds = 48;

void compare_all(std::uint32_t* out, std::span<const double> thresholds, const double* x, Size n) {
    std::fill_n(out, n, 0u);
    for (const double t : thresholds)
        for (Size i = 0; i < n; ++i) out[i] += t < x[i] ? 1u : 0u;
}

/// Binary search without branches.
std::uint32_t count_below(std::span<const double> thresholds, double x) {
    const double* t = thresholds.data();
    Size n = thresholds.size();
    while (n > 1) {
        const Size half = n / 2;
        t += t[half - 1] < x ? half : 0;
        n -= half;
    }
    return static_cast<std::uint32_t>(t - thresholds.data()) + (n == 1 && *t < x ? 1u : 0u);
}

}  // namespace

StumpTables::StumpTables(std::span<const double> base, std::vector<FeatureTable> tables, Size n_features)
    : base_(base), tables_(std::move(tables)), n_features_(n_features) {
    const Size width = base_.size();
    for (const FeatureTable& table : tables_) {
        const Size m = table.thresholds.size(), rows = width > 0 ? table.sums.size() / width : 0;
        const bool sound = table.feature < n_features && rows * width == table.sums.size() &&
                           (table.categorical ? m == 0 && rows >= 1 : rows == m + 2) &&
                           std::is_sorted(table.thresholds.begin(), table.thresholds.end());
        if (!sound) throw std::invalid_argument("the tables of stumps do not fit together");
    }
}

void StumpTables::sum(double* out, const InputTable& input, int n_threads, Interrupt* interrupt) const {
    const Size n_blocks = (input.n_rows + block_rows - 1) / block_rows;
    const Size per_task = 16, n_tasks = (n_blocks + per_task - 1) / per_task;
    Pool::shared().parallel_for(
        n_threads, n_tasks,
        [&](Size task, int) {
            for (Size b = task * per_task; b < std::min(n_blocks, (task + 1) * per_task); ++b) {
                const Size begin = b * block_rows;
                sum_block(out, input, begin, std::min(block_rows, input.n_rows - begin));
            }
        },
        interrupt);
}

void StumpTables::sum_block(double* out, const InputTable& input, Size begin, Size n) const {
    const Size width = base_.size();
    double* block = out + begin * width;
    for (Size i = 0; i < n; ++i) std::copy_n(base_.data(), width, block + i * width);
    std::uint32_t at[block_rows];
    for (const FeatureTable& table : tables_) {
        find(at, table, input.columns[table.feature], begin, n);
        const double* sums = table.sums.data();
        if (width == 1) {
            for (Size i = 0; i < n; ++i) block[i] += sums[at[i]];
        } else {
            for (Size i = 0; i < n; ++i)
                for (Size k = 0; k < width; ++k) block[i * width + k] += sums[at[i] * width + k];
        }
    }
}

/// Find the row of the table for each row of the input.  out (n,)
void StumpTables::find(std::uint32_t* out, const FeatureTable& table, const InputColumn& column, Size begin,
                       Size n) const {
    if (table.categorical) {
        const auto missing = static_cast<std::uint32_t>(table.sums.size() / base_.size() - 1);
        const char* at =
            static_cast<const char*>(column.data) + static_cast<std::ptrdiff_t>(begin) * column.stride;
        for (Size i = 0; i < n; ++i, at += column.stride) {
            std::int32_t code;
            std::memcpy(&code, at, sizeof code);
            out[i] = std::min(static_cast<std::uint32_t>(code), missing);
        }
        return;
    }
    double x[block_rows];
    read_values(x, 1, column, begin, n);
    if (table.thresholds.size() <= few_thresholds)
        compare_all(out, table.thresholds, x, n);
    else
        for (Size i = 0; i < n; ++i) out[i] = count_below(table.thresholds, x[i]);
    const auto missing = static_cast<std::uint32_t>(table.thresholds.size() + 1);
    for (Size i = 0; i < n; ++i) out[i] = x[i] != x[i] ? missing : out[i];
}

}  // namespace spinney
