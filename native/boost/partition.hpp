// Stable partition of a list of rows by the bin codes of one column.
#pragma once

#include <cstdint>

#include "data/bundle_rows.hpp"

namespace spinney {

/// Entries of the spare list.
inline constexpr Size kSpareRows = kChunkRows;

/// Move the rows that go left to the front; both sides keep their order. Return the number of rows on the
/// left. ids (n,); spare (kSpareRows,); codes: of the chunk's rows; goes_left (256,): 0 or 1 per bin code
Size partition_rows(LocalRow* ids, Size n, LocalRow* spare, const std::uint8_t* codes,
                    const std::uint8_t* goes_left);

}  // namespace spinney
