// Searches of one feature against a plain loop over all thresholds, for every shape of node.
#include <algorithm>
#include <random>
#include <vector>

#include "data/code_starts.hpp"
#include "split/numeric_search.hpp"
#include "split/sorted_search.hpp"
#include "tests/check.hpp"

using namespace spinney;

namespace {

/// Codes below n_bins, and n_bins for missing values, of which a quarter of the features has many.
std::vector<std::uint8_t> draw_codes(std::mt19937_64& g, Size n, Size n_bins) {
    const Size one_in = g() % 4 == 0 ? 3 : g() % 2 == 0 ? 20 : 100'000;
    std::vector<std::uint8_t> out;
    for (Size i = 0; i < n; ++i)
        out.push_back(static_cast<std::uint8_t>(g() % one_in == 0 ? n_bins : g() % n_bins));
    return out;
}

/// The codes of one feature and two classes with integer weights.
struct Sample {
    std::vector<std::uint8_t> codes;
    std::vector<std::int32_t> classes;
    std::vector<double> weights;
    Target target;
    Statistics s;
    std::vector<Row> rows;
    Stat total = 0;

    Sample(std::mt19937_64& g, Size n, Size n_bins, int max_weight) : codes(draw_codes(g, n, n_bins)) {
        for (Size i = 0; i < n; ++i) {
            classes.push_back(static_cast<std::int32_t>(g() % 2));
            weights.push_back(static_cast<double>(1 + g() % static_cast<Size>(max_weight)));
            rows.push_back(static_cast<Row>(i));
        }
        target.n_rows = n;
        target.n_outputs = 1;
        target.task = Task::classification;
        target.classes = classes.data();
        target.n_classes = {2};
        target.weights = weights.data();
        s = make_statistics(target, false, false, true);
        for (const Stat own : s.stats) total += own;
    }
    std::uint8_t at(Row row) const { return codes[row]; }

    std::vector<Stat> histogram(Size n_bins) const {
        std::vector<Stat> out(n_bins + 1, 0);  // the last one of missing values
        for (Size i = 0; i < codes.size(); ++i) out[codes[i]] += s.stats[i];
        return out;
    }
};

using PackedScorer = SplitScorer<Layout::packed, OfClasses<Gini, Layout::packed>>;

/// Make a split the best one if it is better than those before.
bool offer(BinSplit& best, double quality, Size code, std::int32_t missing) {
    if (!(quality > best.quality)) return false;
    best.set({quality, code});
    best.missing = missing;
    return true;
}

/// The first of the best splits among the used bins, one at a time, with missing values on either side.
BinSplit naive_split(PackedScorer& scorer, const std::vector<Stat>& bins, Stat& left) {
    BinSplit out;
    const Stat missing = bins.back();
    Stat sum = 0;
    int n_used = missing != 0;
    for (Size b = 0; b + 1 < bins.size(); ++b) {
        if (bins[b] == 0) continue;
        ++n_used;
        sum += bins[b];
        if (offer(out, scorer(&sum), b, missing ? 1 : -1)) left = sum;
        const Stat with_missing = sum + missing;
        if (missing && offer(out, scorer(&with_missing), b, 0)) left = with_missing;
    }
    out.constant = n_used < 2;
    return out;
}

void check_split(const BinSplit& found, const BinSplit& expected) {
    CHECK_EQUAL(found.constant, expected.constant);
    CHECK_EQUAL(found.found(), expected.found());
    if (!expected.found()) return;
    CHECK_EQUAL(found.quality, expected.quality);
    CHECK_EQUAL(found.last_left, expected.last_left);
    CHECK_EQUAL(found.missing, expected.missing);
}

bool check_small(const Sample& sample, Size n_bins, PackedScorer& scorer, const BinSplit& expected) {
    using Small = SmallNodeSearch;
    if (!Small::supports(sample.s) ||
        !Small::supports(sample.rows.size(), sample.s.weight_steps(&sample.total)))
        return false;
    Small small;
    small.load(sample.rows, {sample.s.stats.data(), nullptr}, sample.s);
    small.read(sample.rows, sample, static_cast<Code>(n_bins));
    check_split(small.search(scorer), expected);
    return true;
}

}  // namespace

