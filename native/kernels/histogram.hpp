// Histograms of integer statistics over byte codes: the inner loop of fast growth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matrix.hpp"
#include "statistics.hpp"

namespace spinney {

/// A few neighbouring features, codes row by row, so that a row's codes share a cache line and the tile's
/// histogram stays in the first-level cache.
struct Tile {
    Size first = 0;                   // feature
    Size n = 0;                       // features
    std::vector<std::uint8_t> codes;  // (n_rows, n)
};

/// Byte codes and statistics of some rows, in the forms that growth reads.
///
///   line[f] + code is the line of a histogram that counts `code` of feature f; there are n_lines of `width`
///   words.
struct HistogramData {
    Size n_rows = 0;
    std::vector<Tile> tiles;
    std::vector<std::uint32_t> line;  // (n_features + 1,)
    std::vector<std::uint16_t> slot;
    std::vector<Stat> words;  // (n_rows, row_words)
    Size n_lines() const { return line.back(); }
};

/// Sixteen features of 256 one-word bins fill a 32 KB cache.
inline constexpr Size kTileFeatures = 16;

inline HistogramData make_histogram_data(const CodeMatrix& x, const Statistics& s) {
    HistogramData out;
    const Size d = x.columns.size();
    out.n_rows = x.n_rows;
    out.line.assign(1, 0);
    for (const auto& column : x.columns) out.line.push_back(out.line.back() + column.n_bins + 1);
    const Size n_tiles = (d + kTileFeatures - 1) / kTileFeatures;
    for (Size t = 0; t < n_tiles; ++t) {
        Tile tile;
        tile.first = t * d / n_tiles;
        tile.n = (t + 1) * d / n_tiles - tile.first;
        tile.codes.resize(x.n_rows * tile.n);
        out.tiles.push_back(std::move(tile));
    }
    out.slot = s.slot;
    out.words = s.words;
    return out;
}

/// Copy the codes of rows begin..end into the tiles.
inline void fill_tiles(HistogramData& out, const CodeMatrix& x, Size begin, Size end) {
    for (Tile& tile : out.tiles)
        for (Size f = 0; f < tile.n; ++f) {
            const std::uint8_t* from = x.columns[tile.first + f].as<std::uint8_t>();
            std::uint8_t* to = tile.codes.data() + f;
            for (Size r = begin; r < end; ++r) to[r * tile.n] = from[r];
        }
}

/// The chosen rows of `all`, as data of their own.
inline HistogramData compact(const HistogramData& all, std::span<const Row> rows, const Statistics& s) {
    HistogramData out;
    out.n_rows = rows.size();
    out.line = all.line;
    const auto row_words = static_cast<Size>(s.row_words);
    for (const Tile& tile : all.tiles) {
        Tile own{tile.first, tile.n, std::vector<std::uint8_t>(rows.size() * tile.n)};
        for (Size i = 0; i < rows.size(); ++i)
            std::copy_n(tile.codes.data() + rows[i] * tile.n, tile.n, own.codes.data() + i * tile.n);
        out.tiles.push_back(std::move(own));
    }
    out.words.resize(rows.size() * row_words);
    for (Size i = 0; i < rows.size(); ++i)
        std::copy_n(all.words.data() + rows[i] * row_words, row_words, out.words.data() + i * row_words);
    if (!all.slot.empty()) {
        out.slot.resize(rows.size());
        for (Size i = 0; i < rows.size(); ++i) out.slot[i] = all.slot[rows[i]];
    }
    return out;
}

namespace detail {

/// Add the words of one row to one line.
template <Layout L>
inline void add_words(Stat* line, const HistogramData& data, Row row, int row_words) {
    if constexpr (L == Layout::packed) {
        line[0] += data.words[row];
    } else {
        const Stat* w = data.words.data() + row * static_cast<Size>(row_words);
        Stat* at = line;
        if constexpr (L == Layout::slots) at += data.slot[row] * row_words;
        for (int i = 0; i < row_words; ++i) at[i] += w[i];
    }
}

}  // namespace detail

/// Add rows to the histogram, one tile's features.  hist (n_lines, width)
template <Layout L>
void add_rows(Stat* hist, const HistogramData& data, const Tile& tile, std::span<const Row> rows,
              const Statistics& s) {
    const std::uint32_t* line = data.line.data() + tile.first;
    const Size n = tile.n, width = static_cast<Size>(s.width);
    const int row_words = s.row_words;
    constexpr Size ahead = 12;
    for (Size i = 0; i < rows.size(); ++i) {
        const std::uint8_t* code = tile.codes.data() + rows[i] * n;
        if (i + ahead < rows.size()) __builtin_prefetch(tile.codes.data() + rows[i + ahead] * n);
        if constexpr (L == Layout::packed) {
            const Stat w = data.words[rows[i]];
            for (Size f = 0; f < n; ++f) hist[line[f] + code[f]] += w;
        } else {
            for (Size f = 0; f < n; ++f)
                detail::add_words<L>(hist + (line[f] + code[f]) * width, data, rows[i], row_words);
        }
    }
}

/// The bits of a feature's lines in use: four words hold 256 codes.
using Occupied = std::array<std::uint64_t, 4>;

/// Do as add_rows for the features `chosen` (places in the tile), and mark the lines in use.  occupied
/// (n_chosen,)
template <Layout L>
void add_rows_marked(Stat* hist, Occupied* occupied, std::span<const std::uint32_t> chosen,
                     const HistogramData& data, const Tile& tile, std::span<const Row> rows,
                     const Statistics& s) {
    const std::uint32_t* line = data.line.data() + tile.first;
    const Size width = static_cast<Size>(s.width);
    for (const Row row : rows) {
        const std::uint8_t* codes = tile.codes.data() + row * tile.n;
        for (Size j = 0; j < chosen.size(); ++j) {
            const std::uint8_t code = codes[chosen[j]];
            occupied[j][code / 64] |= std::uint64_t{1} << (code % 64);
            detail::add_words<L>(hist + (line[chosen[j]] + code) * width, data, row, s.row_words);
        }
    }
}

/// The lines of one feature in use.
inline Occupied find_occupied(const Stat* lines, Size n, int width) {
    Occupied out{};
    for (Size code = 0; code < n; ++code) {
        Stat any = 0;
        for (int i = 0; i < width; ++i) any |= lines[code * static_cast<Size>(width) + static_cast<Size>(i)];
        out[code / 64] |= static_cast<std::uint64_t>(any != 0) << (code % 64);
    }
    return out;
}

/// out −= part: what is left of a node when one child is taken away.
inline void subtract(Stat* out, const Stat* part, Size n) {
    for (Size i = 0; i < n; ++i) out[i] -= part[i];
}

}  // namespace spinney
