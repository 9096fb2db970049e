// The rows to predict, borrowed.
#pragma once

#include <span>

#include "core/types.hpp"
#include "data/input_column.hpp"

namespace spinney {

struct InputTable {
    std::span<const InputColumn> columns;  // (n_features,); data may be null where no tree reads it
    Size n_rows = 0;
    bool row_major = false;  // the values of a row are contiguous: rows need not be copied
};

}  // namespace spinney
