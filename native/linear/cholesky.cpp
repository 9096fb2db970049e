#include "linear/cholesky.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "linear/tiles.hpp"

namespace spinney {
namespace {

constexpr Size kBlock = 32;  // columns that are factorized before the rest of the matrix is updated

/// Factorize the columns [begin, end) of rows [begin, n), whose earlier columns are done; return the smallest
/// pivot, at once if it is not positive.
double factor_columns(double* l, Size stride, Size begin, Size end, Size n) {
    double smallest = INFINITY;
    for (Size j = begin; j < end; ++j) {
        double* row = l + j * stride;
        double pivot = row[j];
        for (Size k = begin; k < j; ++k) pivot -= row[k] * row[k];
        smallest = std::min(smallest, pivot);
        if (!(pivot > 0)) return pivot;
        row[j] = std::sqrt(pivot);
        const double inverse = 1.0 / row[j];
        for (Size i = j + 1; i < n; ++i) {
            double* other = l + i * stride;
            double sum = other[j];
            for (Size k = begin; k < j; ++k) sum -= other[k] * row[k];
            other[j] = sum * inverse;
        }
    }
    return smallest;
}

/// rows [end, n) and columns [end, n) −= L Lᵀ of the columns [begin, end), lower triangle.
void update_rest(double* l, Size stride, Size begin, Size end, Size n, std::vector<double>& transposed) {
    const Size width = stride;
    for (Size k = begin; k < end; ++k)
        for (Size i = end; i < n; ++i) transposed[(k - begin) * width + i] = -l[i * stride + k];
    for (Size i = end; i < n; i += kTile) {
        const Size rows = std::min(kTile, n - i);
        // Whole registers: entries above the diagonal, or in the padding, are written but never read.
        const Size first = end / kRegister * kRegister;
        const Size n_columns = (std::min(i + kTile, n) - first + kRegister - 1) / kRegister * kRegister;
        for (Size r = 0; r < (rows == kTile ? 1 : rows); ++r) {
            double* out = l + (i + r) * stride;
            if (rows == kTile)
                add_rows<kTile>(out + first, stride, out + begin, 1, stride, transposed.data() + first, width,
                                end - begin, n_columns);
            else
                add_rows<1>(out + first, stride, out + begin, 1, stride, transposed.data() + first, width,
                            end - begin, n_columns);
        }
    }
}

void substitute(double* x, const double* l, Size stride, Size n) {
    for (Size i = 0; i < n; ++i) {
        double sum = x[i];
        for (Size k = 0; k < i; ++k) sum -= l[i * stride + k] * x[k];
        x[i] = sum / l[i * stride + i];
    }
    for (Size i = n; i-- > 0;) {
        x[i] /= l[i * stride + i];
        for (Size k = 0; k < i; ++k) x[k] -= l[i * stride + k] * x[i];
    }
}

}  // namespace

double cholesky_solve(double* right, const double* matrix, Size n, Size k, Interrupt& interrupt) {
    const Size stride = padded(n + kRegister);
    std::vector<double> l(n * stride, 0.0), transposed(kBlock * stride, 0.0);
    for (Size i = 0; i < n; ++i) std::copy_n(matrix + i * n, i + 1, l.data() + i * stride);
    double smallest = n == 0 ? 1.0 : INFINITY;
    for (Size begin = 0; begin < n; begin += kBlock) {
        interrupt.poll();
        const Size end = std::min(begin + kBlock, n);
        smallest = std::min(smallest, factor_columns(l.data(), stride, begin, end, n));
        if (!(smallest > 0)) return smallest;
        if (end < n) update_rest(l.data(), stride, begin, end, n, transposed);
    }
    for (Size row = 0; row < k; ++row) substitute(right + row * n, l.data(), stride, n);
    return smallest;
}

}  // namespace spinney
