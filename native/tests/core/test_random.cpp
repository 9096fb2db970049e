// Random draws: in range, even, and a function of their address alone.
#include <set>
#include <vector>

#include "core/random.hpp"
#include "tests/check.hpp"

using namespace spinney;

namespace {

/// Pearson's statistic of counts that should be equal.
double chi_squared(const std::vector<int>& counts) {
    double n = 0, sum = 0;
    for (int c : counts) n += c;
    const double expected = n / static_cast<double>(counts.size());
    for (int c : counts) sum += (c - expected) * (c - expected) / expected;
    return sum;
}

/// Is it within five standard deviations of its mean?
bool even(const std::vector<int>& counts) {
    const double freedom = static_cast<double>(counts.size() - 1);
    return std::abs(chi_squared(counts) - freedom) < 5 * std::sqrt(2 * freedom);
}

}  // namespace

TEST(draws_are_in_range_and_even) {
    for (std::uint32_t n : {1u, 2u, 3u, 7u, 100u, 1000u}) {
        Draws draws(mix(1, n));
        std::vector<int> counts(n, 0);
        for (std::uint32_t i = 0; i < 200 * n; ++i) {
            const std::uint32_t k = draws.below(n);
            CHECK(k < n);
            ++counts[std::min(k, n - 1)];
        }
        if (n > 1) CHECK(even(counts));
    }
    Draws draws(2);
    for (int i = 0; i < 10000; ++i) CHECK(draws.below(0xFFFFFFFFu) < 0xFFFFFFFFu);
}

TEST(uniforms_are_even_on_the_unit_interval) {
    Draws draws(3);
    std::vector<int> counts(64, 0);
    double sum = 0;
    for (int i = 0; i < 64000; ++i) {
        const double u = draws.uniform();
        CHECK(u >= 0.0 && u < 1.0);
        sum += u;
        ++counts[static_cast<std::size_t>(u * 64)];
    }
    CHECK(even(counts));
    CHECK_CLOSE(sum / 64000, 0.5, 5 * 0.2887 / std::sqrt(64000.0));
}

TEST(an_address_gives_the_same_draws_again) {
    Draws a(mix(5, 6)), b(mix(5, 6));
    for (int i = 0; i < 100; ++i) CHECK_EQUAL(a.next_u64(), b.next_u64());
}

TEST(addresses_do_not_meet) {
    // Neighbouring seeds, the nodes below them and their draws: all different words.
    std::set<std::uint64_t> words;
    for (std::uint64_t seed = 0; seed < 20; ++seed)
        for (std::uint64_t node = 0; node < 50; ++node) {
            Draws draws(mix(mix(seed, 0), node + 1));
            for (int i = 0; i < 20; ++i) words.insert(draws.next_u64());
        }
    CHECK_EQUAL(words.size(), std::size_t{20 * 50 * 20});
    CHECK(mix(1, 2) != mix(2, 1));
}

TEST(every_bit_of_the_address_matters) {
    for (int bit = 0; bit < 64; ++bit) {
        int changed = 0;
        for (std::uint64_t counter = 0; counter < 200; ++counter)
            changed += __builtin_popcountll(mix(77, counter) ^ mix(77 ^ (std::uint64_t{1} << bit), counter));
        CHECK_CLOSE(changed / 200.0, 32.0, 2.0);
    }
}

CHECK_MAIN
