// Powers of two that turn gradients and hessians into integers.
#pragma once

#include "boost/losses.hpp"

namespace spinney {

/// What gradients and hessians are multiplied by.
struct GradientScales {
    double gradient = 1, hessian = 1;
};

/// The finest scales for which no sum overflows its 32 bits.  slack: what rounding may add to a sum, in steps
GradientScales choose_scales(const GradientSums& sums, double slack);

}  // namespace spinney
