// Tests the codes against a naive reference and against what they promise.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "data/bin_learning.hpp"
#include "data/binning.hpp"
#include "tests/check.hpp"

using namespace spinney;

static constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();
static constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
static InputColumn column_of(const std::vector<T>& values) {
    const auto type = std::is_same_v<T, float>    ? InputColumn::Type::f32
                      : std::is_same_v<T, double> ? InputColumn::Type::f64
                                                  : InputColumn::Type::category;
    return {type, values.data(), sizeof(T), 0};
}

static CodeMatrix build(std::vector<InputColumn> columns, Size n, std::uint32_t max_bins, int n_threads = 1,
                        const double* weights = nullptr) {
    Interrupt interrupt;
    return build_codes(columns, n, weights, max_bins, n_threads, interrupt);
}

static std::vector<Code> codes_of(const CodeColumn& column, Size n) {
    std::vector<Code> codes(n);
    for (Size i = 0; i < n; ++i) codes[i] = column.at(i);
    return codes;
}

static bool same(const CodeColumn& a, const CodeColumn& b) {
    return a.kind == b.kind && a.width == b.width && a.has_missing == b.has_missing && a.n_bins == b.n_bins &&
           a.bytes == b.bytes && a.lo == b.lo && a.hi == b.hi && a.bin_of_category == b.bin_of_category;
}

/// The rank of each value among the distinct ones, by std::set.
static std::vector<Code> naive_ranks(const std::vector<double>& values) {
    std::set<double> distinct;
    for (double x : values) {
        if (!std::isnan(x)) distinct.insert(x);
    }
    std::map<double, Code> rank;
    for (double x : distinct) rank.emplace(x, static_cast<Code>(rank.size()));
    std::vector<Code> codes;
    for (double x : values) codes.push_back(std::isnan(x) ? static_cast<Code>(distinct.size()) : rank.at(x));
    return codes;
}

/// What holds for any binned column: codes order as values do, no value straddles, lo and hi are the
/// extremes.
static void check_promises(const std::vector<double>& values, const CodeColumn& column,
                           std::uint32_t max_bins, const double* weights = nullptr) {
    CHECK(column.n_bins <= max_bins);
    CHECK_EQUAL(column.lo.size(), Size{column.n_bins});
    CHECK(column.hi.empty() || column.hi.size() == Size{column.n_bins});
    std::map<Code, std::pair<double, double>> extremes;
    bool missing = false;
    for (Size i = 0; i < values.size(); ++i) {
        const double x = values[i];
        const Code code = column.at(i);
        missing |= code == column.n_bins;
        CHECK_EQUAL(std::isnan(x), code == column.n_bins);
        if (std::isnan(x) || (weights && weights[i] == 0)) continue;
        auto [place, fresh] = extremes.try_emplace(code, x, x);
        place->second.first = std::min(place->second.first, x);
        place->second.second = std::max(place->second.second, x);
    }
    CHECK_EQUAL(missing, column.has_missing);
    CHECK_EQUAL(extremes.size(), Size{column.n_bins});
    double last = -infinity;
    for (const auto& [code, ends] : extremes) {
        CHECK_EQUAL(ends.first, column.lo[code]);
        CHECK_EQUAL(ends.second, column.max_of(code));
        CHECK(code == 0 || ends.first > last);
        last = ends.second;
    }
}

static std::vector<std::vector<double>> samples(Size n) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    std::vector<std::vector<double>> all(10, std::vector<double>(n));
    for (Size i = 0; i < n; ++i) {
        const double z = normal(random);
        all[0][i] = z;
        all[1][i] = std::round(z * 3);
        all[2][i] = random() % 2 ? 0.0 : z;
        all[3][i] = random() % 10 == 0 ? nan_value : std::exp(5 * z);
        all[4][i] =
            std::array{-infinity, infinity, 1e308, -1e308, 5e-324, 0.0, -0.0, nan_value}[random() % 8];
        all[5][i] = nan_value;
        all[6][i] = 7.25;
        all[7][i] = std::round(z * 200);
        all[8][i] = 1e15 + static_cast<double>(random() % 5000);
        all[9][i] = random() % 3 ? std::round(z) : z;
    }
    return all;
}

TEST(binned_columns_keep_their_promises) {
    for (Size n : {0, 1, 2, 300, 5000}) {
        for (const auto& values : samples(n)) {
            for (std::uint32_t max_bins : {2u, 3u, 16u, 17u, 254u, 255u}) {
                const CodeMatrix matrix = build({column_of(values)}, n, max_bins);
                check_promises(values, matrix.columns[0], max_bins);
                const auto ranks = naive_ranks(values);
                const Size distinct = std::set<Code>(ranks.begin(), ranks.end()).size();
                if (distinct <= max_bins) CHECK(codes_of(matrix.columns[0], n) == ranks);
            }
        }
    }
}

