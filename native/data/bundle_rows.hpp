// Bundles in row-major order, and the inner loop of boosting: packed sums of gradients and hessians by code.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/chunk_sum.hpp"
#include "core/thread_pool.hpp"
#include "data/bundles.hpp"

namespace spinney {

/// Rows are worked on in chunks: a chunk's row numbers are 2 bytes, and its columns stay in the caches.
using LocalRow = std::uint16_t;

/// Fifteen histograms of 256 sums leave room in a 32 KB cache for the rows that stream through.
inline constexpr Size kTileBundles = 15;

/// Rows that go through one tile after the other: they stay in the second-level cache meanwhile, and a tile's
/// histograms in the first are not driven out too often.
inline constexpr Size kBlockRows = 2048;

/// Memory that is not cleared, and begins where a cache line does.
class Bytes {
  public:
    Bytes() = default;
    explicit Bytes(Size n) : at_(static_cast<std::uint8_t*>(::operator new(n, line))) {}
    std::uint8_t* data() const { return at_.get(); }

  private:
    static constexpr std::align_val_t line{64};
    struct Free {
        void operator()(std::uint8_t* at) const { ::operator delete(at, line); }
    };
    std::unique_ptr<std::uint8_t, Free> at_;
};

/// Some rows: their codes, `stride` bytes each, and their packed gradients and hessians.
struct CodedRows {
    std::uint8_t* codes = nullptr;
    Stat* packed = nullptr;
};

/// Bundles whose histograms are in the first-level cache together.
struct BundleTile {
    Size first = 0, n = 0;
};

/// The codes of all bundles, row by row: a row is in one cache line if there are not too many.
struct BundleRows {
    Size stride = 0;  // bytes of a row
    std::vector<BundleTile> tiles;
    Bytes codes;  // (n_rows, stride)

    BundleRows(const CodeMatrix& x, const Bundles& bundles, int n_threads) {
        const Size d = bundles.bundles.size(), n_tiles = (d + kTileBundles - 1) / kTileBundles;
        // No row of up to 32 bytes is in two cache lines.
        stride = d <= 32 ? std::bit_ceil(std::max<Size>(d, 4)) : (d + 15) / 16 * 16;
        for (Size t = 0; t < n_tiles; ++t)
            tiles.push_back({t * d / n_tiles, (t + 1) * d / n_tiles - t * d / n_tiles});
        codes = Bytes(x.n_rows * stride);
        const Size n_blocks = (x.n_rows + kBlockRows - 1) / kBlockRows;
        Pool::shared().parallel_for(n_threads, n_blocks, [&](Size block, int) {
            const Size begin = block * kBlockRows, end = std::min(x.n_rows, begin + kBlockRows);
            for (Size s = 0; s < stride; ++s) {
                const std::uint8_t* from = s < d ? bundles.codes_of(s, x) : nullptr;
                std::uint8_t* to = codes.data() + s;
                for (Size r = begin; r < end; ++r) to[r * stride] = from ? from[r] : 0;
            }
        });
    }
};

namespace detail {

template <Size N>
[[gnu::always_inline]] inline void add_row(Stat* hist, const std::uint8_t* code, Stat packed) {
#pragma GCC unroll 16
    for (Size s = 0; s < N; ++s) hist[s * kBundleBins + code[s]] += packed;
}

template <Size N>
void add_tile(Stat* __restrict hist, const std::uint8_t* codes, Size stride, const Stat* packed, Size n) {
    for (Size r = 0; r < n; ++r) add_row<N>(hist, codes + r * stride, packed[r]);
}

using AddTile = void (*)(Stat*, const std::uint8_t*, Size, const Stat*, Size);

template <Size... N>
constexpr std::array<AddTile, sizeof...(N)> add_tile_table(std::index_sequence<N...>) {
    return {&add_tile<N + 1>...};
}

/// Stride: known when the code is compiled, or 0.
template <Size Stride>
void copy_rows(const CodedRows& to, const CodedRows& from, Size stride, const LocalRow* places, Size n) {
    constexpr Size ahead = 24;
    const Size step = Stride > 0 ? Stride : stride;
    for (Size i = 0; i < n; ++i) {
        const Size next = places[std::min(i + ahead, n - 1)];
        __builtin_prefetch(from.codes + next * step);
        __builtin_prefetch(from.packed + next);
        std::memcpy(to.codes + i * step, from.codes + places[i] * step, step);
        to.packed[i] = from.packed[places[i]];
    }
}

}  // namespace detail

/// Add rows to the histograms of all bundles.  hist (n_bundles, 256)
inline void add_rows(Stat* hist, const BundleRows& shape, const CodedRows& rows, Size n) {
    static constexpr auto table = detail::add_tile_table(std::make_index_sequence<kTileBundles>{});
    for (Size begin = 0; begin < n; begin += kBlockRows)
        for (const BundleTile& tile : shape.tiles)
            table[tile.n - 1](hist + tile.first * kBundleBins, rows.codes + begin * shape.stride + tile.first,
                              shape.stride, rows.packed + begin, std::min(kBlockRows, n - begin));
}

/// Copy the rows at `places` one behind the other.
inline void copy_rows(const CodedRows& to, const CodedRows& from, Size stride, const LocalRow* places,
                      Size n) {
    switch (stride) {
        case 4:
            return detail::copy_rows<4>(to, from, stride, places, n);
        case 8:
            return detail::copy_rows<8>(to, from, stride, places, n);
        case 16:
            return detail::copy_rows<16>(to, from, stride, places, n);
        case 32:
            return detail::copy_rows<32>(to, from, stride, places, n);
        default:
            return detail::copy_rows<0>(to, from, stride, places, n);
    }
}

}  // namespace spinney
