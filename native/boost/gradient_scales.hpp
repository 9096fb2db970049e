// Powers of two that turn gradients and hessians into integers, and how these are packed.
#pragma once

#include "boost/boost_options.hpp"
#include "boost/losses.hpp"
#include "split/packed_sum.hpp"

namespace spinney {

/// What gradients and hessians are multiplied by, and how they are packed.
struct GradientScales {
    double gradient = 1, hessian = 1;
    PackedLayout layout;
};

/// How the gradients of a tree are packed. With the row weights where a split may be refused for them: few
/// rows, whose gradients and hessians need fewer bits, and hessians that do not tell the weight.
/// total_weight: of all rows; integer: of whole weights
PackedLayout choose_layout(const BoostOptions& options, LossName loss, double total_weight, bool integer);

/// The finest scales for which no sum overflows its bits.  slack: what rounding may add to a sum, in steps
GradientScales choose_scales(const GradientSums& sums, double slack, PackedLayout layout);

}  // namespace spinney
