// The exact grower: any codes, any criterion, multiway and oblique splits, fractional instances, the ledger.
//
// It sorts the rows of a node by code, feature by feature, and sweeps. Slower than the histogram grower, and
// its oracle in the tests.
#pragma once

#include <vector>

#include "grow/grown_tree.hpp"
#include "split/context.hpp"

namespace spinney {

/// Grow a tree from these rows. Fragment 0 contains the root.
std::vector<Fragment> grow_exact(const GrowContext& c, std::vector<Row> rows);

}  // namespace spinney
