// Criteria: the logarithm, eight lanes against one, and quality against the textbook's impurity.
#include <cfloat>
#include <cstring>

#include "split/criteria.hpp"
#include "tests/check.hpp"
#include "tests/naive.hpp"

using namespace spinney;
using naive::Part;
using naive::Sample;

namespace {

/// The distance of a from the exact value, in units of the last place of the nearest double.
double ulps(double a, long double exact) {
    const double near = std::abs(static_cast<double>(exact));
    const double ulp = std::nextafter(near, DBL_MAX) - near;
    return static_cast<double>(std::abs(static_cast<long double>(a) - exact) / static_cast<long double>(ulp));
}

/// A number of any magnitude, with all exponents alike.
double any_normal(std::mt19937_64& g) {
    const double mantissa = 1.0 + static_cast<double>(g() >> 12) * 0x1.0p-52;
    return std::ldexp(mantissa, static_cast<int>(g() % 2046) - 1022);
}

/// Call f with every criterion and the statistics that it supports.
template <class F>
void for_each_criterion(F&& f) {
    for (int n_classes : {2, 3, 7})
        for (int n_outputs : {1, 2})
            for (auto name : {CriterionName::gini, CriterionName::entropy, CriterionName::error})
                f(name, n_classes, n_outputs);
    for (int n_outputs : {1, 3})
        for (auto name : {CriterionName::squared_error, CriterionName::poisson}) f(name, 0, n_outputs);
}

template <class Criterion, class V>
V split_quality(const Criterion& criterion, const V* l, const V* r) {
    return criterion.quality(l) + criterion.quality(r);
}

bool same_bits(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

}  // namespace

TEST(log2_is_within_four_ulps) {
    std::mt19937_64 g(1);
    double worst = 0;
    const auto look = [&](double x) {
        const double got = log2_same_bits(x);
        const long double exact = std::log2(static_cast<long double>(x));
        worst = std::max(worst, exact == 0 ? std::abs(got) : ulps(got, exact));
    };
    for (int i = 0; i < check::rounds(1000000); ++i) look(any_normal(g));
    for (int i = 0; i < check::rounds(400000); ++i) look(0.5 + static_cast<double>(g() >> 11) * 0x1.5p-53);
    for (int i = 1; i < check::rounds(200000); ++i) look(i);
    // Where the parts of the number change, and next to one, where the logarithm is small.
    for (double x : {1.0, 2.0, 0.5, std::sqrt(0.5), std::sqrt(2.0), DBL_MIN, DBL_MAX}) {
        double up = x, down = x;
        for (int i = 0; i < 2000; ++i) {
            look(up);
            if (down >= DBL_MIN) look(down);
            if (up < DBL_MAX) up = std::nextafter(up, DBL_MAX);
            down = std::nextafter(down, 0.0);
        }
    }
    CHECK(worst <= 4.0);
}

TEST(log2_of_a_power_of_two_is_exact) {
    for (int e = -1022; e < 1024; ++e)
        CHECK_EQUAL(log2_same_bits(std::ldexp(1.0, e)), static_cast<double>(e));
}

TEST(xlog2x_of_zero_is_zero) {
    CHECK_EQUAL(xlog2x(0.0), 0.0);
    CHECK_EQUAL(xlog2x(1.0), 0.0);
    CHECK_EQUAL(xlog2x(8.0), 24.0);
}

TEST(lanes_have_the_bits_of_single_numbers) {
    std::mt19937_64 g(2);
    for (int i = 0; i < check::rounds(20000); ++i) {
        Lanes x;
        double plain[kLanes];
        for (Size k = 0; k < kLanes; ++k) plain[k] = any_normal(g);
        std::memcpy(&x, plain, sizeof x);
        const Lanes log = log2_same_bits(x), xlog = xlog2x(x);
        for (Size k = 0; k < kLanes; ++k) {
            CHECK(same_bits(log[k], log2_same_bits(plain[k])));
            CHECK(same_bits(xlog[k], xlog2x(plain[k])));
        }
    }
}

TEST(criteria_have_the_same_bits_in_lanes) {
    std::mt19937_64 g(3);
    for_each_criterion([&](CriterionName name, int n_classes, int n_outputs) {
        const Sample sample(g(), 10, n_classes, n_outputs, 2);
        const Statistics s = make_statistics(sample.target, false, false, true);
        const auto channels = static_cast<Size>(s.n_channels);
        with_criterion(name, s, [&]<Layout, class Criterion>() {
            const Criterion criterion(s);
            for (int round = 0; round < check::rounds(4000); ++round) {
                std::vector<Lanes> l(channels), r(channels);
                for (Size c = 0; c < channels; ++c)
                    for (Size k = 0; k < kLanes; ++k) {
                        const auto draw = [&] {
                            return g() % 4 == 0 ? static_cast<double>(g() % 3)
                                                : std::exp2(g() % 60) / static_cast<double>(1 + g() % 99);
                        };
                        l[c][k] = draw();
                        r[c][k] = n_classes == 0 && c > 0 && g() % 2 ? -draw() : draw();
                    }
                const Lanes both = split_quality(criterion, l.data(), r.data()),
                            quality = criterion.quality(l.data());
                for (Size k = 0; k < kLanes; ++k) {
                    std::vector<double> a(channels), b(channels);
                    for (Size c = 0; c < channels; ++c) {
                        a[c] = l[c][k];
                        b[c] = r[c][k];
                    }
                    CHECK(same_bits(both[k], split_quality(criterion, a.data(), b.data())));
                    CHECK(same_bits(quality[k], criterion.quality(a.data())));
                }
            }
        });
    });
}

TEST(gain_is_the_decrease_of_impurity) {
    std::mt19937_64 g(4);
    for_each_criterion([&](CriterionName name, int n_classes, int n_outputs) {
        for (int round = 0; round < 20; ++round) {
            const Sample sample(g(), 40, n_classes, n_outputs, static_cast<int>(g() % 3));
            const Statistics s = make_statistics(sample.target, false, false, name != CriterionName::poisson);
            const auto width = static_cast<Size>(s.width), channels = static_cast<Size>(s.n_channels);
            std::vector<Stat> sums[2] = {std::vector<Stat>(width, 0), std::vector<Stat>(width, 0)};
            std::vector<std::vector<Part>> sets(2);
            for (Size r = 0; r < 40; ++r) {
                const Size side = r < 2 ? r : g() % 2;
                s.add(sums[side].data(), r);
                sets[side].push_back({r, sample.target.weight(r)});
            }
            if (naive::weight_of(sets[0]) == 0 || naive::weight_of(sets[1]) == 0) continue;
            std::vector<Stat> total(width);
            for (Size i = 0; i < width; ++i) total[i] = sums[0][i] + sums[1][i];
            std::vector<double> l(channels), r(channels), all(channels);
            s.decode(sums[0].data(), l.data());
            s.decode(sums[1].data(), r.data());
            s.decode(total.data(), all.data());
            const double w = naive::weight_of(sets[0]) + naive::weight_of(sets[1]);
            with_criterion(name, s, [&]<Layout, class Criterion>() {
                const Criterion criterion(s);
                const double both = split_quality(criterion, l.data(), r.data());
                CHECK_CLOSE((both - criterion.quality(all.data())) / w, naive::gain(sample, sets, name),
                            1e-12);
            });
        }
    });
}

TEST(an_empty_side_has_no_quality) {
    for_each_criterion([&](CriterionName name, int n_classes, int n_outputs) {
        const Sample sample(5, 10, n_classes, n_outputs, 2);
        const Statistics s = make_statistics(sample.target, false, false, true);
        const std::vector<double> nothing(static_cast<Size>(s.n_channels), 0.0);
        with_criterion(name, s, [&]<Layout, class Criterion>() {
            const Criterion criterion(s);
            const double quality = criterion.quality(nothing.data());
            CHECK_EQUAL(quality, name == CriterionName::poisson ? kImpossible : 0.0);
        });
    });
}

TEST(poisson_has_no_child_without_events) {
    const Sample sample(6, 10, 0, 1, 0);
    const Statistics s = make_statistics(sample.target, false, false, false);
    const Poisson criterion(s);
    const double some[] = {3.0, 2.0}, none[] = {3.0, 0.0};
    CHECK_EQUAL(split_quality(criterion, some, none), kImpossible);
    CHECK(split_quality(criterion, some, some) > kImpossible);
}

CHECK_MAIN
