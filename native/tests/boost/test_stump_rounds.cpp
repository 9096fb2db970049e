// Tests the rounds of voting stumps against the same rounds made one by one.
#include <cmath>

#include "boost/stump_rounds.hpp"
#include "simd/elementary.hpp"
#include "tests/check.hpp"
#include "tests/tables.hpp"

using namespace spinney;
using tables::Table;

namespace {

constexpr double least = 0x1.0p44, most = 0x1.0p53;
constexpr int fresh = 48;

struct Rows {
    CodeMatrix x;
    std::vector<std::int32_t> classes;
    std::vector<std::int64_t> copies;
    std::vector<double> sizes;

    Rows(std::uint64_t seed, Size n, int k, int noise)
        : x(Table(seed, n, 4, 1, true).codes(255)),
          copies(n, 1),
          sizes(n, std::ldexp(1.0, fresh) / static_cast<double>(n)) {
        std::mt19937_64 g(seed);
        const auto& first = x.columns[0];
        for (Size r = 0; r < n; ++r) {
            const bool random = g() % 10 < static_cast<std::uint64_t>(noise);
            const auto cell = random ? g() : std::uint64_t{first.at(r) * 2 > first.n_bins};
            classes.push_back(static_cast<std::int32_t>(cell % static_cast<std::uint64_t>(k)));
        }
    }

    StumpBooster open(int k) const {
        Interrupt none;
        GrowOptions options;
        options.n_threads = 1;
        return {x, {classes, k, copies, sizes}, options, none};
    }
};

}  // namespace

TEST(rounds_weigh_stumps_by_their_error_and_reweight_the_rows) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        const int k = seed % 2 ? 3 : 2;
        const double rate = seed % 3 == 0 ? 0.4 : 1.0, share = k == 2 && seed % 4 == 0 ? 0.5 : 1.0;
        const Rows p(seed, 200, k, 3);
        Interrupt none;
        StumpBooster at_once = p.open(k), one_by_one = p.open(k);
        const auto found = boost_stumps(at_once, {20, k, rate, share, least, most, fresh}, none);
        CHECK(found.stumps.size() > 1);
        for (Size t = 0; t < found.stumps.size(); ++t) {
            const Stump& stump = one_by_one.learn(none);
            CHECK(stump.sums == found.stumps[t].sums);
            const double error = static_cast<double>(stump.wrong) / static_cast<double>(stump.total);
            CHECK_EQUAL(found.errors[t], error);
            const double odds = std::log((1 - error) / error) + std::log(k - 1);
            CHECK_CLOSE(found.weights[t], share * rate * odds, 1e-11);
            CHECK_EQUAL(std::ldexp(found.weights[t], 40), std::rint(std::ldexp(found.weights[t], 40)));
            double factor = found.weights[t] / share;
            exp_array(&factor, &factor, 1);
            one_by_one.reweight(factor, least, most, fresh, none);
        }
    }
}

TEST(rounds_end_without_errors_and_where_no_stump_helps) {
    Interrupt none;
    const Rows separable(1, 100, 2, 0);
    StumpBooster perfect = separable.open(2);
    const auto one = boost_stumps(perfect, {10, 2, 1.0, 1.0, least, most, fresh}, none);
    CHECK_EQUAL(one.stumps.size(), Size{1});
    CHECK_EQUAL(one.errors[0], 0.0);
    CHECK(one.weights[0] > 30);

    Rows same(2, 2, 2, 0);
    same.x = Table(3, 1, 1, 0, false).codes(255);
    same.classes = {0};
    same.copies = {1};
    same.sizes = {1.0};
    StumpBooster leaf = same.open(2);
    const auto alone = boost_stumps(leaf, {10, 2, 1.0, 1.0, least, most, fresh}, none);
    CHECK_EQUAL(alone.stumps.size(), Size{1});
    CHECK(!alone.stumps[0].best.found());
}

CHECK_MAIN
