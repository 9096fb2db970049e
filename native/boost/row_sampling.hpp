// The rows that a boosted tree is grown on: uniform subsampling, GOSS or MVS.
//
// GOSS: gradient-based one-side sampling, Ke et al. 2017. MVS: minimal variance sampling, Ibragimov and Gusev
// 2019.
#pragma once

#include <cstdint>
#include <vector>

#include "boost/boost_options.hpp"
#include "boost/boosted_tree.hpp"
#include "boost/losses.hpp"

namespace spinney {

/// Draw the rows of a tree: write how many rows each row stands for, 0 if it was not drawn, and return the
/// sums of the drawn rows.  multiplier, gradient, hessian (n_rows,); sums: those of all rows
GradientSums draw_rows(std::vector<double>& multiplier, const BoostTable& table, const BoostOptions& options,
                       const BoostTarget& target, const double* gradient, const double* hessian,
                       const GradientSums& sums, std::uint64_t address);

}  // namespace spinney
