// Searches of one feature: those of a plain loop over all cuts, for every shape of node.
#include <algorithm>
#include <random>
#include <vector>

#include "tests/check.hpp"
#include "data/code_starts.hpp"
#include "split/node_search.hpp"

using namespace spinney;

namespace {

/// The codes of one feature and two classes of whole weights.
struct Sample {
    std::vector<std::uint8_t> codes;
    std::vector<std::int32_t> classes;
    std::vector<double> weights;
    Target target;
    Statistics s;
    std::vector<Row> rows;
    Stat total = 0;

    Sample(std::mt19937_64& g, Size n, Size n_bins, int most_weight) {
        for (Size i = 0; i < n; ++i) {
            codes.push_back(static_cast<std::uint8_t>(g() % n_bins));
            classes.push_back(static_cast<std::int32_t>(g() % 2));
            weights.push_back(static_cast<double>(1 + g() % static_cast<Size>(most_weight)));
            rows.push_back(static_cast<Row>(i));
        }
        target.n_rows = n;
        target.n_outputs = 1;
        target.task = Task::classification;
        target.classes = classes.data();
        target.n_classes = {2};
        target.weights = weights.data();
        s = make_statistics(target, false, false, true);
        for (const Stat word : s.words) total += word;
    }
    std::uint8_t at(Row row) const { return codes[row]; }

    std::vector<Stat> lines(Size n_bins) const {
        std::vector<Stat> out(n_bins, 0);
        for (Size i = 0; i < codes.size(); ++i) out[codes[i]] += s.words[i];
        return out;
    }
};

using PackedJudge = Judge<Layout::packed, Gini<2>>;

/// The first of the best cuts among the lines in use, one at a time.
CodeCut naive_cut(PackedJudge& judge, const std::vector<Stat>& lines, Stat& left) {
    CodeCut out;
    Stat sum = 0;
    int in_use = 0;
    for (Size b = 0; b < lines.size(); ++b) {
        if (lines[b] == 0) continue;
        ++in_use;
        sum += lines[b];
        const double pair = judge(&sum);
        if (!(pair > out.pair)) continue;
        out.pair = pair;
        out.last = static_cast<Code>(b);
        left = sum;
    }
    out.constant = in_use < 2;
    return out;
}

void check_cut(const CodeCut& found, Stat left, const CodeCut& expected, Stat expected_left) {
    CHECK_EQUAL(found.constant, expected.constant);
    CHECK_EQUAL(found.found(), expected.found());
    if (!expected.found()) return;
    CHECK_EQUAL(found.pair, expected.pair);
    CHECK_EQUAL(found.last, expected.last);
    CHECK_EQUAL(left, expected_left);
}

template <class Number>
bool check_few(const Sample& sample, PackedJudge& judge, const CodeCut& expected, Stat expected_left) {
    using Few = FewRows<Layout::packed, Number>;
    if (!Few::takes(sample.s) || !Few::takes(sample.rows.size(), sample.s.weight_steps(&sample.total)))
        return false;
    Few few;
    few.load(sample.rows, sample.s.words.data(), nullptr, sample.s);
    CHECK(few.read(sample.rows, sample, 255));
    const CodeCut found = few.search(judge);
    Stat left = 0;
    if (found.found()) few.left_of(&left, found.last);
    check_cut(found, left, expected, expected_left);
    return true;
}

}  // namespace

TEST(every_search_finds_the_first_of_the_best_cuts) {
    std::mt19937_64 g(1);
    int bytes = 0, shorts = 0;
    for (int round = 0; round < 3000; ++round) {
        const Size n = 1 + g() % (round % 3 == 0 ? 150 : 12), n_bins = 1 + g() % (round % 2 == 0 ? 255 : 6);
        const Sample sample(g, n, n_bins, round % 5 == 0 ? 300 : 3);
        Limits limits;
        limits.min_weight = round % 7 == 0 ? 4 : 1;
        PackedJudge judge(sample.s, &sample.total, limits);
        const std::vector<Stat> lines = sample.lines(n_bins);
        Stat expected_left = 0, left = 0;
        const CodeCut expected = naive_cut(judge, lines, expected_left);
        const CodeCut found = LineSearch::search_words(judge, lines.data(), n_bins, &left);
        check_cut(found, left, expected, expected_left);
        bytes += check_few<std::uint8_t>(sample, judge, expected, expected_left);
        shorts += check_few<std::uint16_t>(sample, judge, expected, expected_left);
    }
    CHECK(bytes > 1000 && shorts > bytes);
}

TEST(a_missing_value_is_noticed) {
    std::mt19937_64 g(2);
    Sample sample(g, 40, 200, 1);
    FewRows<Layout::packed, std::uint8_t> few;
    few.load(sample.rows, sample.s.words.data(), nullptr, sample.s);
    CHECK(few.read(sample.rows, sample, 200));
    sample.codes[37] = 200;
    CHECK(!few.read(sample.rows, sample, 200));
}

TEST(random_cuts_of_a_tile_are_summed_as_one_at_a_time) {
    std::mt19937_64 g(3);
    for (const int most_weight : {1, 7, 255}) {
        const Size n = 700, n_features = 28;
        const Sample sample(g, n, 255, most_weight);
        Tile tile{0, n_features, std::vector<std::uint8_t>(n * n_features + kWideTileFeatures)};
        for (auto& code : tile.codes) code = static_cast<std::uint8_t>(g());
        std::vector<RandomCut> cuts;
        TileLanes::Bytes last{}, least, greatest;
        for (std::uint32_t f = 0; f < n_features; f += 3) {
            cuts.push_back({f, static_cast<Code>(g() % 256), 0.0, 0});
            last[f] = static_cast<std::uint8_t>(cuts.back().last);
        }
        TileLanes::left_sums(cuts, tile, sample.rows, last, sample.s.words.data(), most_weight);
        TileLanes::ranges(least, greatest, tile, sample.rows);
        for (const RandomCut& cut : cuts) {
            Stat sum = 0;
            std::uint8_t low = 255, high = 0;
            for (Size r = 0; r < n; ++r) {
                const std::uint8_t code = tile.codes[r * n_features + cut.place];
                if (code <= cut.last) sum += sample.s.words[r];
                low = std::min(low, code);
                high = std::max(high, code);
            }
            CHECK_EQUAL(cut.packed, sum);
            CHECK(least[cut.place] == low && greatest[cut.place] == high);
        }
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
