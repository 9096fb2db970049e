// The rows to predict, borrowed.
#pragma once

#include <span>

#include "core/types.hpp"
#include "data/code_matrix.hpp"

namespace spinney {

struct InputTable {
    std::span<const InputColumn> columns;  // (n_features,); data may be null where no tree reads it
    Size n_rows = 0;
    bool row_major = false;  // the values of a row are contiguous: rows need not be copied
};

/// Read values of a column of any type, NaN where missing.  out (n,) in steps of `step`
void read_values(double* out, Size step, const InputColumn& column, Size begin, Size n);

}  // namespace spinney
