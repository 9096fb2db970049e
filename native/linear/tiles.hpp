// Products of small dense matrices, one tile of the output in registers at a time.
#pragma once

#include <cstring>

#include "simd/vectors.hpp"

namespace spinney {

inline constexpr Size kTile = 4;  // rows of the output tile held in registers

inline Size padded(Size n) { return (n + 7) / 8 * 8; }

/// out[i][j] += Σ_k a[k·a_step + i·a_item] · b[k·b_step + j] for Rows × (Blocks·kRegister) outputs; each
/// output is one running sum over k, whatever the register width.
template <Size Rows, Size Blocks>
[[gnu::always_inline]] inline void add_tile(double* out, Size out_step, const double* a, Size a_step,
                                            Size a_item, const double* b, Size b_step, Size n) {
    Register sums[Rows][Blocks];
    for (Size i = 0; i < Rows; ++i)
        for (Size j = 0; j < Blocks; ++j)
            std::memcpy(&sums[i][j], out + i * out_step + j * kRegister, sizeof(Register));
    for (Size k = 0; k < n; ++k) {
        Register right[Blocks];
        std::memcpy(right, b + k * b_step, sizeof right);
        for (Size i = 0; i < Rows; ++i) {
            const double left = a[k * a_step + i * a_item];
            for (Size j = 0; j < Blocks; ++j) sums[i][j] += left * right[j];
        }
    }
    for (Size i = 0; i < Rows; ++i)
        for (Size j = 0; j < Blocks; ++j)
            std::memcpy(out + i * out_step + j * kRegister, &sums[i][j], sizeof(Register));
}

/// The same for any number of outputs; n_columns is a multiple of kRegister.
template <Size Rows>
inline void add_rows(double* out, Size out_step, const double* a, Size a_step, Size a_item, const double* b,
                     Size b_step, Size n, Size n_columns) {
    Size j = 0;
    for (; j + 3 * kRegister <= n_columns; j += 3 * kRegister)
        add_tile<Rows, 3>(out + j, out_step, a, a_step, a_item, b + j, b_step, n);
    for (; j < n_columns; j += kRegister)
        add_tile<Rows, 1>(out + j, out_step, a, a_step, a_item, b + j, b_step, n);
}

/// out (n_rows, n_columns) += a (n_rows, n) · b (n, n_columns)
inline void add_product(double* out, Size out_step, const double* a, Size a_step, const double* b,
                        Size b_step, Size n_rows, Size n, Size n_columns) {
    Size r = 0;
    for (; r + kTile <= n_rows; r += kTile)
        add_rows<kTile>(out + r * out_step, out_step, a + r * a_step, 1, a_step, b, b_step, n, n_columns);
    for (; r < n_rows; ++r)
        add_rows<1>(out + r * out_step, out_step, a + r * a_step, 1, a_step, b, b_step, n, n_columns);
}

}  // namespace spinney
