#include "simd/elementary.hpp"

#include <algorithm>
#include <limits>

#include "simd/register_loops.hpp"

namespace spinney {
namespace {

/// e^x over the whole range of doubles.
[[gnu::always_inline]] inline Register exp_of(Register x) {
    const auto far = (x > 708.0) | (x < -708.0);
    const Register half = exp_same_bits(where(far, x * 0.5, x));
    return where(far, half * half, half);
}

}  // namespace

void exp_array(double* out, const double* x, Size n) {
    for_registers(0, n,
                  [&](Size r, Size m, Size) { store_register(out + r, exp_of(load_register(x + r, m)), m); });
}

void expit_array(double* out, const double* x, Size n) {
    for_registers(0, n, [&](Size r, Size m, Size) {
        const Register score = load_register(x + r, m);
        const Register decay = exp_of(where(score < 0.0, score, -score));
        store_register(out + r, where(score < 0.0, decay, every<Register>(1.0)) / (1.0 + decay), m);
    });
}

void softmax_rows(double* out, const double* scores, Size n, Size k) {
    // Some rows at a time: their numbers stay in the cache between the passes.
    const Size step = std::max<Size>(1, 2048 / std::max<Size>(1, k));
    for (Size begin = 0; begin < n; begin += step) {
        const Size end = std::min(n, begin + step);
        for (Size r = begin; r < end; ++r) {
            const double* row = scores + r * k;
            double largest = row[0];
            for (Size c = 1; c < k; ++c) largest = row[c] > largest ? row[c] : largest;
            for (Size c = 0; c < k; ++c) out[r * k + c] = row[c] - largest;
        }
        exp_array(out + begin * k, out + begin * k, (end - begin) * k);
        for (Size r = begin; r < end; ++r) {
            double sum = 0;
            for (Size c = 0; c < k; ++c) sum += out[r * k + c];
            for (Size c = 0; c < k; ++c) out[r * k + c] /= sum;
        }
    }
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
