#include "boost/partition.hpp"

#include <algorithm>

namespace spinney {

Size partition_rows(LocalRow* ids, Size n, LocalRow* spare, const std::uint8_t* codes,
                    const std::uint8_t* goes_left) {
    LocalRow *left = ids, *right = spare;
    // Without branches: the side of a row is unpredictable.
    for (Size i = 0; i < n; ++i) {
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