TEST(quantile_bins_hold_equal_shares) {
    const Size n = 20000;
    const auto values = samples(n)[0];
    const CodeMatrix matrix = build({column_of(values)}, n, 100);
    CHECK_EQUAL(matrix.columns[0].n_bins, 100u);
    std::vector<int> counts(100);
    for (Size i = 0; i < n; ++i) ++counts[matrix.columns[0].at(i)];
    for (int count : counts) CHECK_EQUAL(count, 200);
}

TEST(a_heavy_value_does_not_use_up_the_bins) {
    const Size n = 20000;
    const auto values = samples(n)[2];
    const CodeMatrix matrix = build({column_of(values)}, n, 50);
    CHECK(matrix.columns[0].n_bins >= 48);
}

TEST(exact_codes_are_ranks) {
    for (Size n : {0, 1, 300, 70000}) {
        for (const auto& values : samples(n)) {
            const CodeMatrix matrix = build({column_of(values)}, n, 0);
            const CodeColumn& column = matrix.columns[0];
            CHECK(codes_of(column, n) == naive_ranks(values));
            CHECK_EQUAL(int(column.width), column.n_bins <= 255 ? 1 : column.n_bins <= 65535 ? 2 : 4);
            CHECK(column.hi.empty());
            for (Size i = 0; i < n; ++i) {
                if (!std::isnan(values[i])) CHECK_EQUAL(column.lo[column.at(i)], values[i]);
            }
        }
    }
}

TEST(float32_gives_the_codes_of_its_float64) {
    const Size n = 3000;
    for (const auto& values : samples(n)) {
        std::vector<float> narrow(values.begin(), values.end());
        std::vector<double> wide(narrow.begin(), narrow.end());
        for (std::uint32_t max_bins : {0u, 7u, 255u}) {
            const CodeMatrix a = build({column_of(narrow)}, n, max_bins),
                             b = build({column_of(wide)}, n, max_bins);
            CHECK(same(a.columns[0], b.columns[0]));
        }
    }
}

static void check_row_major(Size n) {
    auto columns = samples(n);
    for (Size j = 0; j < 10; ++j) columns.push_back(columns[j]);  // more than are read together
    const Size d = columns.size();
    std::vector<double> block(n * d);
    std::vector<InputColumn> apart, strided;
    for (Size j = 0; j < d; ++j) {
        for (Size i = 0; i < n; ++i) block[i * d + j] = columns[j][i];
        apart.push_back(column_of(columns[j]));
        strided.push_back({InputColumn::Type::f64, block.data() + j, static_cast<std::ptrdiff_t>(d * 8), 0});
    }
    for (std::uint32_t max_bins : {0u, 31u, 255u}) {
        const CodeMatrix one = build(apart, n, max_bins, 1);
        for (int n_threads : {1, 2, 5}) {
            const CodeMatrix other = build(strided, n, max_bins, n_threads);
            for (Size j = 0; j < d; ++j) CHECK(same(one.columns[j], other.columns[j]));
        }
    }
}

TEST(row_major_input_and_threads_change_nothing) {
    check_row_major(5000);
    check_row_major(17000);
}

TEST(whole_bins_at_a_time_are_those_of_one_key_after_the_other) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 400; ++round) {
        const Size n = 1 + random() % 4000, n_values = 1 + random() % (2 * n);
        const double heavy = static_cast<double>(random() % 3) / 3;
        std::vector<std::uint64_t> keys;
        for (Size i = 0; i < n; ++i) {
            const bool is_heavy = static_cast<double>(random() % 1000) < 1000 * heavy;
            keys.push_back(key_of(static_cast<double>(is_heavy ? random() % 4 : random() % n_values)));
        }
        std::sort(keys.begin(), keys.end());
        const std::span<const std::uint64_t> sorted(keys);
        for (const std::uint32_t max_bins : {2u, 3u, 20u, 100u, 255u}) {
            Bins fast, slow;
            bins_of_quantiles(fast, sorted, max_bins);
            bins_of_quantiles(slow, sorted, static_cast<double>(n), max_bins, [](Size) { return 1.0; });
            CHECK(fast.lo == slow.lo && fast.hi == slow.hi);
        }
    }
}

TEST(negative_strides_are_followed) {
    std::vector<double> values{5, 1, 3};
    const InputColumn backwards{InputColumn::Type::f64, values.data() + 2, -8, 0};
    const CodeMatrix matrix = build({backwards}, 3, 255);
    CHECK((codes_of(matrix.columns[0], 3) == std::vector<Code>{1, 0, 2}));
}

