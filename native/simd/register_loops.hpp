// Loops over doubles, one register of rows at a time, with sums whose bits do not depend on the register
// width.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "core/exponential.hpp"
#include "simd/vectors.hpp"

namespace spinney {

/// Eight partial sums, row i in sum i % 8, for any register width.
struct LaneSums {
    static constexpr Size n_parts = kLanes / kRegister;
    std::array<Register, n_parts> parts{};

    double total() const {
        double sum = 0;
        for (const Register& part : parts)
            for (Size i = 0; i < kRegister; ++i) sum += part[i];
        return sum;
    }
};

/// Call f(first_row, n, part) for one register of rows after the other. n is less than kRegister only for the
/// last rows; `part` indexes LaneSums::parts.
template <class F>
[[gnu::always_inline]] inline void for_registers(Size begin, Size end, F&& f) {
    Size r = begin;
    for (; r + kLanes <= end; r += kLanes) {
#pragma GCC unroll 4
        for (Size part = 0; part < LaneSums::n_parts; ++part) f(r + part * kRegister, kRegister, part);
    }
    for (Size part = 0; r < end; ++part, r += kRegister) f(r, std::min(kRegister, end - r), part);
}

/// Load n ≤ kRegister values; the other lanes are 0.
[[gnu::always_inline]] inline Register load_register(const double* from, Size n) {
    Register out{};
    if (n == kRegister)
        std::memcpy(&out, from, sizeof out);
    else
        for (Size i = 0; i < n; ++i) out[i] = from[i];
    return out;
}

/// Store the first n ≤ kRegister lanes.
template <class V, class T>
[[gnu::always_inline]] inline void store_register(T* to, const V& lanes, Size n) {
    if (n == kRegister)
        std::memcpy(to, &lanes, sizeof lanes);
    else
        for (Size i = 0; i < n; ++i) to[i] = lanes[i];
}

/// The largest of n values; of none, and if all are NaN, −∞.
inline double max_of(const double* values, Size n) {
    Register most = every<Register>(-HUGE_VAL);
    Size i = 0;
    for (; i + kRegister <= n; i += kRegister) {
        const Register some = load_register(values + i, kRegister);
        most = where(some > most, some, most);
    }
    double max = -HUGE_VAL;
    for (Size j = 0; j < kRegister; ++j) max = std::max(max, most[j]);
    for (; i < n; ++i) max = std::max(max, values[i]);
    return max;
}

}  // namespace spinney
