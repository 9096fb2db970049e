// Histograms of integer row statistics over bin codes: the inner loop of the histogram grower.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "data/tiles.hpp"
#include "split/row_stats.hpp"

namespace spinney {

/// Codes and statistics of some rows, borrowed.
struct HistogramData {
    const CodeTiles& codes;
    RowStats rows;
};

/// Codes and statistics of chosen rows, copied together so that a subtree reads its own memory only.
struct CompactRows {
    CodeTiles codes;
    CopiedRowStats rows;

    /// chosen: rows of the tiles; table_rows: the same rows of the table
    CompactRows(const CodeTiles& all, std::span<const Row> chosen, std::span<const Row> table_rows,
                const Statistics& s)
        : codes(compact_tiles(all, chosen)) {
        rows.gather(s, {table_rows, {}});
    }
    HistogramData view() const { return {codes, rows.view()}; }
};

/// Add the statistics of a row to n sums: at(j) is the j-th.
template <Layout L, class At>
[[gnu::always_inline]] inline void add_to_each(const RowStats& rows, Size row, int row_width, Size n,
                                               At&& at) {
    if constexpr (L == Layout::by_class)
        if (row_width == 1) {  // the usual one, read once for all sums
            const Stat own = rows.stats[row];
            const Size class_code = rows.class_code[row];
            for (Size j = 0; j < n; ++j) at(j)[class_code] += own;
            return;
        }
    for (Size j = 0; j < n; ++j) rows.template add<L>(at(j), row, row_width);
}

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
            const Stat own = data.rows.stats[rows[i]];
            for (Size f = 0; f < n; ++f) hist[first_bin[f] + code[f]] += own;
        } else {
            add_to_each<L>(data.rows, rows[i], row_width, n,
                           [&](Size f) { return hist + (first_bin[f] + code[f]) * width; });
        }
    }
}

/// The same for the `chosen` columns of the tile, recording the used bins.  used (n_chosen,)
template <Layout L>
void add_rows_marked(Stat* hist, CodeSet* used, std::span<const std::uint32_t> chosen,
                     const HistogramData& data, const Tile& tile, std::span<const Row> rows,
                     const Statistics& s) {
    const std::uint32_t* first_bin = data.codes.first_bin.data() + tile.first;
    const Size width = static_cast<Size>(s.width);
    for (const Row row : rows) {
        const std::uint8_t* codes = tile.codes.data() + row * tile.n;
        for (Size j = 0; j < chosen.size(); ++j) {
            const std::uint8_t code = codes[chosen[j]];
            used[j].put(code);
            data.rows.add<L>(hist + (first_bin[chosen[j]] + code) * width, row, s.row_width);
        }
    }
}

/// The same for the `chosen` columns of the tile.
template <Layout L>
void add_rows_chosen(Stat* hist, std::span<const std::uint32_t> chosen, const HistogramData& data,
                     const Tile& tile, std::span<const Row> rows, const Statistics& s) {
    const std::uint32_t* first_bin = data.codes.first_bin.data() + tile.first;
    const Size width = L == Layout::packed ? 1 : static_cast<Size>(s.width);
    std::array<Stat*, kWideTileFeatures> first;
    for (Size j = 0; j < chosen.size(); ++j) first[j] = hist + first_bin[chosen[j]] * width;
    for (const Row row : rows) {
        const std::uint8_t* codes = tile.codes.data() + row * tile.n;
        if constexpr (L == Layout::packed)
            for (Size j = 0; j < chosen.size(); ++j) data.rows.add<L>(first[j] + codes[chosen[j]], row, 1);
        else
            add_to_each<L>(data.rows, row, s.row_width, chosen.size(),
                           [&](Size j) { return first[j] + codes[chosen[j]] * width; });
    }
}

/// Bins of one feature that are not empty.  bins (n, width)
inline CodeSet used_bins(const Stat* bins, Size n, Size width) {
    CodeSet out;
    for (Code code = 0; code < n; ++code) {
        Stat any = 0;
        for (Size i = 0; i < width; ++i) any |= bins[code * width + i];
        out.bits[code / 64] |= static_cast<std::uint64_t>(any != 0) << (code % 64);
    }
    return out;
}

/// out −= part (histogram subtraction).
inline void subtract(Stat* out, const Stat* part, Size n) {
    for (Size i = 0; i < n; ++i) out[i] -= part[i];
}

}  // namespace spinney
