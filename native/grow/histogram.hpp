// Histograms of integer statistics over byte codes: the inner loop of fast growth.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "data/code_matrix.hpp"
#include "split/statistics.hpp"
#include "core/thread_pool.hpp"

namespace spinney {

/// The most features of a tile. Sixteen of 256 one-word bins fill a 32 KB cache; where a node looks at a few
/// drawn features only, a row's codes had better be together.
inline constexpr Size kTileFeatures = 16, kWideTileFeatures = 32;

/// A few neighbouring features, codes row by row, so that a row's codes share a cache line and the tile's
/// histogram stays in the first-level cache.
struct Tile {
    Size first = 0;                   // feature
    Size n = 0;                       // features
    std::vector<std::uint8_t> codes;  // (n_rows, n), and room for kWideTileFeatures more
};

/// The byte codes of some rows in the form that growth reads; made once and shared by all trees.
///
///   line[f] + code is the line of a histogram that counts `code` of feature f; there are n_lines of them.
struct CodeTiles {
    Size n_rows = 0;
    std::vector<Tile> tiles;
    std::vector<std::uint32_t> line;  // (n_features + 1,)
    Size n_lines() const { return line.back(); }

    /// Where the codes of one feature are: row r's is at first[r * step].
    struct Place {
        const std::uint8_t* first;
        Size step;
        std::uint8_t at(Row row) const { return first[row * step]; }
    };
    Place place(Size feature) const {
        // Tiles differ by one feature at most, so the guess is right or one short.
        Size t = feature * tiles.size() / (line.size() - 1);
        while (feature >= tiles[t].first + tiles[t].n) ++t;
        while (feature < tiles[t].first) --t;
        return {tiles[t].codes.data() + (feature - tiles[t].first), tiles[t].n};
    }
};

/// Tiles of up to `most` features, not yet filled.
inline CodeTiles make_tiles(const CodeMatrix& x, Size most) {
    CodeTiles out;
    const Size d = x.columns.size();
    out.n_rows = x.n_rows;
    out.line.assign(1, 0);
    for (const auto& column : x.columns) out.line.push_back(out.line.back() + column.n_bins + 1);
    const Size n_tiles = (d + most - 1) / most;
    for (Size t = 0; t < n_tiles; ++t) {
        Tile tile;
        tile.first = t * d / n_tiles;
        tile.n = (t + 1) * d / n_tiles - tile.first;
        tile.codes.resize(x.n_rows * tile.n + kWideTileFeatures);
        out.tiles.push_back(std::move(tile));
    }
    return out;
}

/// Copy the codes of rows begin..end into the tiles.
inline void fill_tiles(CodeTiles& out, const CodeMatrix& x, Size begin, Size end) {
    for (Tile& tile : out.tiles)
        for (Size f = 0; f < tile.n; ++f) {
            const std::uint8_t* from = x.columns[tile.first + f].as<std::uint8_t>();
            std::uint8_t* to = tile.codes.data() + f;
            for (Size r = begin; r < end; ++r) to[r * tile.n] = from[r];
        }
}

inline CodeTiles tile_codes(const CodeMatrix& x, Size most, int n_threads) {
    CodeTiles out = make_tiles(x, most);
    constexpr Size block = 4096;
    Pool::shared().parallel_for(n_threads, (x.n_rows + block - 1) / block, [&](Size i, int) {
        fill_tiles(out, x, i * block, std::min(x.n_rows, (i + 1) * block));
    });
    return out;
}

/// What growth reads of some rows, borrowed: their codes, and what each adds to a sum.
struct HistogramData {
    const CodeTiles& codes;
    const Stat* words;          // (n_rows, row_words)
    const std::uint16_t* slot;  // (n_rows,) for slots

    HistogramData(const CodeTiles& codes, const Statistics& s)
        : codes(codes), words(s.words.data()), slot(s.slot.data()) {}
    HistogramData(const CodeTiles& codes, const Stat* words, const std::uint16_t* slot)
        : codes(codes), words(words), slot(slot) {}
};

/// The chosen rows of a table, as data of their own.
struct CompactData {
    CodeTiles codes;
    std::vector<Stat> words;
    std::vector<std::uint16_t> slot;

