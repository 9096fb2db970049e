// Tests the distinct keys of a column against those of the sorted column.
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "data/distinct_keys.hpp"
#include "tests/check.hpp"

using namespace spinney;

namespace {

template <class Number>
void check_column(std::uint64_t seed, Size n, Size n_values, double scale) {
    std::mt19937_64 g(seed);
    using Key = decltype(key_of(Number{}));
    std::vector<Key> keys;
    for (Size i = 0; i < n; ++i) {
        const double step = static_cast<double>(g() % n_values) - static_cast<double>(n_values / 2);
        keys.push_back(key_of(static_cast<Number>(step * scale)));
    }
    std::vector<Key> expected = keys;
    std::sort(expected.begin(), expected.end());
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    DistinctKeys<Key> distinct;
    for (const Size limit : {Size{2}, Size{40}, Size{255}}) {
        const bool few = distinct.collect(keys, limit);
        if (expected.size() > limit) CHECK(!few);
        if (n_values <= limit && n_values < 150) CHECK(few);
        if (!few) continue;
        const auto sorted = distinct.sorted();
        CHECK(std::equal(sorted.begin(), sorted.end(), expected.begin(), expected.end()));
    }
}

}  // namespace

TEST(few_keys_are_those_of_the_sorted_column) {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(check::rounds(60)); ++seed) {
        const Size n = seed % 4 == 0 ? seed : 200 * seed, n_values = 1 + seed * seed % 400;
        const double scale = seed % 3 == 0 ? 1.0 : seed % 3 == 1 ? 1e-300 : 0.1;
        check_column<double>(seed, n, n_values, scale);
        check_column<float>(seed, n, n_values, seed % 3 == 1 ? 1e30 : scale);
    }
}

TEST(signed_zeros_are_one_key_and_infinities_are_keys) {
    const double infinity = std::numeric_limits<double>::infinity();
    const std::vector<std::uint64_t> keys{key_of(-0.0), key_of(0.0), key_of(infinity), key_of(-infinity)};
    DistinctKeys<std::uint64_t> distinct;
    CHECK(distinct.collect(keys, 3));
    CHECK_EQUAL(distinct.sorted().size(), Size{3});
    CHECK_EQUAL(number_of(distinct.sorted()[0]), -infinity);
    CHECK(!distinct.collect(keys, 2));
}

CHECK_MAIN
