// Tests the rows of a boosted node: partition of lists, gathered copies, and their histograms.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "boost/gathered_rows.hpp"
#include "boost/partition.hpp"
#include "tests/check.hpp"

using namespace spinney;

/// Random codes; `n_columns` of many values, so that each has a bundle.
static CodeMatrix random_matrix(Size n_rows, Size n_columns) {
    std::mt19937 random(static_cast<unsigned>(n_columns));
    CodeMatrix x;
    x.n_rows = n_rows;
    x.columns.resize(n_columns);
    for (CodeColumn& column : x.columns) {
        column.n_bins = 255;
        column.bytes.resize(n_rows);
        for (auto& code : column.bytes) code = static_cast<std::uint8_t>(random());
    }
    return x;
}

TEST(rows_are_divided_in_their_order) {
    std::mt19937 random(3);
    std::vector<std::uint8_t> codes(kChunkRows);
    for (auto& code : codes) code = static_cast<std::uint8_t>(random());
    std::vector<LocalRow> spare(kSpareRows);
    for (const Size n : {0, 1, 7, 8, 9, 64, 1001, 16384}) {
        for (const unsigned cut : {0u, 1u, 100u, 255u, 256u}) {
            std::array<std::uint8_t, kBundleBins> goes_left{};
            std::fill_n(goes_left.begin(), cut, std::uint8_t{1});
            std::vector<LocalRow> ids(kChunkRows), expected;
            std::iota(ids.begin(), ids.end(), LocalRow{0});
            std::shuffle(ids.begin(), ids.end(), random);
            ids.resize(n);
            expected = ids;
            const auto middle = std::stable_partition(expected.begin(), expected.end(),
                                                      [&](LocalRow id) { return codes[id] < cut; });
            const Size n_left = partition_rows(ids.data(), n, spare.data(), codes.data(), goes_left.data());
            CHECK_EQUAL(static_cast<std::ptrdiff_t>(n_left), middle - expected.begin());
            CHECK_EQUAL(ids, expected);
        }
    }
}

/// A table, packed of its rows, and the stores of one tree.
struct Rows {
    CodeMatrix x;
    Bundles bundles;
    BundleRows table;
    std::vector<Stat> packed;
    GatheredRows gathered;
    Size n_chunks;

    Rows(Size n_rows, Size n_columns)
        : x(random_matrix(n_rows, n_columns)),
          bundles(make_bundles(x)),
          table(x, bundles, 1),
          packed(n_rows),
          gathered(table, n_rows),
          n_chunks((n_rows + kChunkRows - 1) / kChunkRows) {
        for (Size r = 0; r < n_rows; ++r) packed[r] = static_cast<Stat>(r * r % 1009) - 500;
    }

    std::vector<Stat> naive(const std::vector<std::vector<LocalRow>>& ids) const {
        std::vector<Stat> out(bundles.bundles.size() * kBundleBins, 0);
        for (Size c = 0; c < n_chunks; ++c)
            for (const LocalRow id : ids[c])
                for (Size s = 0; s < bundles.bundles.size(); ++s)
                    out[s * kBundleBins + bundles.codes_of(s, x)[c * kChunkRows + id]] +=
                        packed[c * kChunkRows + id];
        return out;
    }

    /// Build a node's histogram as a grower does; `copy` is that of the parent, then its own.
    std::vector<Stat> build(int& copy, const std::vector<std::vector<LocalRow>>& ids) {
        Size n = 0;
        std::vector<Size> sizes;
        for (const auto& list : ids) {
            n += list.size();
            sizes.push_back(list.size());
        }
        std::vector<Stat> out(bundles.bundles.size() * kBundleBins, 0);
        RowBuffer buffer;
        const int from = copy;
        copy = gathered.reserve(from, n, sizes);
        for (Size c = 0; c < n_chunks; ++c) {
            if (copy == from)
                gathered.collect(out.data(), buffer, from, c, ids[c].data(), ids[c].size(), packed.data());
            else
                gathered.copy(out.data(), from, copy, c, ids[c].data(), ids[c].size(), packed.data());
        }
        gathered.flush(out.data(), buffer);
        return out;
    }
};

/// Keep each row of a list with the given chance.
static std::vector<std::vector<LocalRow>> some(const std::vector<std::vector<LocalRow>>& from, double chance,
                                               std::mt19937& random) {
    std::vector<std::vector<LocalRow>> out(from.size());
    for (Size c = 0; c < from.size(); ++c)
        for (const LocalRow id : from[c])
            if (std::bernoulli_distribution(chance)(random)) out[c].push_back(id);
    return out;
}

TEST(histograms_are_the_same_wherever_rows_are) {
    std::mt19937 random(5);
    for (const Size n_columns : {17, 28, 33, 50}) {
        Rows rows(70'000, n_columns);
        std::vector<std::vector<LocalRow>> all(rows.n_chunks);
        for (Size c = 0; c < rows.n_chunks; ++c) {
            all[c].resize(std::min(kChunkRows, rows.x.n_rows - c * kChunkRows));
            std::iota(all[c].begin(), all[c].end(), LocalRow{0});
        }
        for (int tree = 0; tree < 2; ++tree) {
            rows.gathered.clear();
            int dense = GatheredRows::kTable, sparse = GatheredRows::kTable;
            const auto half = some(all, 0.5, random), tenth = some(all, 0.1, random);
            CHECK_EQUAL(rows.build(dense, half), rows.naive(half));
            CHECK_EQUAL(dense, GatheredRows::kTable);
            CHECK_EQUAL(rows.build(sparse, tenth), rows.naive(tenth));
            CHECK(sparse != GatheredRows::kTable);
            // Descendants, out of the copy: with and without one of their own.
            int near = sparse, far = sparse;
            const auto most = some(tenth, 0.7, random), few = some(tenth, 0.1, random);
            CHECK_EQUAL(rows.build(near, most), rows.naive(most));
            CHECK_EQUAL(near, sparse);
            CHECK_EQUAL(rows.build(far, few), rows.naive(few));
            CHECK(far != sparse);
        }
    }
}

TEST(small_tables_are_not_copied) {
    Rows rows(1'000, 28);
    CHECK_EQUAL(rows.gathered.reserve(GatheredRows::kTable, 10, {10}), GatheredRows::kTable);
}

CHECK_MAIN
