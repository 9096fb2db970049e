// Gradients and hessians of one tree as integers, both packed into 64 bits.
#pragma once

#include <cstdint>
#include <vector>

#include "boost/boosted_tree.hpp"
#include "boost/gradient_scales.hpp"
#include "boost/row_sampling.hpp"

namespace spinney {

/// Scales gradients and hessians to packed integers, so that histogram sums are exact in any order.
class GradientQuantizer {
  public:
    GradientQuantizer(const BoostTable& table, const BoostOptions& options, const BoostTarget& target);

    /// Scale the row weights, once for all trees.
    void set_weights();

    /// Draw the rows of a tree and quantize their gradients.  gradient, hessian (n_rows,); sums: those of all
    /// rows; loss: whose gradients they are; address: of the tree's random draws
    BoostRows& quantize(const double* gradient, const double* hessian, GradientSums sums, LossName loss,
                        std::uint64_t address);

  private:
    struct Ratios;  // hessian per weight, in units

    void set_units(const GradientSums& sums, PackedLayout layout);
    void list_all(Size chunk);
    void list_rows(Size chunk);
    Ratios quantize_units(Size chunk);
    Ratios quantize_weighted(Size chunk);

    const BoostTable& table_;
    const BoostOptions& o_;
    const BoostTarget& target_;
    const double *gradient_ = nullptr, *hessian_ = nullptr;
    GradientScales scale_;
    std::vector<double>
        multiplier_;  // (n_rows,) when rows are drawn: 0 not drawn, else how many it stands for
    BoostRows rows_;
};

}  // namespace spinney
