// The kinds of nodes of a tree.
#pragma once

#include <cstdint>

namespace spinney {

/// Kind of a node; the values are part of the model format.
enum class SplitKind : std::uint8_t { leaf, numeric, category_set, multiway, linear };

}  // namespace spinney
