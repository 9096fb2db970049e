// EdgeTable: finds the bins of values.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "core/types.hpp"
#include "data/bin_edges.hpp"
#include "data/code_matrix.hpp"
#include "simd/count_below.hpp"

namespace spinney {

/// The edges between at most 256 bins, padded with infinities so that the search has no branch: first which
/// sixteenth of the edges a value is in, then where in it.
class EdgeTable {
  public:
    explicit EdgeTable(const Bins& bins) : few_(bins.size() <= 16) {
        edges_.fill(std::numeric_limits<double>::infinity());
        for (Size b = 0; b + 1 < bins.size(); ++b) edges_[b] = midpoint(bins.hi[b], bins.lo[b + 1]);
        for (Size k = 0; k < 16; ++k) coarse_[k] = edges_[16 * k + 15];
    }

    /// Write the bin of each value, or `missing` for NaN.  codes, values (n,)
    void code(std::uint8_t* codes, const double* values, Size n, std::uint8_t missing) const {
        for (Size i = 0; i < n; ++i) {
            const double x = values[i];
            const std::uint32_t first = few_ ? 0 : 16 * count_below_16(coarse_.data(), x);
            const std::uint32_t bin = first + count_below_16(edges_.data() + first, x);
            codes[i] = x == x ? static_cast<std::uint8_t>(bin) : missing;
        }
    }

  private:
    bool few_;  // all edges are in the first sixteenth
    std::array<double, 256> edges_;
    std::array<double, 16> coarse_;
};

}  // namespace spinney
