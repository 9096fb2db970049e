// The two growers of a tree.
//
// The exact grower sorts the rows of a node by code, feature by feature, and sweeps: any codes, any
// criterion, multiway and oblique splits, fractional instances, the ledger. It is the oracle of the other in
// the tests.
//
// The histogram grower is faster: bin codes, additive criteria, learned missing directions. Large nodes have
// histograms: the smaller child's is built, the larger child's is the parent's minus it (histogram
// subtraction). The rows of small subtrees are copied together and grown by one thread.
#pragma once

#include <vector>

#include "data/tiles.hpp"
#include "grow/grown_tree.hpp"
#include "split/context.hpp"

namespace spinney {

/// Grow a tree from these rows. Fragment 0 contains the root.
std::vector<Fragment> grow_exact(const GrowContext& c, std::vector<Row> rows);

/// Whether the histogram grower supports these codes and options.
bool histogram_grower_supports(const GrowContext& c);

/// The same by the histogram grower. fragments: empty ones, whose memory is used
std::vector<Fragment> grow_histogram(const GrowContext& c, const CodeTiles& codes, RowVector<Row> rows,
                                     std::vector<Fragment> fragments);

}  // namespace spinney
