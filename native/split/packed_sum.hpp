// Sums of gradients and hessians, packed into 64 bits.
//
// A packed sum holds the gradient in its upper bits (signed) and the hessian in the bits below (at least 1
// per row, so a bin is empty exactly when it is 0); of few rows it holds their weight too, in the lowest
// bits.
#pragma once

#include "core/types.hpp"

namespace spinney {

/// The bits of the parts of a packed sum; the gradient has the rest.
struct PackedLayout {
    int weight_bits = 0;  // 0: the sum has no weight
    int hessian_bits = 32;

    constexpr bool has_weight() const { return weight_bits > 0; }
    constexpr int gradient_shift() const { return weight_bits + hessian_bits; }
    constexpr int gradient_bits() const { return 64 - gradient_shift(); }
    constexpr Stat hessian_mask() const { return (Stat{1} << hessian_bits) - 1; }
    constexpr Stat weight_mask() const { return (Stat{1} << weight_bits) - 1; }
};

/// weight: in steps; ignored by a layout without it
inline constexpr Stat pack(Stat gradient, Stat hessian, Stat weight = 0, PackedLayout layout = {}) {
    return gradient * (Stat{1} << layout.gradient_shift()) + (hessian << layout.weight_bits) +
           (layout.has_weight() ? weight : 0);
}
inline constexpr Stat gradient_of(Stat sum, PackedLayout layout = {}) {
    return sum >> layout.gradient_shift();
}
inline constexpr Stat hessian_of(Stat sum, PackedLayout layout = {}) {
    return sum >> layout.weight_bits & layout.hessian_mask();
}
inline constexpr Stat weight_of(Stat sum, PackedLayout layout) { return sum & layout.weight_mask(); }

}  // namespace spinney
