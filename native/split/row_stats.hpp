// The statistics of some rows as the growers read them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "simd/vectors.hpp"
#include "split/node_values.hpp"

namespace spinney {

/// Statistics of some rows, borrowed.
struct RowStats {
    const Stat* stats;                // (n_rows, row_width)
    const std::uint16_t* class_code;  // (n_rows,) of layout by_class

    /// Add row r to a sum. The layout is a template parameter: this is the inner loop.
    template <Layout L>
    [[gnu::always_inline]] void add(Stat* sum, Size r, int row_width) const {
        if constexpr (L == Layout::packed) {
            sum[0] += stats[r];
        } else {
            const Stat* own = stats + r * static_cast<Size>(row_width);
            Stat* to = sum;
            if constexpr (L == Layout::by_class) to += class_code[r] * row_width;
            if (row_width == 2) return add_two(to, own);  // one addition of both
            for (int i = 0; i < row_width; ++i) to[i] += own[i];
        }
    }
};

/// Statistics of a node's rows in the node's order, copied so that a sweep in order of a feature's values
/// reads a small array at random instead of the whole table.
struct CopiedRowStats {
    std::vector<Stat> stats;                // (n, row_width)
    std::vector<std::uint16_t> class_code;  // (n,) of layout by_class

    void gather(const Statistics& s, const NodeRows& node) {
        const Size n = node.rows.size(), width = static_cast<Size>(s.row_width);
        stats.resize(n * width);
        class_code.resize(s.layout == Layout::by_class ? n : 0);
        for (Size i = 0; i < n; ++i) {
            if (s.layout == Layout::by_class) class_code[i] = s.class_code[node.rows[i]];
            if (node.parts.empty()) {
                std::copy_n(s.row(node.rows[i]), width, stats.data() + i * width);
            } else if (s.layout == Layout::by_class) {
                stats[i] = node.parts[i];
            } else {
                std::fill_n(stats.data() + i * width, width, 0);
                s.add_fraction(stats.data() + i * width, node.rows[i], node.parts[i]);
            }
        }
    }

    RowStats view() const { return {stats.data(), class_code.data()}; }
};

}  // namespace spinney
