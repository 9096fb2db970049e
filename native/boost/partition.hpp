// Dividing a list of rows in two by the codes of one column, each side in its old order.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "data/bundle_rows.hpp"

namespace spinney {

/// More than a list may hold, for whole registers are written behind its end.
inline constexpr Size kSpareRows = kChunkRows + 8;

namespace detail {

#if defined(__AVX2__)
/// For each set of eight numbers of two bytes, the shuffle that puts those in the set first, in their order.
inline constexpr auto kGatherFront = [] {
    std::array<std::array<std::uint8_t, 16>, 256> out{};
    for (Size set = 0; set < 256; ++set) {
        Size n = 0;
        for (Size i = 0; i < 8; ++i) {
            if (!(set >> i & 1)) continue;
            out[set][n++] = static_cast<std::uint8_t>(2 * i);
            out[set][n++] = static_cast<std::uint8_t>(2 * i + 1);
        }
    }
    return out;
}();
#endif

}  // namespace detail

/// Put the rows first whose code's side is 1; gives how many they are.  ids (n,), spare (kSpareRows,),
/// codes: of the chunk's rows, sides (256,): 0 or 1
inline Size divide_rows(LocalRow* ids, Size n, LocalRow* spare, const std::uint8_t* codes,
                        const std::uint8_t* sides) {
    LocalRow *left = ids, *right = spare;
    Size i = 0;
#if defined(__AVX2__)
    // Eight rows at a time: two stores in place of sixteen.
    for (; i + 8 <= n; i += 8) {
        unsigned set = 0;
#pragma GCC unroll 8
        for (unsigned k = 0; k < 8; ++k) set |= static_cast<unsigned>(sides[codes[ids[i + k]]]) << k;
        const __m128i rows = _mm_loadu_si128(reinterpret_cast<const __m128i*>(ids + i));
        const auto put = [&](LocalRow* to, unsigned chosen) {
            const auto* shuffle = reinterpret_cast<const __m128i*>(detail::kGatherFront[chosen].data());
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                             _mm_shuffle_epi8(rows, _mm_loadu_si128(shuffle)));
        };
        put(left, set);
        put(right, set ^ 255u);
        const auto n_left = static_cast<Size>(std::popcount(set));
        left += n_left;
        right += 8 - n_left;
    }
#endif
    for (; i < n; ++i) {
        const LocalRow row = ids[i];
        const Size goes_left = sides[codes[row]];
        *left = row;
        *right = row;
        left += goes_left;
        right += 1 - goes_left;
    }
    std::copy(spare, right, left);
    return static_cast<Size>(left - ids);
}

}  // namespace spinney
