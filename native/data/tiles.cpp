// Tiles of bin codes.
#include "data/tiles.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/thread_pool.hpp"

namespace spinney {

Size CodeTiles::rows_in_memory() const {
    Size spilled = 0;
    for (const Tile& tile : tiles) spilled += spilled_bytes(tile.codes.data());
    if (spilled == 0) return n_rows;
    // Beside its codes a row of a subtree has its statistics and places in lists of rows.
    constexpr Size state = 32, arrays = 4;
    return spill_threshold() / (first_bin.size() + state) * arrays;
}

CodeTiles make_tiles(const CodeMatrix& x, Size max_features, int n_threads) {
    CodeTiles out;
    const Size d = x.columns.size();
    out.n_rows = x.n_rows;
    out.first_bin.assign(1, 0);
    for (const auto& column : x.columns) out.first_bin.push_back(out.first_bin.back() + column.n_bins + 1);
    const Size n_tiles = (d + max_features - 1) / max_features;
    for (Size t = 0; t < n_tiles; ++t) {
        Tile tile;
        tile.first = t * d / n_tiles;
        tile.n = (t + 1) * d / n_tiles - tile.first;
        tile.codes.resize(x.n_rows * tile.n + kWideTileFeatures);
        out.tiles.push_back(std::move(tile));
    }
    constexpr Size block = 4096;
    Pool::shared().parallel_for(n_threads, (x.n_rows + block - 1) / block, [&](Size i, int) {
        const Size begin = i * block, end = std::min(x.n_rows, begin + block);
        for (Tile& tile : out.tiles)
            for (Size f = 0; f < tile.n; ++f) {
                const std::uint8_t* from = x.columns[tile.first + f].as<std::uint8_t>();
                std::uint8_t* to = tile.codes.data() + f;
                for (Size r = begin; r < end; ++r) to[r * tile.n] = from[r];
            }
    });
    return out;
}

CodeTiles compact_tiles(const CodeTiles& all, std::span<const Row> rows) {
    CodeTiles out;
    out.n_rows = rows.size();
    out.first_bin = all.first_bin;
    for (const Tile& tile : all.tiles) {
        Tile own{tile.first, tile.n, RowVector<std::uint8_t>(rows.size() * tile.n + kWideTileFeatures)};
        // A copy of fixed length is one instruction; the next row overwrites the excess.
        for (Size i = 0; i < rows.size(); ++i)
            std::memcpy(own.codes.data() + i * tile.n, tile.codes.data() + rows[i] * tile.n,
                        kWideTileFeatures);
        out.tiles.push_back(std::move(own));
    }
    return out;
}

}  // namespace spinney
