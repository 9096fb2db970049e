// Tests histograms of the nodes of boosted trees, with dense and sparse columns, by one thread and several.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "boost/node_histograms.hpp"
#include "tests/check.hpp"

using namespace spinney;

namespace {

enum class Sparse { none, odd, all };

/// Columns of 255 bins; those of an odd number have code 7 in most rows, or all of them, or none.
CodeMatrix random_matrix(Size n_rows, Size n_columns, Sparse which) {
    std::mt19937 random(static_cast<unsigned>(n_columns));
    CodeMatrix x;
    x.n_rows = n_rows;
    x.columns.resize(n_columns);
    for (Size f = 0; f < n_columns; ++f) {
        x.columns[f].n_bins = 255;
        x.columns[f].bytes.resize(n_rows);
        const bool sparse = which == Sparse::all || (which == Sparse::odd && f % 2 == 1);
        for (auto& code : x.columns[f].bytes)
            code = sparse && random() % (6 + f) != 0 ? std::uint8_t{7} : static_cast<std::uint8_t>(random());
    }
    return x;
}

/// A node of some rows of each chunk.
struct RandomNode {
    BoostTable table;
    BoostRows rows;
    std::vector<ChunkRange> ranges;
    BoostNode node;

    RandomNode(const CodeMatrix& x, Size share) : table(x, 1) {
        std::mt19937 random(3);
        rows.ids.resize(x.n_rows);
        for (Size r = 0; r < x.n_rows; ++r)
            rows.packed.push_back(pack(static_cast<Stat>(random() % 2001) - 1000, 1 + random() % 9));
        for (Size c = 0; c < table.n_chunks(); ++c) {
            const auto n = static_cast<LocalRow>(table.chunk_size(c));
            rows.n_in.push_back(n);
            LocalRow* ids = rows.ids.data() + c * kChunkRows;
            std::iota(ids, ids + n, LocalRow{0});
            if (share > 1) std::shuffle(ids, ids + n, random);
            const auto end = static_cast<LocalRow>(n / share);
            ranges.push_back({0, end, end, end});
            node.n_rows += end;
            for (Size i = 0; i < end; ++i) node.total += rows.packed[c * kChunkRows + ids[i]];
        }
    }

    std::vector<Stat> naive() const {
        std::vector<Stat> out(table.histogram_size(), 0);
        for (Size c = 0; c < table.n_chunks(); ++c)
            for (Size i = 0; i < ranges[c].end; ++i) {
                const Size r = c * kChunkRows + rows.ids[c * kChunkRows + i];
                for (Size s = 0; s < table.bundles.bundles.size(); ++s)
                    out[s * kBundleBins + table.bundles.codes_of(s, table.x)[r]] += rows.packed[r];
            }
        return out;
    }
};

}  // namespace

TEST(histograms_of_dense_and_sparse_columns) {
    for (const bool all_sparse : {false, true})
        for (const Size n_columns : {2, 9, 121})  // lists of few columns' codes do not pay
            for (const Size share : {1, 3, 500})
                for (const int n_threads : {1, 3}) {
                    const CodeMatrix x =
                        random_matrix(40'000, n_columns, all_sparse ? Sparse::all : Sparse::odd);
                    RandomNode own(x, share);
                    const Size n_dense = n_columns < 100 ? n_columns : all_sparse ? 0 : (n_columns + 1) / 2;
                    CHECK_EQUAL(own.table.bundles.n_dense, n_dense);
                    NodeHistograms histograms(own.table, n_threads);
                    histograms.build(own.node, own.ranges.data(), own.rows);
                    if (share == 1) CHECK_EQUAL(histograms.total(own.node, own.rows), own.node.total);
                    histograms.finish(own.node, nullptr);
                    const Stat* found = own.node.histogram.get();
                    CHECK_EQUAL(std::vector<Stat>(found, found + own.table.histogram_size()), own.naive());
                }
}

TEST(sparse_columns_that_can_be_split_are_built_and_subtracted_from_lists) {
    const CodeMatrix x = random_matrix(40'000, 121, Sparse::odd);
    for (const int n_threads : {1, 3})
        for (const bool searched : {false, true})
            for (const Stat min_hessian : {1, 20, 20'000}) {
                RandomNode parent(x, 1), own(x, 500);
                NodeHistograms histograms(own.table, n_threads);
                const std::vector<Stat> expected = own.naive();
                std::vector<Stat> other = parent.naive(), rest = other;
                for (Size i = 0; i < rest.size(); ++i) rest[i] -= expected[i];
                NewtonNode facts;
                facts.min_hessian = min_hessian;
                const Stat rest_total = parent.node.total - own.node.total;
                histograms.build(own.node, own.ranges.data(), own.rows,
                                 {&facts, searched, other.data(), rest_total});
                Size n_own = 0, n_rest = 0;
                const auto check = [&](const Stat* found, const Stat* naive, Size common, Stat total,
                                       bool any) {
                    CHECK_EQUAL(found[common], naive[common]);
                    if (!any || facts.too_light(total - naive[common])) return Size{0};
                    CHECK(std::equal(found, found + kBundleBins, naive));
                    return Size{1};
                };
                for (Size s = own.table.bundles.n_dense; s < 121; ++s) {
                    histograms.finish(own.node, nullptr, s);  // changes nothing
                    const Size at = s * kBundleBins, common = own.table.bundles.bundles[s].common;
                    n_own += check(own.node.histogram.get() + at, expected.data() + at, common,
                                   own.node.total, searched);
                    n_rest += check(other.data() + at, rest.data() + at, common, rest_total, true);
                }
                CHECK(searched ? min_hessian == 20'000 || n_own > 0 : n_own == 0);
                CHECK(min_hessian < 20 || n_own < 60);
                CHECK(n_rest > 0 && (n_rest == 60) == (min_hessian < 20'000));
            }
}

TEST(histograms_of_few_rows_are_built_by_tiles) {
    for (const Size n_columns : {2, 41, 300})  // those of 300 columns are not in the second-level cache
        for (const int n_threads : {1, 3}) {
            const CodeMatrix x = random_matrix(40'000, n_columns, Sparse::none);
            RandomNode own(x, 500);
            NodeHistograms histograms(own.table, n_threads);
            CHECK(histograms.are_few(own.node.n_rows));
            CHECK(!histograms.are_few(x.n_rows));
            const std::vector<Stat> expected = own.naive();
            Size n = 0;
            for (const BundleGroup& group : *histograms.plan(own.node.n_rows).groups)
                histograms.for_each_bundle(group, own.ranges.data(), own.rows, 0,
                                           [&](Size s, const Stat* bins) {
                                               CHECK_EQUAL(s, n++);
                                               const Stat* own_bins = expected.data() + s * kBundleBins;
                                               CHECK(std::equal(bins, bins + kBundleBins, own_bins));
                                           });
            CHECK_EQUAL(n, n_columns);
        }
}

CHECK_MAIN