TEST(every_search_finds_the_first_of_the_best_splits) {
    std::mt19937_64 g(1);
    int small = 0;
    for (int round = 0; round < 3000; ++round) {
        const Size n = 1 + g() % (round % 3 == 0 ? 150 : 12), n_bins = 1 + g() % (round % 2 == 0 ? 255 : 6);
        const Sample sample(g, n, n_bins, round % 5 == 0 ? 300 : 3);
        Limits limits;
        limits.min_weight = round % 7 == 0 ? 4 : 1;
        PackedScorer scorer(sample.s, &sample.total, limits);
        const std::vector<Stat> bins = sample.histogram(n_bins);
        Stat expected_left = 0, left = 0;
        const BinSplit expected = naive_split(scorer, bins, expected_left);
        const BinSplit found = BinSearch(1).search(scorer, bins.data(), n_bins, nullptr,
                                                   bins.back() != 0 ? &bins.back() : nullptr, &left);
        check_split(found, expected);
        if (found.found()) CHECK_EQUAL(left, expected_left);
        small += check_small(sample, n_bins, scorer, expected);
    }
    CHECK(small > 1000);
}

namespace {

/// The codes of one feature with n_classes classes, or values if it is 0.
struct AnySample {
    std::vector<std::uint8_t> codes;
    std::vector<std::int32_t> classes;
    std::vector<double> values, weights;
    Target target;
    Statistics s;
    std::vector<Row> rows;
    std::vector<Stat> total;

    AnySample(std::mt19937_64& g, Size n, Size n_bins, int n_classes, double weight_unit)
        : codes(draw_codes(g, n, n_bins)) {
        std::normal_distribution<double> z;
        for (Size i = 0; i < n; ++i) {
            classes.push_back(n_classes ? static_cast<std::int32_t>(g() % static_cast<Size>(n_classes)) : 0);
            values.push_back(z(g));
            weights.push_back(weight_unit * static_cast<double>(1 + g() % 3));
            rows.push_back(static_cast<Row>(i));
        }
        target.n_rows = n;
        target.n_outputs = 1;
        target.task = n_classes ? Task::classification : Task::regression;
        if (n_classes) {
            target.classes = classes.data();
            target.n_classes = {n_classes};
        } else {
            target.values = values.data();
        }
        target.weights = weights.data();
        s = make_statistics(target, false, false, true);
        total = left_sum(255, 255);
    }
    std::uint8_t at(Row row) const { return codes[row]; }
    RowStats stats() const { return {s.stats.data(), s.class_code.data()}; }

    bool has(Code code) const { return std::find(codes.begin(), codes.end(), code) != codes.end(); }

    /// Sum of the rows of codes up to `last`, and of the code `also`.
    std::vector<Stat> left_sum(Code last, Code also) const {
        std::vector<Stat> out(static_cast<Size>(s.width), 0);
        for (const Row r : rows)
            if (codes[r] <= last || codes[r] == also) {
                if (s.layout == Layout::by_class)
                    stats().add<Layout::by_class>(out.data(), r, s.row_width);
                else
                    stats().add<Layout::dense>(out.data(), r, s.row_width);
            }
        return out;
    }
};

template <Layout L, class Criterion>
int check_sorted(std::mt19937_64& g, int n_classes, double weight_unit) {
    int n_checked = 0;
    for (int round = 0; round < 400; ++round) {
        const Size n = 1 + g() % (round % 4 == 0 ? 700 : 40), n_bins = 1 + g() % (round % 2 == 0 ? 255 : 6);
        const AnySample sample(g, n, n_bins, n_classes, weight_unit);
        CHECK(sample.s.layout == L);
        Limits limits;
        limits.min_weight = round % 7 == 0 ? 4 : 1;
        using Scorer = SplitScorer<L, Criterion>;
        Scorer scorer(sample.s, sample.total.data(), limits);
        SortedNodeSearch<L> search(sample.s, Scorer::of_values || Scorer::of_squares);
        if (!search.supports(n, sample.s.weight_steps(sample.total.data()))) continue;
        ++n_checked;
        search.load(sample.rows, sample.stats(), sample.s);
        const Code missing = static_cast<Code>(n_bins);
        search.read(sample.rows, sample, missing);
        const BinSplit found = search.search(scorer);
        BinSplit expected;
        for (Code code = 0; code < n_bins; ++code) {
            if (!sample.has(code)) continue;
            const bool any_missing = sample.has(missing);
            offer(expected, scorer(sample.left_sum(code, code).data()), code, any_missing ? 1 : -1);
            if (any_missing) offer(expected, scorer(sample.left_sum(code, missing).data()), code, 0);
        }
        CHECK_EQUAL(found.found(), expected.found());
        if (!found.found()) continue;
        CHECK_EQUAL(found.quality, expected.quality);
        CHECK_EQUAL(found.last_left, expected.last_left);
        CHECK_EQUAL(found.missing, expected.missing);
    }
    return n_checked;
}

}  // namespace

TEST(sorted_rows_give_the_first_of_the_best_splits) {
    std::mt19937_64 g(6);
    CHECK((check_sorted<Layout::by_class, OfClasses<Gini, Layout::by_class>>(g, 7, 1.0) == 400));
    CHECK((check_sorted<Layout::by_class, OfClasses<Gini, Layout::by_class>>(g, 3, 0.3) > 250));
    CHECK((check_sorted<Layout::by_class, OfClasses<Entropy, Layout::by_class>>(g, 4, 1.0) > 250));
    CHECK((check_sorted<Layout::dense, SquaredError>(g, 0, 1.0) > 250));
}

