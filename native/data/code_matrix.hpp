// CodeMatrix: every column of a table as integer codes in rank order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace spinney {

enum class ColumnKind : std::uint8_t { numeric, categorical };

/// One column's codes, 1, 2 or 4 bytes wide; code n_bins is "missing".
struct CodeColumn {
    ColumnKind kind = ColumnKind::numeric;
    std::uint8_t width = 1;
    bool has_missing = false;
    std::uint32_t n_bins = 0;
    std::vector<std::uint8_t> bytes;  // n_rows * width
    // numeric: minimum and maximum value of each bin (n_bins); hi is empty where every bin has one value
    std::vector<double> lo, hi;
    // categorical: the category codes are 0..n_categories-1; bin_of_category[c] is the bin of category c.
    // Binned, the most frequent 254 levels have a bin of their own and all others share the last.
    std::vector<std::uint32_t> bin_of_category;

    template <class T>
    const T* as() const {
        return reinterpret_cast<const T*>(bytes.data());
    }

    double min_of(Code bin) const { return lo[bin]; }
    double max_of(Code bin) const { return hi.empty() ? lo[bin] : hi[bin]; }

    Code at(Size row) const {
        switch (width) {
            case 1:
                return as<std::uint8_t>()[row];
            case 2:
                return as<std::uint16_t>()[row];
            default:
                return as<std::uint32_t>()[row];
        }
    }
};

struct CodeMatrix {
    Size n_rows = 0;
    std::vector<CodeColumn> columns;
};

/// One input column, borrowed: float32, float64 (NaN missing), or int32 category codes (-1 missing).
struct InputColumn {
    enum class Type : std::uint8_t { f32, f64, category };
    Type type = Type::f64;
    const void* data = nullptr;
    std::ptrdiff_t stride = 0;  // in bytes
    std::uint32_t n_categories = 0;
};

}  // namespace spinney
