#include "boost/partition.hpp"

#include <algorithm>
#include <bit>

#include "simd/compress.hpp"

namespace spinney {

Size partition_rows(LocalRow* ids, Size n, LocalRow* spare, const std::uint8_t* codes,
                    const std::uint8_t* goes_left) {
    LocalRow *left = ids, *right = spare;
    Size i = 0;
    if constexpr (kHasCompress16) {
        for (; i + 8 <= n; i += 8) {
            unsigned set = 0;
#pragma GCC unroll 8
            for (unsigned k = 0; k < 8; ++k) set |= static_cast<unsigned>(goes_left[codes[ids[i + k]]]) << k;
            split_lanes(ids + i, set, left, right);
            const auto n_left = static_cast<Size>(std::popcount(set));
            left += n_left;
            right += 8 - n_left;
        }
    }
    // Without branches: the side of a row is unpredictable.
    for (; i < n; ++i) {
        const LocalRow row = ids[i];
        const Size to_left = goes_left[codes[row]];
        *left = row;
        *right = row;
        left += to_left;
        right += 1 - to_left;
    }
    std::copy(spare, right, left);
    return static_cast<Size>(left - ids);
}

}  // namespace spinney
