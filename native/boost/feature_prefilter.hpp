// Features that no node can be split on, found before the first tree, as LightGBM's feature_pre_filter does.
#pragma once

#include <cstdint>
#include <vector>

#include "boost/boost_options.hpp"
#include "boost/boosted_tree.hpp"

namespace spinney {

/// Whether each feature can divide the rows into two children of min_samples_leaf: where all rows but a few
/// have one code, the child without that code is too light at any node.  -> (n_features,)
std::vector<std::uint8_t> splittable_features(const CodeMatrix& x, const BoostOptions& options,
                                              const BoostTarget& target);

}  // namespace spinney
