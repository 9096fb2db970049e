// The number types of the core, each with its reason.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef SPINNEY_SMALL_INDEX
#include "tests/small_row.hpp"
#endif

namespace spinney {

// A row number: 4 bytes, because moving row lists is most of a partition's cost; 4 billion rows are enough.
// A test build makes it shorter, to show products of rows and features that are not computed as a Size.
#ifdef SPINNEY_SMALL_INDEX
using Row = SmallRow;
#else
using Row = std::uint32_t;
#endif

// A code of a value in its column, in the widest form.
using Code = std::uint32_t;

// A scaled row statistic or a sum of them: integer, so that sums are exact in any order.
using Stat = std::int64_t;

// A node of a tree being grown or fitted.
using Node = std::int32_t;

// An element count of rows × features, which passes 2^32 on ordinary tables.
using Size = std::size_t;

}  // namespace spinney
