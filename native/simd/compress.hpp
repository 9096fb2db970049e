// Compression of 16-bit lanes: the chosen ones first, in their order.
#pragma once

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <array>
#include <bit>
#include <cstdint>

#include "core/types.hpp"

namespace spinney {

#if defined(__AVX2__)
inline constexpr bool kHasCompress16 = true;

namespace detail {

/// For each set of eight 16-bit lanes, the byte shuffle that moves the lanes of the set to the front.
inline constexpr auto kCompressShuffles = [] {
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

}  // namespace detail

/// Write the lanes of `set` to `in` and the others to `out`, eight lanes to each; the number of lanes in the
/// set is popcount(set).
[[gnu::always_inline]] inline void split_lanes(const std::uint16_t* lanes, unsigned set, std::uint16_t* in,
                                               std::uint16_t* out) {
    const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(lanes));
    const auto put = [&](std::uint16_t* to, unsigned chosen) {
        const auto* shuffle = reinterpret_cast<const __m128i*>(detail::kCompressShuffles[chosen].data());
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_shuffle_epi8(all, _mm_loadu_si128(shuffle)));
    };
    put(in, set);
    put(out, set ^ 255u);
}
#else
inline constexpr bool kHasCompress16 = false;
inline void split_lanes(const std::uint16_t*, unsigned, std::uint16_t*, std::uint16_t*) {}
#endif

}  // namespace spinney