TEST(random_thresholds_of_a_tile_have_the_sums_of_single_ones) {
    std::mt19937_64 g(3);
    for (const int max_weight : {1, 7, 255}) {
        const Size n = 700, n_features = 28;
        const Sample sample(g, n, 255, max_weight);
        Tile tile{0, n_features, RowVector<std::uint8_t>(n * n_features + kWideTileFeatures)};
        for (auto& code : tile.codes) code = static_cast<std::uint8_t>(g());
        std::vector<TileThreshold> thresholds;
        TileLanes::Bytes last_left{}, smallest, largest;
        for (std::uint32_t f = 0; f < n_features; f += 3) {
            thresholds.push_back({f, static_cast<Code>(g() % 256), 0.0, -1});
            last_left[f] = static_cast<std::uint8_t>(thresholds.back().last_left);
        }
        std::vector<Stat> sums(thresholds.size());
        TileLanes::left_sums(sums.data(), thresholds, tile, sample.rows, last_left, sample.s.stats.data(),
                             max_weight);
        TileLanes::ranges(smallest, largest, tile, sample.rows);
        for (Size i = 0; i < thresholds.size(); ++i) {
            const TileThreshold& t = thresholds[i];
            Stat sum = 0;
            std::uint8_t low = 255, high = 0;
            for (Size r = 0; r < n; ++r) {
                const std::uint8_t code = tile.codes[r * n_features + t.column];
                if (code <= t.last_left) sum += sample.s.stats[r];
                low = std::min(low, code);
                high = std::max(high, code);
            }
            CHECK_EQUAL(sums[i], sum);
            CHECK(smallest[t.column] == low && largest[t.column] == high);
        }
    }
}

TEST(random_thresholds_of_a_tile_have_the_sums_of_every_class) {
    std::mt19937_64 g(5);
    for (const int max_weight : {1, 7, 255}) {
        const Size n = 700, n_features = 17, n_classes = 5;
        std::vector<Stat> weights(n);
        std::vector<std::uint16_t> classes(n);
        std::vector<Row> rows;
        for (Size r = 0; r < n; ++r) {
            weights[r] = static_cast<Stat>(1 + g() % static_cast<Size>(max_weight));
            classes[r] = static_cast<std::uint16_t>(g() % n_classes);
            if (r % 3 != 0) rows.push_back(static_cast<Row>(r));
        }
        Tile tile{0, n_features, RowVector<std::uint8_t>(n * n_features + kWideTileFeatures)};
        for (auto& code : tile.codes) code = static_cast<std::uint8_t>(g());
        TileLanes::Bytes last_left{};
        for (Size f = 0; f < n_features; ++f) last_left[f] = static_cast<std::uint8_t>(g());
        std::vector<TileThreshold> thresholds;
        for (std::uint32_t f = 0; f < n_features; ++f) thresholds.push_back({f, last_left[f], 0.0, -1});
        std::vector<Stat> sums(n_classes * (n_features + kRegister), 99);
        std::vector<TileLanes::Bytes> counts(n_classes);
        TileLanes::left_sums_by_class(sums.data(), counts, thresholds, tile, rows, last_left,
                                      {weights.data(), classes.data()}, max_weight);
        std::vector<Stat> expected(n_classes * n_features, 0);
        for (const Row r : rows)
            for (Size f = 0; f < n_features; ++f)
                if (tile.codes[r * n_features + f] <= last_left[f])
                    expected[classes[r] * n_features + f] += weights[r];
        for (Size k = 0; k < n_classes; ++k)
            for (Size f = 0; f < n_features; ++f)
                CHECK_EQUAL(sums[(f / kRegister * n_classes + k) * kRegister + f % kRegister],
                            expected[k * n_features + f]);
    }
}

