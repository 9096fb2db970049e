// Registers of packed gradient and hessian sums as real numbers.
#pragma once

#include <bit>
#include <cstdint>

#include "core/exponential.hpp"
#include "simd/vectors.hpp"
#include "split/packed_sum.hpp"

namespace spinney {

using detail::bits_of;
using detail::from_bits;

/// Parts of packed sums as real numbers. An integer below 2^52 in the low bits of the double 2^52 is their
/// exact sum; a conversion of 64-bit integers would need one step per lane on processors without AVX-512.
[[gnu::always_inline]] inline Register hessians_of(StatRegister sum, PackedLayout layout = {}) {
    using Unsigned = VectorOf<std::uint64_t, kRegister>::type;
    const Unsigned shifted = std::bit_cast<Unsigned>(sum) >> layout.weight_bits;
    const StatRegister bits =
        (std::bit_cast<StatRegister>(shifted) & layout.hessian_mask()) | bits_of(every<Register>(0x1.0p52));
    return from_bits(bits) - 0x1.0p52;
}
[[gnu::always_inline]] inline Register gradients_of(StatRegister sum, PackedLayout layout = {}) {
    using Unsigned = VectorOf<std::uint64_t, kRegister>::type;
    const std::uint64_t half = std::uint64_t{1} << (layout.gradient_bits() - 1);
    const Unsigned upper = std::bit_cast<Unsigned>(sum) >> layout.gradient_shift() ^ half;  // half more
    const StatRegister bits = std::bit_cast<StatRegister>(upper) | bits_of(every<Register>(0x1.0p52));
    return from_bits(bits) - (0x1.0p52 + static_cast<double>(half));
}

}  // namespace spinney
