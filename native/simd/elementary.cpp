#include "simd/elementary.hpp"

#include <limits>

#include "simd/register_loops.hpp"

namespace spinney {

void exp_array(double* out, const double* x, Size n) {
    for_registers(0, n, [&](Size r, Size m, Size) {
        const Register value = load_register(x + r, m);
        const auto far = (value > 708.0) | (value < -708.0);
        const Register half = exp_same_bits(where(far, value * 0.5, value));
        store_register(out + r, where(far, half * half, half), m);
    });
}

void log_array(double* out, const double* x, Size n) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr double least_normal = std::numeric_limits<double>::min();
    for_registers(0, n, [&](Size r, Size m, Size) {
        const Register value = load_register(x + r, m);
        const auto subnormal = value < least_normal;
        Register found = log_same_bits(where(subnormal, value * 0x1p54, value));
        found = where(subnormal, found - 54 * std::numbers::ln2, found);
        found = where(value == 0.0, every<Register>(-infinity), found);
        found = where(value < 0.0, every<Register>(std::numeric_limits<double>::quiet_NaN()), found);
        const auto kept = (value == infinity) | (value != value);
        store_register(out + r, where(kept, value, found), m);
    });
}

}  // namespace spinney
