// Gauss–Legendre quadrature on [0, 1].
#pragma once

#include <vector>

#include "core/types.hpp"

namespace spinney {

struct Quadrature {
    std::vector<double> points, weights;  // ascending; the weights sum to 1
};

/// The rule with n ≥ 1 points, exact for polynomials of degree 2n − 1. Only sums, products and quotients are
/// used, so the bits are the same on every machine.
Quadrature gauss_legendre(Size n);

}  // namespace spinney
