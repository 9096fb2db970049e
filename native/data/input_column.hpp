// The input columns, borrowed, and how their values are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/types.hpp"

namespace spinney {

/// One input column, borrowed: float32, float64 (NaN missing), or int32 category codes (-1 missing).
struct InputColumn {
    enum class Type : std::uint8_t { f32, f64, category };
    Type type = Type::f64;
    const void* data = nullptr;
    std::ptrdiff_t stride = 0;  // in bytes
    std::uint32_t n_categories = 0;
};

/// One value of a column of type T.
template <class T>
T load_value(const InputColumn& column, Size row) {
    T value;  // memcpy: an input array need not be aligned
    const auto* bytes = static_cast<const char*>(column.data);
    std::memcpy(&value, bytes + static_cast<std::ptrdiff_t>(row) * column.stride, sizeof(T));
    return value;
}

/// Read values of a column of any type, NaN where missing.  out (n,) in steps of `step`
void read_values(double* out, Size step, const InputColumn& column, Size begin, Size n);

}  // namespace spinney
