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

/// Some rows: their codes, as many bytes for each as the place that they are in says, and their packed
/// gradients and hessians.
struct CodedRows {
    std::uint8_t* codes = nullptr;
    Stat* packed = nullptr;
};

/// Bundles whose histograms are in the first-level cache together.
struct BundleTile {
    Size first = 0, n = 0;
};

/// Neighbouring bundles that one thread works on, and the bytes of a row that hold the codes of those that
/// are dense.
struct BundleGroup {
    BundleTile bundles;
    BundleTile sparse;
    Size offset = 0, width = 0;
    std::vector<BundleTile> tiles;

    BundleGroup() = default;
    BundleGroup(BundleTile all, Size n_dense, Size stride) : bundles(all), width(stride) {
        const Size end = all.first + all.n;
        sparse = {std::max(all.first, n_dense), end - std::min(end, std::max(all.first, n_dense))};
        const BundleTile own{std::min(all.first, n_dense), all.n - sparse.n};
        const Size n_tiles = (own.n + kTileBundles - 1) / kTileBundles;
        for (Size t = 0; t < n_tiles; ++t)
            tiles.push_back(
                {own.first + t * own.n / n_tiles, (t + 1) * own.n / n_tiles - t * own.n / n_tiles});
        if (stride <= 32) return;  // a row is copied at once
        offset = own.first / 16 * 16;
        width = (own.first + own.n + 15) / 16 * 16 - offset;
    }
};

/// The codes of sparse bundles that are not the common ones, row by row.
struct SparseRows {
    std::vector<Size> begin;            // (n_rows + 1,); empty: no bundle is sparse
    std::vector<std::uint32_t> places;  // ascending in a row: bundle · 256 + code

    SparseRows(const CodeMatrix& x, const Bundles& bundles, int n_threads) {
        const Size d = bundles.bundles.size();
        if (bundles.n_dense == d) return;
        begin.assign(x.n_rows + 1, 0);
        const auto for_each = [&](auto&& f) {
            const Size n_blocks = (x.n_rows + kBlockRows - 1) / kBlockRows;
            Pool::shared().parallel_for(n_threads, n_blocks, [&](Size block, int) {
                const Size first = block * kBlockRows, last = std::min(x.n_rows, first + kBlockRows);
                for (Size s = bundles.n_dense; s < d; ++s) {
                    const std::uint8_t *codes = bundles.codes_of(s, x), common = bundles.bundles[s].common;
                    for (Size r = first; r < last; ++r)
                        if (codes[r] != common) f(r, static_cast<std::uint32_t>(s * kBundleBins + codes[r]));
                }
            });
        };
        for_each([&](Size r, std::uint32_t) { ++begin[r + 1]; });
        for (Size r = 0; r < x.n_rows; ++r) begin[r + 1] += begin[r];
        places.resize(begin[x.n_rows]);
        std::vector<Size> at(begin.begin(), begin.end() - 1);
        for_each([&](Size r, std::uint32_t place) { places[at[r]++] = place; });
    }

    /// Call f(place) for the codes of a row in some sparse bundles.
    template <class F>
    void for_each(BundleTile bundles, Size row, F&& f) const {
        const std::uint32_t *place = places.data() + begin[row], *end = places.data() + begin[row + 1];
        const Size from = bundles.first * kBundleBins, to = (bundles.first + bundles.n) * kBundleBins;
        while (place < end && *place < from) ++place;
        for (; place < end && *place < to; ++place) f(*place);
    }
};

/// The codes of all bundles, row by row: a row is in one cache line if there are not too many.
struct BundleRows {
    Size stride = 0;  // bytes of a row
    BundleGroup all;
    Bytes codes;        // (n_rows, stride): of the dense bundles
    SparseRows others;  // of the sparse bundles

    BundleRows(const CodeMatrix& x, const Bundles& bundles, int n_threads) : others(x, bundles, n_threads) {
        const Size d = bundles.n_dense;
        // No row of up to 32 bytes is in two cache lines.
        stride = d <= 32 ? std::bit_ceil(std::max<Size>(d, 4)) : (d + 15) / 16 * 16;
        all = BundleGroup({0, bundles.bundles.size()}, d, stride);
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

/// Width: known when the code is compiled, or 0.
template <Size Width>
void copy_rows(const CodedRows& to, const CodedRows& from, Size width, Size stride, const LocalRow* places,
               Size n) {
    constexpr Size ahead = 24;
    const Size size = Width > 0 ? Width : width;
    const Size step = Width > 0 && Width <= 8 ? Width : stride;  // such rows are copied whole
    for (Size i = 0; i < n; ++i) {
        const Size next = places[std::min(i + ahead, n - 1)];
        __builtin_prefetch(from.codes + next * step);
        __builtin_prefetch(from.packed + next);
        std::memcpy(to.codes + i * size, from.codes + places[i] * step, size);
        to.packed[i] = from.packed[places[i]];
    }
}

}  // namespace detail

/// Add rows to the histograms of a tile.  hist (tile.n, 256); rows: their codes begin with the tile's
inline void add_rows(Stat* hist, const BundleTile& tile, const CodedRows& rows, Size stride, Size n) {
    static constexpr auto table = detail::add_tile_table(std::make_index_sequence<kTileBundles>{});
    table[tile.n - 1](hist, rows.codes, stride, rows.packed, n);
}

/// Add rows to the histograms of a group of bundles.  hist (n_bundles, 256) of all bundles; rows: their codes
/// begin with those at the group's offset; stride: bytes of a row
inline void add_rows(Stat* hist, const BundleGroup& group, const CodedRows& rows, Size stride, Size n) {
    for (Size begin = 0; begin < n; begin += kBlockRows)
        for (const BundleTile& tile : group.tiles)
            add_rows(hist + tile.first * kBundleBins, tile,
                     {rows.codes + begin * stride + tile.first - group.offset, rows.packed + begin}, stride,
                     std::min(kBlockRows, n - begin));
}

/// Copy the first `width` bytes of the rows at `places` one behind the other.
inline void copy_rows(const CodedRows& to, const CodedRows& from, Size width, Size stride,
                      const LocalRow* places, Size n) {
    switch (width) {
        case 4:
            return detail::copy_rows<4>(to, from, width, stride, places, n);
        case 8:
            return detail::copy_rows<8>(to, from, width, stride, places, n);
        case 16:
            return detail::copy_rows<16>(to, from, width, stride, places, n);
        case 32:
            return detail::copy_rows<32>(to, from, width, stride, places, n);
        default:
            return detail::copy_rows<0>(to, from, width, stride, places, n);
    }
}

}  // namespace spinney
