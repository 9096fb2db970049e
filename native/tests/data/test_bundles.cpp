// Tests shared bundles: the histogram of a column out of that of its bundle, and where columns share one.
#include <algorithm>
#include <random>
#include <vector>

#include "data/bundles.hpp"
#include "tests/check.hpp"

using namespace spinney;

/// Columns of 2, 3, 4, … bins, the last code for missing values; the first code is the most frequent.
static CodeMatrix few_valued(Size n_rows, Size n_columns) {
    std::mt19937_64 g(n_rows);
    CodeMatrix x;
    x.n_rows = n_rows;
    x.columns.resize(n_columns);
    for (Size f = 0; f < n_columns; ++f) {
        CodeColumn& column = x.columns[f];
        column.n_bins = static_cast<std::uint32_t>(2 + f % 5);
        for (Size r = 0; r < n_rows; ++r)
            column.bytes.push_back(static_cast<std::uint8_t>(g() % 3 == 0 ? g() % (column.n_bins + 1) : 0));
    }
    return x;
}

TEST(the_histogram_of_a_column_comes_out_of_its_bundle) {
    std::mt19937_64 g(1);
    const Size n_rows = 20'000;
    const CodeMatrix x = few_valued(n_rows, 23);
    const Bundles bundles = make_bundles(x);
    CHECK(bundles.bundles.size() < 15);
    for (std::uint32_t f = 0; f < x.columns.size(); ++f) {
        const auto [s, place] = bundles.place_of[f];
        const Bundle& bundle = bundles.bundles[s];
        if (!bundle.shared()) continue;
        std::vector<Stat> of_bundle(kBundleBins, 0), expected(kBundleBins, 0), found(kBundleBins, 7);
        Stat total = 0;
        for (Size r = 0; r < n_rows; r += 1 + g() % 9) {
            const Stat own = static_cast<Stat>(g() % 1000) - 300;
            of_bundle[bundles.codes_of(s, x)[r]] += own;
            expected[x.columns[f].bytes[r]] += own;
            total += own;
        }
        const Size n_out = x.columns[f].n_bins + 1;
        unpack(found.data(), n_out, bundle.columns[place], of_bundle.data(), total);
        for (Size code = 0; code < n_out; ++code) CHECK_EQUAL(found[code], expected[code]);
        CHECK_EQUAL(found[n_out], 7);
    }
}

TEST(few_rows_need_no_shared_bundles) {
    const CodeMatrix x = few_valued(300, 23);
    const Bundles bundles = make_bundles(x);
    CHECK_EQUAL(bundles.bundles.size(), 23);
    for (std::uint32_t f = 0; f < 23; ++f)
        CHECK(bundles.codes_of(bundles.place_of[f].first, x) == x.columns[f].bytes.data());
}

CHECK_MAIN
