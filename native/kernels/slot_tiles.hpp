// Row-major tiles of slots and the inner loop of boosting: packed sums of gradients and hessians by code.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "slots.hpp"

namespace spinney {

/// Rows are worked on in chunks: a chunk's row numbers are 2 bytes, its columns stay in the caches, and sums
/// of real numbers over chunks are added in the same order for any number of threads.
inline constexpr Size kChunkRows = 16384;
using LocalRow = std::uint16_t;

/// Fifteen histograms of 256 words leave room in a 32 KB cache for the rows that stream through.
inline constexpr Size kTileSlots = 15;

/// A few slots, codes row by row: a row's codes share a cache line, their histograms the first-level cache.
struct SlotTile {
    Size first = 0, n = 0;            // slots
    std::vector<std::uint8_t> codes;  // (n_rows, n)
};

inline std::vector<SlotTile> make_tiles(const CodeMatrix& x, const Slots& slots, int n_threads) {
    const Size d = slots.slots.size(), n_tiles = (d + kTileSlots - 1) / kTileSlots;
    std::vector<SlotTile> tiles(n_tiles);
    for (Size t = 0; t < n_tiles; ++t) {
        tiles[t].first = t * d / n_tiles;
        tiles[t].n = (t + 1) * d / n_tiles - tiles[t].first;
        tiles[t].codes.resize(x.n_rows * tiles[t].n);
    }
    constexpr Size block = 2048;
    Pool::shared().parallel_for(n_threads, (x.n_rows + block - 1) / block, [&](Size i, int) {
        const Size begin = i * block, end = std::min(x.n_rows, begin + block);
        for (SlotTile& tile : tiles)
            for (Size s = 0; s < tile.n; ++s) {
                const std::uint8_t* from = slots.codes_of(tile.first + s, x);
                std::uint8_t* to = tile.codes.data() + s;
                for (Size r = begin; r < end; ++r) to[r * tile.n] = from[r];
            }
    });
    return tiles;
}

namespace detail {

template <Size N>
[[gnu::always_inline]] inline void add_row(Stat* hist, const std::uint8_t* code, Stat word) {
#pragma GCC unroll 16
    for (Size s = 0; s < N; ++s) hist[s * kSlotLines + code[s]] += word;
}

/// ids (n,): rows of the chunk, ascending; null: the first n rows
template <Size N>
void add_chunk(Stat* __restrict hist, const std::uint8_t* codes, const Stat* words, const LocalRow* ids,
               Size n) {
    if (!ids) {
        for (Size r = 0; r < n; ++r) add_row<N>(hist, codes + r * N, words[r]);
        return;
    }
    constexpr Size ahead = 16;
    Size i = 0;
    for (; i + ahead < n; ++i) {
        __builtin_prefetch(codes + Size{ids[i + ahead]} * N);
        add_row<N>(hist, codes + Size{ids[i]} * N, words[ids[i]]);
    }
    for (; i < n; ++i) add_row<N>(hist, codes + Size{ids[i]} * N, words[ids[i]]);
}

using AddChunk = void (*)(Stat*, const std::uint8_t*, const Stat*, const LocalRow*, Size);

template <Size... N>
constexpr std::array<AddChunk, sizeof...(N)> add_chunk_table(std::index_sequence<N...>) {
    return {&add_chunk<N + 1>...};
}

}  // namespace detail

/// Add rows of one chunk to a tile's histograms.  hist (n, 256); words, codes start at the chunk's first row
inline void add_rows(Stat* hist, const SlotTile& tile, Size first_row, const Stat* words, const LocalRow* ids,
                     Size n) {
    static constexpr auto table = detail::add_chunk_table(std::make_index_sequence<kTileSlots>{});
    table[tile.n - 1](hist, tile.codes.data() + first_row * tile.n, words, ids, n);
}

}  // namespace spinney