TEST(random_thresholds_of_a_tile_have_the_sums_of_numbers) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        std::mt19937_64 g(seed);
        const Size n = 1 + g() % 200, n_columns = 1 + g() % kWideTileFeatures;
        Tile tile{0, n_columns, RowVector<std::uint8_t>(n * n_columns + kWideTileFeatures)};
        for (std::uint8_t& code : tile.codes) code = static_cast<std::uint8_t>(g());
        std::vector<Stat> stats(2 * n);
        for (Stat& own : stats) own = static_cast<Stat>(g() % 1000000) - 500000;
        std::vector<Row> rows;
        for (Row r = 0; r < n; ++r)
            if (g() % 3) rows.push_back(r);
        TileLanes::Bytes last_left{};
        for (Size j = 0; j < n_columns; ++j) last_left[j] = static_cast<std::uint8_t>(g());
        std::array<Stat, kWideTileFeatures> weight{}, value{};
        for (Size j = 0; j < kWideTileFeatures; j += 2 * kRegister)
            TileLanes::left_values<2>(weight.data(), value.data(), {j, j + kRegister}, tile, rows, last_left,
                                      stats.data());
        for (Size j = 0; j < n_columns; ++j) {
            Stat expected_weight = 0, expected_value = 0;
            for (const Row row : rows)
                if (tile.codes[row * n_columns + j] <= last_left[j]) {
                    expected_weight += stats[2 * row];
                    expected_value += stats[2 * row + 1];
                }
            CHECK_EQUAL(weight[j], expected_weight);
            CHECK_EQUAL(value[j], expected_value);
        }
    }
}

namespace {

template <Size N>
void check_squares(std::mt19937_64& g, Size n, int max_weight) {
    const Size n_classes = 40, n_features = N - 3;
    std::vector<Stat> weights(n), total(n_classes, 0);
    std::vector<std::uint16_t> classes(n);
    std::vector<Row> rows(n);
    for (Size r = 0; r < n; ++r) {
        rows[r] = static_cast<Row>(r);
        weights[r] = static_cast<Stat>(1 + g() % static_cast<Size>(max_weight));
        classes[r] = static_cast<std::uint16_t>(g() % 2 == 0 ? 0 : g() % n_classes);
        total[classes[r]] += weights[r];
    }
    Tile tile{0, n_features, RowVector<std::uint8_t>(n * n_features + kWideTileFeatures)};
    for (auto& code : tile.codes) code = static_cast<std::uint8_t>(g() % 20);
    TileLanes::Bytes last_left{}, also{};
    for (Size f = 0; f < n_features; ++f) {
        last_left[f] = static_cast<std::uint8_t>(g() % 20);
        also[f] = static_cast<std::uint8_t>(g() % 20);
    }
    std::vector<TileLanes::Bytes> counts(n_classes, TileLanes::Bytes{});
    TileLanes::Squares found;
    TileLanes::left_squares<N>(found, counts, tile, rows, last_left, also, {weights.data(), classes.data()},
                               total.data());
    for (Size f = 0; f < n_features; ++f) {
        std::vector<Stat> left(n_classes, 0);
        for (Size r = 0; r < n; ++r) {
            const std::uint8_t code = tile.codes[r * n_features + f];
            if (code <= last_left[f] || code == also[f]) left[classes[r]] += weights[r];
        }
        Stat squares = 0, products = 0, weight = 0;
        for (Size k = 0; k < n_classes; ++k) {
            squares += left[k] * left[k];
            products += left[k] * total[k];
            weight += left[k];
        }
        CHECK_EQUAL(found.left[f], squares);
        CHECK_EQUAL(found.products[f], products);
        CHECK_EQUAL(found.weight[f], weight);
    }
    for (const TileLanes::Bytes& own : counts)
        for (Size f = 0; f < kWideTileFeatures; ++f) CHECK(own[f] == 0);
}

}  // namespace

TEST(random_thresholds_of_a_tile_have_the_squares_of_their_sums) {
    std::mt19937_64 g(7);
    for (const Size n : {Size{2}, Size{30}, Size{51}})
        for (const int max_weight : {1, 5}) {
            check_squares<16>(g, n, max_weight);
            check_squares<kWideTileFeatures>(g, n, max_weight);
        }
}

TEST(the_code_of_a_value_is_the_last_that_begins_at_or_below_it) {
    std::mt19937_64 g(4);
    std::normal_distribution<double> z(0.0, 1e3);
    for (const Size n_bins :
         {Size{1}, Size{2}, Size{15}, Size{16}, Size{17}, Size{32}, Size{254}, Size{255}}) {
        CodeColumn column;
        column.n_bins = static_cast<std::uint32_t>(n_bins);
        for (Size b = 0; b < n_bins; ++b) column.lo.push_back(z(g));
        std::sort(column.lo.begin(), column.lo.end());
        const CodeStarts starts(column);
        for (Size b = 0; b < n_bins; ++b) {
            CHECK_EQUAL(starts.last_below(column.lo[b]), static_cast<Code>(b));
            CHECK_EQUAL(starts.last_below(std::nextafter(column.lo[b], 1e300)), static_cast<Code>(b));
            if (b > 0)
                CHECK_EQUAL(starts.last_below(std::nextafter(column.lo[b], -1e300)),
                            static_cast<Code>(b - 1));
        }
        CHECK_EQUAL(starts.last_below(1e300), static_cast<Code>(n_bins - 1));
    }
}

CHECK_MAIN
