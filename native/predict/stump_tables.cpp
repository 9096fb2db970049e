#include "predict/stump_tables.hpp"

#include <algorithm>
#include <stdexcept>

namespace spinney {

namespace {

constexpr Size block_rows = 256, rows_per_task = 16 * block_rows;

}  // namespace

StumpTables::StumpTables(std::span<const double> base, std::span<const FeatureTable> tables, Size n_features)
    : base_(base), n_features_(n_features) {
    const Size width = base_.size();
    for (const FeatureTable& table : tables) {
        const Size m = table.thresholds.size(), rows = width > 0 ? table.sums.size() / width : 0;
        const bool sound = table.feature < n_features && rows * width == table.sums.size() &&
                           (table.categorical ? m == 0 && rows >= 1 : rows == m + 2) &&
                           std::is_sorted(table.thresholds.begin(), table.thresholds.end());
        if (!sound) throw std::invalid_argument("the tables of stumps do not fit together");
        FeatureCodes codes;
        codes.feature = table.feature;
        codes.categorical = table.categorical;
        codes.ranks = RankTable({table.thresholds.begin(), table.thresholds.end()});
        codes.n_codes = static_cast<std::uint32_t>(rows - 1);
        lookups_.push_back({std::move(codes), static_cast<std::uint32_t>(rows - 1), table.sums.data()});
        used_features_.push_back(table.feature);
    }
}

void StumpTables::sum(double* out, const InputTable& input, int n_threads, Interrupt* interrupt) const {
    Pool::shared().parallel_for(
        n_threads, (input.n_rows + rows_per_task - 1) / rows_per_task,
        [&](Size task, int) {
            const Size end = std::min(input.n_rows, (task + 1) * rows_per_task);
            for (Size begin = task * rows_per_task; begin < end; begin += block_rows)
                sum_block(out + begin * width(), input, begin, std::min(block_rows, end - begin));
        },
        interrupt);
}

/// out (n, width)
void StumpTables::sum_block(double* out, const InputTable& input, Size begin, Size n) const {
    const Size width = base_.size();
    for (Size i = 0; i < n; ++i) std::copy_n(base_.data(), width, out + i * width);
    std::uint32_t row[block_rows];
    for (const Lookup& lookup : lookups_) {
        lookup.codes.code(row, input.columns[lookup.codes.feature], begin, n);
        for (Size i = 0; i < n; ++i) row[i] = std::min(row[i], lookup.missing_row);
        if (width == 1) {
            for (Size i = 0; i < n; ++i) out[i] += lookup.sums[row[i]];
        } else {
            for (Size i = 0; i < n; ++i)
                for (Size k = 0; k < width; ++k) out[i * width + k] += lookup.sums[row[i] * width + k];
        }
    }
}

}  // namespace spinney
