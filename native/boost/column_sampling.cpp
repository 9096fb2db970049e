#include "boost/column_sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/random.hpp"

namespace spinney {

namespace {

/// Keep `wanted` of the columns, drawn without replacement, in ascending order.
void keep(std::vector<std::uint32_t>& columns, Size wanted, std::uint64_t address) {
    if (wanted >= columns.size()) return;
    Draws draws(address);
    for (Size i = 0; i < wanted; ++i)
        std::swap(columns[i], columns[i + draws.below(static_cast<std::uint32_t>(columns.size() - i))]);
    columns.resize(wanted);
    std::sort(columns.begin(), columns.end());
}

}  // namespace

void ColumnSampler::draw(std::uint64_t address) {
    drawn_.resize(n_columns_);
    std::iota(drawn_.begin(), drawn_.end(), 0u);
    if (o_.colsample_bytree >= 1) return;
    const double wanted = o_.colsample_bytree * static_cast<double>(n_columns_);
    keep(drawn_, std::max<Size>(1, static_cast<Size>(std::llround(wanted))), mix(address, 0xC01));
}

void ColumnSampler::allow(std::vector<std::uint8_t>& out, const BoostNode& node) const {
    std::vector<std::uint32_t> columns = drawn_;
    if (o_.limits_interactions()) {
        std::vector<std::uint8_t> together(out.size(), 0);
        for (const std::uint32_t g : node.groups)
            for (const std::uint32_t f : o_.interaction_cst[g]) together[f] = 1;
        std::erase_if(columns, [&](std::uint32_t f) { return !together[f]; });
    }
    keep(columns, o_.max_features, mix(node.address, 0xFEA7));
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    for (const std::uint32_t f : columns) out[f] = 1;
}

}  // namespace spinney
