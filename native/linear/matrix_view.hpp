// A dense matrix of features, borrowed.
#pragma once

#include <cstddef>

#include "core/types.hpp"

namespace spinney {

/// float32 or float64 values with any strides.
struct MatrixView {
    const char* data = nullptr;
    Size n_rows = 0, n_columns = 0;
    std::ptrdiff_t row_stride = 0, column_stride = 0;  // in bytes
    bool single = false;                               // float32

    /// Rows of contiguous float64, which kernels read in place.
    bool plain() const { return !single && column_stride == sizeof(double); }
    const double* row(Size r) const {
        return reinterpret_cast<const double*>(data + static_cast<std::ptrdiff_t>(r) * row_stride);
    }
};

}  // namespace spinney
