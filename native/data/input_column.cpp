// Reading of input columns.
#include "data/input_column.hpp"

#include <limits>
#include <type_traits>

namespace spinney {

namespace {

/// Step: a constant, or 0.
template <class T, Size Step>
void read_as(double* out, Size step, const InputColumn& column, Size begin, Size n) {
    for (Size i = 0; i < n; ++i) {
        const T value = load_value<T>(column, begin + i);
        const bool missing = std::is_same_v<T, std::int32_t> && value < 0;
        out[i * (Step ? Step : step)] =
            missing ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value);
    }
}

}  // namespace

void read_values(double* out, Size step, const InputColumn& column, Size begin, Size n) {
    const auto read = [&]<class T>(T) {
        step == 1 ? read_as<T, 1>(out, step, column, begin, n) : read_as<T, 0>(out, step, column, begin, n);
    };
    switch (column.type) {
        case InputColumn::Type::f32:
            return read(float{});
        case InputColumn::Type::f64:
            return read(double{});
        case InputColumn::Type::category:
            return read(std::int32_t{});
    }
}

}  // namespace spinney