    CompactData(const HistogramData& all, std::span<const Row> rows, const Statistics& s) {
        codes.n_rows = rows.size();
        codes.line = all.codes.line;
        const auto row_words = static_cast<Size>(s.row_words);
        for (const Tile& tile : all.codes.tiles) {
            Tile own{tile.first, tile.n, std::vector<std::uint8_t>(rows.size() * tile.n + kWideTileFeatures)};
            // A fixed length is one instruction; what is too much is overwritten by the next row.
            for (Size i = 0; i < rows.size(); ++i)
                std::memcpy(own.codes.data() + i * tile.n, tile.codes.data() + rows[i] * tile.n,
                            kWideTileFeatures);
            codes.tiles.push_back(std::move(own));
        }
        words.resize(rows.size() * row_words);
        for (Size i = 0; i < rows.size(); ++i)
            for (Size w = 0; w < row_words; ++w)
                words[i * row_words + w] = all.words[rows[i] * row_words + w];
        if (s.layout != Layout::slots) return;
        slot.resize(rows.size());
        for (Size i = 0; i < rows.size(); ++i) slot[i] = all.slot[rows[i]];
    }
    HistogramData view() const { return {codes, words.data(), slot.data()}; }
};

namespace detail {

/// Add the words of one row to one line.
template <Layout L>
inline void add_words(Stat* line, const HistogramData& data, Row row, int row_words) {
    if constexpr (L == Layout::packed) {
        line[0] += data.words[row];
    } else {
        const Stat* w = data.words + row * static_cast<Size>(row_words);
        Stat* at = line;
        if constexpr (L == Layout::slots) at += data.slot[row] * row_words;
        if (row_words == 2) {  // one addition of both
            using Two = Stat __attribute__((vector_size(16), aligned(8)));
            *reinterpret_cast<Two*>(at) += *reinterpret_cast<const Two*>(w);
            return;
        }
        for (int i = 0; i < row_words; ++i) at[i] += w[i];
    }
}

}  // namespace detail

/// Add rows to the histogram, one tile's features.  hist (n_lines, width)
template <Layout L>
void add_rows(Stat* hist, const HistogramData& data, const Tile& tile, std::span<const Row> rows,
              const Statistics& s) {
    const std::uint32_t* line = data.codes.line.data() + tile.first;
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
    const std::uint32_t* line = data.codes.line.data() + tile.first;
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

namespace detail {

/// N: how many features are chosen, where that is known when the code is compiled, or 0.
template <Layout L, Size N>
void add_rows_of(Stat* const* first, std::span<const std::uint32_t> chosen, const HistogramData& data,
                 const Tile& tile, std::span<const Row> rows, const Statistics& s) {
    const Size width = L == Layout::packed ? 1 : static_cast<Size>(s.width), n = N > 0 ? N : chosen.size();
    std::array<Stat*, N> own;
    std::array<std::uint32_t, N> place;
    for (Size j = 0; j < N; ++j) own[j] = first[j], place[j] = chosen[j];
    for (const Row row : rows) {
        const std::uint8_t* codes = tile.codes.data() + row * tile.n;
        if constexpr (N > 0) {
#pragma GCC unroll 8
            for (Size j = 0; j < N; ++j)
                add_words<L>(own[j] + codes[place[j]] * width, data, row, s.row_words);
        } else {
            for (Size j = 0; j < n; ++j)
                add_words<L>(first[j] + codes[chosen[j]] * width, data, row, s.row_words);
        }
    }
}

}  // namespace detail

/// Do as add_rows for the features `chosen` (places in the tile).
template <Layout L>
void add_rows_chosen(Stat* hist, std::span<const std::uint32_t> chosen, const HistogramData& data,
                     const Tile& tile, std::span<const Row> rows, const Statistics& s) {
    const std::uint32_t* line = data.codes.line.data() + tile.first;
    const Size width = static_cast<Size>(s.width);
    std::array<Stat*, kWideTileFeatures> first;
    for (Size j = 0; j < chosen.size(); ++j) first[j] = hist + line[chosen[j]] * width;
    using Add = void (*)(Stat* const*, std::span<const std::uint32_t>, const HistogramData&, const Tile&,
                         std::span<const Row>, const Statistics&);
    static constexpr auto table = []<Size... N>(std::index_sequence<N...>) {
        return std::array<Add, sizeof...(N)>{&detail::add_rows_of<L, N>...};
    }(std::make_index_sequence<17>{});
    table[chosen.size() < table.size() ? chosen.size() : 0](first.data(), chosen, data, tile, rows, s);
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
