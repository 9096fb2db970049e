// CodeMatrix: every column of a table as integer codes in rank order.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "core/spill.hpp"
#include "core/types.hpp"

namespace spinney {

enum class ColumnKind : std::uint8_t { numeric, categorical };

/// Midpoint of two neighbouring values, in [a, b).
inline double midpoint(double a, double b) {
    const double t = a / 2 + b / 2;
    return t >= b || t < a ? a : t;
}

/// A set of byte codes.
struct CodeSet {
    std::array<std::uint64_t, 4> bits{};

    bool holds(Code code) const { return bits[code / 64] >> (code % 64) & 1; }
    void put(Code code) { bits[code / 64] |= std::uint64_t{1} << (code % 64); }
    Size size() const {
        Size n = 0;
        for (const std::uint64_t word : bits) n += static_cast<Size>(std::popcount(word));
        return n;
    }
    /// The codes of the set below n, ascending.
    std::vector<Code> below(Code n) const {
        std::vector<Code> out;
        for (Code code = 0; code < n; ++code)
            if (holds(code)) out.push_back(code);
        return out;
    }
    /// Call f(code) for each, ascending.
    template <class F>
    [[gnu::always_inline]] void for_each(F&& f) const {
        for (Size word = 0; word < bits.size(); ++word)
            for (std::uint64_t rest = bits[word]; rest != 0; rest &= rest - 1)
                f(64 * word + static_cast<Size>(std::countr_zero(rest)));
    }
};

/// One column's codes, 1, 2 or 4 bytes wide; code n_bins is "missing".
struct CodeColumn {
    ColumnKind kind = ColumnKind::numeric;
    std::uint8_t width = 1;
    bool has_missing = false;
    std::uint32_t n_bins = 0;
    RowVector<std::uint8_t> bytes;  // n_rows * width
    // numeric: minimum and maximum value of each bin (n_bins); hi is empty where every bin has one value
    std::vector<double> lo, hi;
    // categorical: the category codes are 0..n_categories-1; bin_of_category[c] is the bin of category c.
    // Binned, the most frequent 254 levels have a bin of their own and all others share the last.
    std::vector<std::uint32_t> bin_of_category;

    template <class T>
    T* as() {
        return reinterpret_cast<T*>(bytes.data());
    }
    template <class T>
    const T* as() const {
        return reinterpret_cast<const T*>(bytes.data());
    }

    double min_of(Code bin) const { return lo[bin]; }
    double max_of(Code bin) const { return hi.empty() ? lo[bin] : hi[bin]; }

    inline Code at(Size row) const;
};

/// Call f with the codes of a column as a pointer to integers of their width.
template <class Column, class F>
decltype(auto) visit_codes(Column& column, F&& f) {
    switch (column.width) {
        case 1:
            return f(column.template as<std::uint8_t>());
        case 2:
            return f(column.template as<std::uint16_t>());
        default:
            return f(column.template as<std::uint32_t>());
    }
}

Code CodeColumn::at(Size row) const {
    return visit_codes(*this, [=](const auto* codes) -> Code { return codes[row]; });
}

struct CodeMatrix {
    Size n_rows = 0;
    std::vector<CodeColumn> columns;
};

}  // namespace spinney