TEST(a_weight_acts_as_so_many_rows) {
    const Size n = 2000;
    std::mt19937 random(5);
    for (const auto& values : samples(n)) {
        std::vector<double> weights(n), repeated;
        std::vector<Size> origin;
        for (Size i = 0; i < n; ++i) {
            weights[i] = random() % 4;
            for (int k = 0; k < weights[i]; ++k) repeated.push_back(values[i]), origin.push_back(i);
        }
        for (std::uint32_t max_bins : {5u, 64u, 255u}) {
            const CodeMatrix a = build({column_of(values)}, n, max_bins, 1, weights.data());
            const CodeMatrix b = build({column_of(repeated)}, repeated.size(), max_bins);
            CHECK(a.columns[0].lo == b.columns[0].lo);
            CHECK(a.columns[0].hi == b.columns[0].hi);
            for (Size i = 0; i < repeated.size(); ++i)
                CHECK_EQUAL(a.columns[0].at(origin[i]), b.columns[0].at(i));
            if (a.columns[0].n_bins > 0) check_promises(values, a.columns[0], max_bins, weights.data());
        }
    }
}

TEST(large_columns_use_a_sample_for_edges_only) {
    const Size n = edge_sample_rows + 30000;
    auto columns = samples(n);
    std::vector<double> rare(n, nan_value);  // what a sample hardly sees
    for (Size i = 0; i < 400; ++i) rare[i * 500 + 7] = static_cast<double>(i);
    columns.push_back(rare);
    std::vector<double> two_and_one(n, 1.0);  // one row differs
    two_and_one[n - 1] = 2.0;
    two_and_one[n - 2] = infinity;
    columns.push_back(two_and_one);
    std::vector<InputColumn> inputs;
    for (const auto& c : columns) inputs.push_back(column_of(c));
    const CodeMatrix matrix = build(inputs, n, 255, 2);
    const CodeMatrix again = build(inputs, n, 255, 1);
    for (Size j = 0; j < columns.size(); ++j) {
        check_promises(columns[j], matrix.columns[j], 255);
        CHECK(same(matrix.columns[j], again.columns[j]));
    }
    CHECK_EQUAL(matrix.columns[0].n_bins, 255u);
    CHECK(matrix.columns[10].n_bins >= 200);
    CHECK_EQUAL(matrix.columns[11].n_bins, 3u);
}

TEST(categories_keep_their_codes_while_they_fit) {
    std::vector<std::int32_t> codes{2, -1, 0, 2, 99};
    InputColumn column = column_of(codes);
    column.n_categories = 4;
    for (std::uint32_t max_bins : {0u, 2u, 255u}) {
        const CodeMatrix matrix = build({column}, codes.size(), max_bins);
        CHECK((codes_of(matrix.columns[0], 5) == std::vector<Code>{2, 4, 0, 2, 4}));
        CHECK(matrix.columns[0].has_missing);
        CHECK(matrix.columns[0].kind == ColumnKind::categorical);
    }
}

TEST(rare_categories_share_the_last_bin) {
    std::vector<std::int32_t> codes;
    for (int c = 0; c < 300; ++c) {
        for (int k = 0; k < (c % 2 ? 3 : 1); ++k) codes.push_back(c);  // the 150 odd ones are frequent
    }
    InputColumn column = column_of(codes);
    column.n_categories = 300;
    const CodeMatrix matrix = build({column}, codes.size(), 255);
    const CodeColumn& out = matrix.columns[0];
    CHECK_EQUAL(out.n_bins, 255u);
    std::uint32_t next = 0;
    for (std::uint32_t c = 0; c < 300; ++c) {
        const bool own = c % 2 == 1 || c < 2 * (254 - 150);
        CHECK_EQUAL(out.bin_of_category[c], own ? next++ : 254u);
    }
    const CodeMatrix exact = build({column}, codes.size(), 0);
    CHECK_EQUAL(int(exact.columns[0].width), 2);
    CHECK_EQUAL(exact.columns[0].bin_of_category[299], 299u);
    CHECK(!exact.columns[0].has_missing);
}

TEST(wrong_max_bins_is_refused) {
    std::vector<double> values{1, 2};
    CHECK_THROWS(build({column_of(values)}, 2, 1), std::invalid_argument);
    CHECK_THROWS(build({column_of(values)}, 2, 256), std::invalid_argument);
}

TEST(an_interrupt_stops_binning) {
    std::vector<double> values(1000, 1.0);
    Interrupt interrupt;
    interrupt.stop = true;
    std::vector<InputColumn> columns{column_of(values)};
    CHECK_THROWS(build_codes(columns, 1000, nullptr, 255, 2, interrupt), Interrupted);
}

CHECK_MAIN
