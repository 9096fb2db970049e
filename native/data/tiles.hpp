// Tiles: bin codes of neighbouring features stored row by row, the form that tree growth reads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/code_matrix.hpp"

namespace spinney {

/// Maximum number of features of a tile. The histogram of 16 features with 256 one-integer bins fills a
/// 32 KB cache; nodes that search a few drawn features prefer all codes of a row in one cache line.
inline constexpr Size kTileFeatures = 16, kWideTileFeatures = 32;

/// Neighbouring features with their codes row by row, so that the codes of a row share a cache line and the
/// histogram of the tile stays in the L1 cache.
struct Tile {
    Size first = 0;                 // feature
    Size n = 0;                     // features
    RowVector<std::uint8_t> codes;  // (n_rows, n), padded by kWideTileFeatures
};

/// Bin codes of some rows as tiles; built once and shared by all trees.
///
/// first_bin[f] + code is the index of a bin of feature f in a histogram over all features.
struct CodeTiles {
    Size n_rows = 0;
    std::vector<Tile> tiles;
    std::vector<std::uint32_t> first_bin;  // (n_features + 1,)
    Size n_bins() const { return first_bin.back(); }

    /// Rows whose codes may be copied to memory at once, all of them if the codes are in memory.
    Size rows_in_memory() const;

    /// The codes of one feature: row r's is first[r * stride].
    struct FeatureCodes {
        const std::uint8_t* first;
        Size stride;
        std::uint8_t at(Row row) const { return first[row * stride]; }
    };
    FeatureCodes feature_codes(Size feature) const {
        // Sizes of tiles differ by at most one feature, so the guess is right or off by one.
        Size t = feature * tiles.size() / (first_bin.size() - 1);
        while (feature >= tiles[t].first + tiles[t].n) ++t;
        while (feature < tiles[t].first) --t;
        return {tiles[t].codes.data() + (feature - tiles[t].first), tiles[t].n};
    }
};

/// Tiles of up to max_features features.
CodeTiles make_tiles(const CodeMatrix& x, Size max_features, int n_threads);

/// Copy of the given rows of some tiles.
CodeTiles compact_tiles(const CodeTiles& all, std::span<const Row> rows);

}  // namespace spinney
