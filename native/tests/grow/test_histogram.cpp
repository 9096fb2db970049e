// Histograms: every way of filling one against adding row by row and feature by feature.
#include <numeric>

#include "grow/histogram.hpp"
#include "tests/check.hpp"
#include "tests/naive.hpp"
#include "tests/tables.hpp"

using namespace spinney;
using naive::Sample;
using tables::Table;

namespace {

/// Histogram (n_bins, width), the slow way from the columns.
std::vector<Stat> naive_histogram(const CodeMatrix& x, const Statistics& s, const std::vector<Row>& rows) {
    std::vector<Stat> out;
    for (const auto& column : x.columns) {
        const Size first = out.size(), width = static_cast<Size>(s.width);
        out.resize(first + (column.n_bins + 1) * width, 0);
        for (Row r : rows) s.add(out.data() + first + column.at(r) * width, r);
    }
    return out;
}

template <Layout L>
std::vector<Stat> tiled_histogram(const HistogramData& data, const Statistics& s,
                                  const std::vector<Row>& rows) {
    std::vector<Stat> out(data.codes.n_bins() * static_cast<Size>(s.width), 0);
    for (const Tile& tile : data.codes.tiles) add_rows<L>(out.data(), data, tile, rows, s);
    return out;
}

/// The variant that records used bins: features out of order, and the masks against the histogram.
template <Layout L>
std::vector<Stat> marked_histogram(const HistogramData& data, const Statistics& s,
                                   const std::vector<Row>& rows) {
    const Size width = static_cast<Size>(s.width);
    std::vector<Stat> out(data.codes.n_bins() * width, 0);
    for (const Tile& tile : data.codes.tiles) {
        std::vector<std::uint32_t> chosen;
        for (Size f = tile.n; f-- > 0;) chosen.push_back(static_cast<std::uint32_t>(f));
        std::vector<CodeSet> used(chosen.size());
        add_rows_marked<L>(out.data(), used.data(), chosen, data, tile, rows, s);
        std::vector<Stat> unmarked(out.size(), 0);
        add_rows_chosen<L>(unmarked.data(), chosen, data, tile, rows, s);
        const auto begin = static_cast<long>(data.codes.first_bin[tile.first] * width),
                   end = static_cast<long>(data.codes.first_bin[tile.first + tile.n] * width);
        CHECK(std::equal(unmarked.begin() + begin, unmarked.begin() + end, out.begin() + begin));
        for (Size j = 0; j < chosen.size(); ++j) {
            const Size f = tile.first + chosen[j],
                       n_bins = data.codes.first_bin[f + 1] - data.codes.first_bin[f];
            const CodeSet expected = used_bins(out.data() + data.codes.first_bin[f] * width, n_bins, width);
            CHECK(used[j].bits == expected.bits);
            CHECK_EQUAL(used[j].size() > 0, !rows.empty());
        }
    }
    return out;
}

template <Layout L>
void check_layout(std::uint64_t seed, const CodeMatrix& x, const Statistics& s) {
    CHECK(s.layout == L);
    const CodeTiles codes = make_tiles(x, kTileFeatures, 2);
    const HistogramData data{codes, {s.stats.data(), s.class_code.data()}};
    Size features = 0;
    for (const Tile& tile : codes.tiles) {
        CHECK_EQUAL(tile.first, features);
        CHECK(tile.n >= 1 && tile.n <= kTileFeatures);
        features += tile.n;
    }
    CHECK_EQUAL(features, x.columns.size());
    for (Size f = 0; f < features; ++f)
        for (Row r = 0; r < x.n_rows; r += 97) CHECK_EQUAL(codes.feature_codes(f).at(r), x.columns[f].at(r));

    std::mt19937_64 g(seed);
    std::vector<Row> all, some, others;
    for (Size r = 0; r < x.n_rows; ++r) {
        all.push_back(static_cast<Row>(r));
        (g() % 4 ? others : some).push_back(static_cast<Row>(r));
    }
    const auto all_rows = naive_histogram(x, s, all), part = naive_histogram(x, s, some);
    CHECK(tiled_histogram<L>(data, s, all) == all_rows);
    CHECK(tiled_histogram<L>(data, s, some) == part);
    CHECK(marked_histogram<L>(data, s, some) == part);
    CHECK(marked_histogram<L>(data, s, {}) == std::vector<Stat>(part.size(), 0));

    auto rest = all_rows;
    subtract(rest.data(), part.data(), rest.size());
    CHECK(rest == naive_histogram(x, s, others));

    // The chosen rows copied together, numbered from 0.
    const CompactRows own(codes, some, some, s);
    CHECK_EQUAL(own.codes.n_rows, some.size());
    std::vector<Row> numbers(some.size());
    std::iota(numbers.begin(), numbers.end(), Row{0});
    CHECK(tiled_histogram<L>(own.view(), s, numbers) == part);
}

}  // namespace

TEST(histograms_of_every_layout) {
    for (Size n_features : {1, 15, 16, 17, 33, 40}) {
        const Table table(n_features, 700, n_features, 1, true);
        const CodeMatrix x = table.codes(255);
        const auto statistics = [&](int n_classes, int n_outputs, int weighted, bool counts) {
            return make_statistics(Sample(n_features, 700, n_classes, n_outputs, weighted).target, counts,
                                   false, true);
        };
        check_layout<Layout::packed>(1, x, statistics(2, 1, 0, true));
        check_layout<Layout::by_class>(2, x, statistics(2, 1, 2, true));
        check_layout<Layout::by_class>(3, x, statistics(5, 1, 0, false));
        check_layout<Layout::dense>(4, x, statistics(3, 2, 1, true));
        check_layout<Layout::dense>(5, x, statistics(0, 1, 2, true));
        check_layout<Layout::dense>(6, x, statistics(0, 3, 0, false));
    }
}

TEST(bins_whose_values_cancel_are_used) {
    // Two rows whose centred values add up to zero still occupy their bin.
    Sample sample(1, 2, 0, 1, 0);
    sample.values = {-1.0, 1.0};
    sample.attach();
    const Statistics s = make_statistics(sample.target, false, false, true);
    std::vector<Stat> bin(static_cast<Size>(s.width), 0);
    s.add(bin.data(), 0);
    s.add(bin.data(), 1);
    CHECK_EQUAL(bin[1], 0);
    CHECK_EQUAL(used_bins(bin.data(), 1, bin.size()).size(), Size{1});
}

CHECK_MAIN
