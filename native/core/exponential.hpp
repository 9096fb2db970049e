// The exponential from additions and multiplications only: the same bits on every processor.
#pragma once

#include <bit>
#include <cstdint>
#include <numbers>

#include "split/criteria.hpp"

namespace spinney {

namespace detail {

inline std::int64_t bits_of(double x) { return std::bit_cast<std::int64_t>(x); }
inline StatLanes bits_of(Lanes x) { return std::bit_cast<StatLanes>(x); }
inline double from_bits(std::int64_t x) { return std::bit_cast<double>(x); }
inline Lanes from_bits(StatLanes x) { return std::bit_cast<Lanes>(x); }

}  // namespace detail

/// The same number in every lane.
template <class V>
[[gnu::always_inline]] inline V every(double number) {
    return V{} + number;
}

/// x held within [low, high]; NaN stays NaN.
template <class V>
[[gnu::always_inline]] inline V hold(V x, double low, double high) {
    x = where(x < low, every<V>(low), x);
    return where(x > high, every<V>(high), x);
}

/// e^x with an error below 2 ulp. Arguments beyond ±708 count as ±708: the result is always a normal number.
/// NaN stays NaN.
template <class V>
[[gnu::always_inline]] inline V exp_same_bits(V x) {
    // x = k·ln 2 + r; adding and taking away 1.5·2^52 rounds to a whole number, which then stands in the low
    // bits.
    constexpr double rounder = 0x1.8p52;
    x = hold(x, -708.0, 708.0);
    const V shifted = x * std::numbers::log2e + rounder;
    const V k = shifted - rounder;
    const V r = (x - k * 0x1.62e42feep-1) - k * 0x1.a39ef35793c76p-33;
    // Taylor's series to r^13 / 13!, |r| ≤ 0.35, even and odd places apart for shorter chains.
    const V r2 = r * r, r4 = r2 * r2;
    const V a = r * (1.0 / 6) + 0.5, b = r * (1.0 / 120) + 1.0 / 24, c = r * (1.0 / 5040) + 1.0 / 720;
    const V d = r * (1.0 / 362880) + 1.0 / 40320, e = r * (1.0 / 39916800) + 1.0 / 3628800;
    const V f = r * (1.0 / 6227020800.0) + 1.0 / 479001600;
    const V low = a + r2 * b, middle = c + r2 * d, high = e + r2 * f;
    const V p = 1.0 + (r + r2 * (low + r4 * (middle + r4 * high)));
    return detail::from_bits(detail::bits_of(p) + (detail::bits_of(shifted) << 52));
}

/// The natural logarithm of a positive normal number.
template <class V>
[[gnu::always_inline]] inline V log_same_bits(V x) {
    return log2_same_bits(x) * std::numbers::ln2;
}

}  // namespace spinney
