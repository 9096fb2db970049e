// Builds a CodeMatrix: reads the input columns, chooses bins or ranks, and codes every value.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/thread_pool.hpp"
#include "core/types.hpp"
#include "data/code_matrix.hpp"
#include "data/input_column.hpp"

namespace spinney {

/// A binned categorical column has at most this many bins. With more categories, the most frequent have a bin
/// each and all others share the last.
inline constexpr std::uint32_t max_category_bins = 255;

/// The bin of each category by the weight of its rows: the most frequent have their own.  mass
/// (n_categories,)
std::vector<std::uint32_t> bins_of_categories(std::span<const double> mass);

/// Code every column. max_bins 2..255: quantile bins of numbers; 0: exact ranks. The codes depend on the data
/// alone.
///
/// Rows of weight 0 take no part in choosing bins: bins, lo and hi are those of the table without them.
/// (Exact ranks cover the values of all rows.)  columns (d,); weights (n_rows,) or null
CodeMatrix build_codes(std::span<const InputColumn> columns, Size n_rows, const double* weights,
                       std::uint32_t max_bins, int n_threads, Interrupt& interrupt);

}  // namespace spinney
