// Tests that coding block by block gives the codes and bins of the whole table.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "data/bin_coder.hpp"
#include "data/bin_learning.hpp"
#include "data/binning.hpp"
#include "tests/check.hpp"

using namespace spinney;

static InputColumn column_of(const std::vector<double>& values, Size begin = 0) {
    return {InputColumn::Type::f64, values.data() + begin, sizeof(double), 0};
}

static std::vector<double> some_values(Size n) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    std::vector<double> values(n);
    for (Size i = 0; i < n; ++i)
        values[i] = i % 11 ? normal(random) : std::numeric_limits<double>::quiet_NaN();
    return values;
}

TEST(blocks_have_the_codes_of_the_whole) {
    const Size n = edge_sample_rows + 5001;
    const std::vector<double> values = some_values(n);
    Interrupt none;
    const std::vector<InputColumn> whole{column_of(values)};
    const CodeMatrix matrix = build_codes(whole, n, nullptr, 100, 2, none);

    std::vector<double> sample;
    for (const Row row : sample_rows(n, edge_sample_rows)) sample.push_back(values[row]);
    const std::vector<InputColumn> sampled{column_of(sample)};
    BinCoder coder(learn_bins(sampled, sample.size(), nullptr, 100, 2, none), true);
    RowVector<std::uint8_t> codes(n);
    for (Size begin = 0; begin < n; begin += 3000) {
        const Size m = std::min<Size>(3000, n - begin);
        const std::vector<InputColumn> part{column_of(values, begin)};
        coder.code(codes.data(), n, begin, part, nullptr, m, 1, none);
    }
    CHECK(codes == matrix.columns[0].bytes);
    CHECK(coder.extents(0).lo == matrix.columns[0].lo);
    CHECK(coder.extents(0).hi == matrix.columns[0].hi);
    CHECK(coder.has_missing(0));
    CHECK_THROWS(coder.code(codes.data(), n, n - 1, whole, nullptr, 2, 1, none), std::invalid_argument);
}

TEST(values_are_counted_until_there_are_too_many) {
    const std::vector<double> few{2, 1, -0.0, 0, std::numeric_limits<double>::quiet_NaN(), 2};
    const std::vector<double> masses{1, 1, 1, 1, 1, -1};
    Interrupt none;
    ValueCounter counter(2, 4);
    std::vector<double> many(6);
    for (Size i = 0; i < 6; ++i) many[i] = static_cast<double>(i);
    const std::vector<InputColumn> columns{column_of(few), column_of(many)};
    counter.add(columns, masses.data(), 6, 1, none);
    counter.add(columns, nullptr, 6, 1, none);
    CHECK(counter.complete(0));
    CHECK(!counter.complete(1));
    std::vector<double> values, counted;
    counter.read(0, values, counted);
    CHECK(values == std::vector<double>({0, 1, 2}));
    CHECK(counted == std::vector<double>({4, 2, 3}));
}

TEST(masses_of_weights_are_integers_with_exact_sums) {
    for (const double greatest : {1e-300, 0.3, 1.0, 7e250}) {
        const double scale = mass_scale(greatest, 1'000'000);
        CHECK(std::isfinite(scale) && scale > 0);
        CHECK(std::nearbyint(greatest * scale) * 1e6 <= 9007199254740992.0);
    }
}

CHECK_MAIN
