// Histograms of integer row statistics over bin codes: the inner loop of the histogram grower.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "data/tiles.hpp"
#include "simd/vectors.hpp"
#include "split/statistics.hpp"

namespace spinney {

/// Codes and statistics of some rows, borrowed.
struct HistogramData {
    const CodeTiles& codes;
    const Stat* stats;                // (n_rows, row_width)
    const std::uint16_t* class_code;  // (n_rows,) of layout by_class

    HistogramData(const CodeTiles& codes, const Statistics& s)
        : codes(codes), stats(s.stats.data()), class_code(s.class_code.data()) {}
    HistogramData(const CodeTiles& codes, const Stat* stats, const std::uint16_t* class_code)
        : codes(codes), stats(stats), class_code(class_code) {}
};

/// Codes and statistics of chosen rows, copied together so that a subtree reads its own memory only.
struct CompactRows {
    CodeTiles codes;
    std::vector<Stat> stats;
    std::vector<std::uint16_t> class_code;

    CompactRows(const HistogramData& all, std::span<const Row> rows, const Statistics& s)
        : codes(compact_tiles(all.codes, rows)) {
        const auto width = static_cast<Size>(s.row_width);
        stats.resize(rows.size() * width);
        for (Size i = 0; i < rows.size(); ++i)
            for (Size w = 0; w < width; ++w) stats[i * width + w] = all.stats[rows[i] * width + w];
        if (s.layout != Layout::by_class) return;
        class_code.resize(rows.size());
        for (Size i = 0; i < rows.size(); ++i) class_code[i] = all.class_code[rows[i]];
    }
    HistogramData view() const { return {codes, stats.data(), class_code.data()}; }
};

namespace detail {

/// Add the statistics of one row to one bin.
template <Layout L>
inline void add_row_stats(Stat* bin, const HistogramData& data, Row row, int row_width) {
    if constexpr (L == Layout::packed) {
        bin[0] += data.stats[row];
    } else {
        const Stat* own = data.stats + row * static_cast<Size>(row_width);
        Stat* to = bin;
        if constexpr (L == Layout::by_class) to += data.class_code[row] * row_width;
        if (row_width == 2) {  // one addition of both
            add_two(to, own);
            return;
        }
        for (int i = 0; i < row_width; ++i) to[i] += own[i];
    }
}

}  // namespace detail

/// Add rows to the histogram of the features of one tile.  hist (n_bins, width)
template <Layout L>
void add_rows(Stat* hist, const HistogramData& data, const Tile& tile, std::span<const Row> rows,
              const Statistics& s) {
    const std::uint32_t* first_bin = data.codes.first_bin.data() + tile.first;
    const Size n = tile.n, width = static_cast<Size>(s.width);
    const int row_width = s.row_width;
    constexpr Size ahead = 12;
    for (Size i = 0; i < rows.size(); ++i) {
        const std::uint8_t* code = tile.codes.data() + rows[i] * n;
        if (i + ahead < rows.size()) __builtin_prefetch(tile.codes.data() + rows[i + ahead] * n);
        if constexpr (L == Layout::packed) {
            const Stat own = data.stats[rows[i]];
            for (Size f = 0; f < n; ++f) hist[first_bin[f] + code[f]] += own;
        } else {
            for (Size f = 0; f < n; ++f)
                detail::add_row_stats<L>(hist + (first_bin[f] + code[f]) * width, data, rows[i], row_width);
        }
    }
}

/// The same for the `chosen` columns of the tile, recording the used bins.  used (n_chosen,)
template <Layout L>
void add_rows_marked(Stat* hist, BinMask* used, std::span<const std::uint32_t> chosen,
                     const HistogramData& data, const Tile& tile, std::span<const Row> rows,
                     const Statistics& s) {
    const std::uint32_t* first_bin = data.codes.first_bin.data() + tile.first;
    const Size width = static_cast<Size>(s.width);
    for (const Row row : rows) {
        const std::uint8_t* codes = tile.codes.data() + row * tile.n;
        for (Size j = 0; j < chosen.size(); ++j) {
            const std::uint8_t code = codes[chosen[j]];
            used[j][code / 64] |= std::uint64_t{1} << (code % 64);
            detail::add_row_stats<L>(hist + (first_bin[chosen[j]] + code) * width, data, row, s.row_width);
        }
    }
}

namespace detail {

/// N: number of chosen features if it is known at compile time, or 0. Unrolled loops make forests 7 % faster.
template <Layout L, Size N>
void add_rows_of(Stat* const* first, std::span<const std::uint32_t> chosen, const HistogramData& data,
                 const Tile& tile, std::span<const Row> rows, const Statistics& s) {
    const Size width = L == Layout::packed ? 1 : static_cast<Size>(s.width), n = N > 0 ? N : chosen.size();
    std::array<Stat*, N> own;
    std::array<std::uint32_t, N> column;
    for (Size j = 0; j < N; ++j) own[j] = first[j], column[j] = chosen[j];
    for (const Row row : rows) {
        const std::uint8_t* codes = tile.codes.data() + row * tile.n;
        if constexpr (N > 0) {
#pragma GCC unroll 8
            for (Size j = 0; j < N; ++j)
                add_row_stats<L>(own[j] + codes[column[j]] * width, data, row, s.row_width);
        } else {
            for (Size j = 0; j < n; ++j)
                add_row_stats<L>(first[j] + codes[chosen[j]] * width, data, row, s.row_width);
        }
    }
}

}  // namespace detail

/// The same for the `chosen` columns of the tile.
template <Layout L>
void add_rows_chosen(Stat* hist, std::span<const std::uint32_t> chosen, const HistogramData& data,
                     const Tile& tile, std::span<const Row> rows, const Statistics& s) {
    const std::uint32_t* first_bin = data.codes.first_bin.data() + tile.first;
    const Size width = static_cast<Size>(s.width);
    std::array<Stat*, kWideTileFeatures> first;
    for (Size j = 0; j < chosen.size(); ++j) first[j] = hist + first_bin[chosen[j]] * width;
    using Add = void (*)(Stat* const*, std::span<const std::uint32_t>, const HistogramData&, const Tile&,
                         std::span<const Row>, const Statistics&);
    static constexpr auto table = []<Size... N>(std::index_sequence<N...>) {
        return std::array<Add, sizeof...(N)>{&detail::add_rows_of<L, N>...};
    }(std::make_index_sequence<9>{});
    table[chosen.size() < table.size() ? chosen.size() : 0](first.data(), chosen, data, tile, rows, s);
}

/// Bins of one feature that are not empty.  bins (n, width)
inline BinMask used_bins(const Stat* bins, Size n, int width) {
    BinMask out{};
    for (Size code = 0; code < n; ++code) {
        Stat any = 0;
        for (int i = 0; i < width; ++i) any |= bins[code * static_cast<Size>(width) + static_cast<Size>(i)];
        out[code / 64] |= static_cast<std::uint64_t>(any != 0) << (code % 64);
    }
    return out;
}

/// out −= part (histogram subtraction).
inline void subtract(Stat* out, const Stat* part, Size n) {
    for (Size i = 0; i < n; ++i) out[i] -= part[i];
}

}  // namespace spinney
