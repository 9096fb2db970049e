// Tests the rows of a boosted node: partition of lists, and histograms of scattered rows.
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "boost/partition.hpp"
#include "boost/row_buffer.hpp"
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

/// A table, and the packed gradients of its rows.
struct Rows {
    CodeMatrix x;
    Bundles bundles;
    BundleRows table;
    std::vector<Stat> packed;
    Size n_chunks;

    Rows(Size n_rows, Size n_columns)
        : x(random_matrix(n_rows, n_columns)),
          bundles(make_bundles(x)),
          table(x, bundles, 1),
          packed(n_rows),
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

    /// Build a node's histogram as a grower does, by so many groups of bundles.
    std::vector<Stat> build(const std::vector<std::vector<LocalRow>>& ids, Size n_groups) {
        const Size d = bundles.bundles.size();
        std::vector<Stat> out(d * kBundleBins, 0);
        RowBuffer buffer;
        for (Size g = 0; g < n_groups; ++g) {
            const Size first = g * d / n_groups, end = (g + 1) * d / n_groups;
            const BundleGroup group({first, end - first}, d, table.stride);
            for (Size c = 0; c < n_chunks; ++c) {
                const CodedRows chunk{table.codes.data() + c * kChunkRows * table.stride,
                                      packed.data() + c * kChunkRows};
                buffer.add(out.data(), table, group, chunk, ids[c].data(), ids[c].size());
            }
            buffer.flush(out.data(), group);
        }
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

TEST(histograms_of_scattered_rows) {
    std::mt19937 random(5);
    for (const Size n_columns : {17, 28, 33, 50}) {
        Rows rows(70'000, n_columns);
        std::vector<std::vector<LocalRow>> all(rows.n_chunks);
        for (Size c = 0; c < rows.n_chunks; ++c) {
            all[c].resize(std::min(kChunkRows, rows.x.n_rows - c * kChunkRows));
            std::iota(all[c].begin(), all[c].end(), LocalRow{0});
        }
        for (const double chance : {0.5, 0.1, 0.001}) {
            const auto ids = some(all, chance, random);
            for (const Size n_groups : {1, 2, 5, 17}) CHECK_EQUAL(rows.build(ids, n_groups), rows.naive(ids));
        }
    }
}

CHECK_MAIN
