// The columns that a boosted tree, and each of its nodes, may be divided by.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "boost/boost_options.hpp"
#include "boost/boosted_tree.hpp"
#include "core/random.hpp"

namespace spinney {

class BoostColumns {
  public:
    BoostColumns(const BoostOptions& options, Size n_columns) : o_(options), n_columns_(n_columns) {}

    /// Draw those of a tree.
    void draw(std::uint64_t address) {
        drawn_.resize(n_columns_);
        std::iota(drawn_.begin(), drawn_.end(), 0u);
        if (o_.column_fraction >= 1) return;
        const double wanted = o_.column_fraction * static_cast<double>(n_columns_);
        keep(drawn_, std::max<Size>(1, static_cast<Size>(std::llround(wanted))), mix(address, 0xC01));
    }

    /// Those of the tree, ascending.
    const std::vector<std::uint32_t>& drawn() const { return drawn_; }

    /// Mark those of a node: its path's interactions allow them, and they are drawn again.  out (n_columns,)
    void allow(std::vector<std::uint8_t>& out, const BoostNode& n) const {
        std::vector<std::uint32_t> columns = drawn_;
        if (o_.limits_interactions) {
            std::vector<std::uint8_t> together(out.size(), 0);
            for (const std::uint32_t g : n.groups)
                for (const std::uint32_t f : o_.interactions[g]) together[f] = 1;
            std::erase_if(columns, [&](std::uint32_t f) { return !together[f]; });
        }
        keep(columns, o_.max_features, mix(n.address, 0xFEA7));
        std::fill(out.begin(), out.end(), std::uint8_t{0});
        for (const std::uint32_t f : columns) out[f] = 1;
    }

  private:
    /// Keep `wanted` of the columns, drawn without replacement, in ascending order.
    static void keep(std::vector<std::uint32_t>& columns, Size wanted, std::uint64_t address) {
        if (wanted >= columns.size()) return;
        Draws draws(address);
        for (Size i = 0; i < wanted; ++i)
            std::swap(columns[i], columns[i + draws.below(static_cast<std::uint32_t>(columns.size() - i))]);
        columns.resize(wanted);
        std::sort(columns.begin(), columns.end());
    }

    const BoostOptions& o_;
    Size n_columns_;
    std::vector<std::uint32_t> drawn_;
};

}  // namespace spinney
