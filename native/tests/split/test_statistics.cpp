// Row statistics: sums that cannot overflow, are the same in any order, and decode to what was put in.
#include <cfloat>
#include <numeric>

#include "split/statistics.hpp"
#include "tests/check.hpp"
#include "tests/naive.hpp"

using namespace spinney;
using naive::Sample;

namespace {

__extension__ typedef __int128 Wide;

std::vector<Stat> sum_of(const Statistics& s, const std::vector<Size>& rows) {
    std::vector<Stat> sum(static_cast<Size>(s.width), 0);
    for (Size r : rows) s.add(sum.data(), r);
    return sum;
}

std::vector<Size> all_rows(Size n) {
    std::vector<Size> rows(n);
    std::iota(rows.begin(), rows.end(), Size{0});
    return rows;
}

/// The words of all rows added up without regard to sign fit into 62 bits: then every sum of a subset does,
/// and the difference of two as well.
void check_no_overflow(const Statistics& s) {
    if (s.layout == Layout::packed) return;  // two counts of 32 bits
    for (int w = 0; w < s.row_width; ++w) {
        Wide total = 0;
        for (Size r = 0; r * static_cast<Size>(s.row_width) < s.stats.size(); ++r) {
            const Wide word = s.row(r)[w];
            total += word < 0 ? -word : word;
        }
        CHECK(total < Wide{1} << 62);
    }
}

/// Every spread of layouts: (classes or 0, outputs, weights, counts, fractional).
template <class F>
void for_each_layout(F&& f) {
    for (int n_classes : {0, 2, 3, 5})
        for (int n_outputs : {1, 3})
            for (int weighted : {0, 1, 2})
                for (int flags = 0; flags < 4; ++flags)
                    f(n_classes, n_outputs, weighted, flags & 1, flags & 2);
}

}  // namespace

TEST(sums_are_the_same_in_any_order_and_in_chunks) {
    std::mt19937_64 g(1);
    for_each_layout([&](int n_classes, int n_outputs, int weighted, bool counts, bool fractional) {
        const Sample sample(g(), 501, n_classes, n_outputs, weighted);
        const Statistics s = make_statistics(sample.target, counts, fractional, true);
        auto rows = all_rows(501);
        const auto expected = sum_of(s, rows);
        std::shuffle(rows.begin(), rows.end(), g);
        CHECK(sum_of(s, rows) == expected);
        std::vector<Stat> merged(expected.size(), 0);
        for (Size begin = 0; begin < rows.size(); begin += 37) {
            const auto end = std::min<Size>(begin + 37, rows.size());
            const auto chunk =
                sum_of(s, {rows.begin() + static_cast<long>(begin), rows.begin() + static_cast<long>(end)});
            for (Size i = 0; i < chunk.size(); ++i) merged[i] += chunk[i];
        }
        CHECK(merged == expected);
        check_no_overflow(s);
    });
}

TEST(sums_decode_to_weights_and_moments) {
    std::mt19937_64 g(2);
    for_each_layout([&](int n_classes, int n_outputs, int weighted, bool counts, bool fractional) {
        const Sample sample(g(), 300, n_classes, n_outputs, weighted);
        const Statistics s = make_statistics(sample.target, counts, fractional, g() % 2);
        std::vector<Size> rows;
        for (Size r = 0; r < 300; ++r)
            if (g() % 3) rows.push_back(r);
        std::vector<double> channel(static_cast<Size>(s.n_channels)), naive(channel.size(), 0.0);
        double weight = 0, scale = 0;
        for (Size r : rows) {
            const double w = sample.target.weight(r);
            weight += w;
            if (n_classes == 0) naive[0] += w;
            for (int o = 0; o < n_outputs; ++o) {
                if (n_classes) {
                    naive[static_cast<Size>(o * n_classes + sample.classes[r * static_cast<Size>(n_outputs) +
                                                                           static_cast<Size>(o)])] += w;
                } else {
                    naive[static_cast<Size>(o) + 1] +=
                        w * (sample.y(r, o) - s.value_shift[static_cast<Size>(o)]);
                    scale += w * std::abs(sample.y(r, o));
                }
            }
        }
        const auto sum = sum_of(s, rows);
        s.decode(sum.data(), channel.data());
        for (Size k = 0; k < channel.size(); ++k)
            CHECK_CLOSE(channel[k], naive[k], 1e-13 * (k == 0 || n_classes ? weight : weight + scale));
        CHECK_CLOSE(static_cast<double>(s.weight_steps(sum.data())) * s.weight_unit, weight, 1e-13 * weight);
        if (s.unit_weights || s.count_index >= 0)
            CHECK_EQUAL(naive::count(s, sum.data()), static_cast<Stat>(rows.size()));
        if (!fractional && weighted < 2)  // integer weights are exact
            CHECK_EQUAL(static_cast<double>(s.weight_steps(sum.data())) * s.weight_unit, weight);
    });
}

TEST(two_classes_of_unit_weight_share_one_integer) {
    const Sample sample(3, 1000, 2, 1, 0);
    const Statistics s = make_statistics(sample.target, true, false, true);
    CHECK(s.layout == Layout::packed);
    CHECK_EQUAL(s.width, 1);
    const auto sum = sum_of(s, all_rows(1000));
    const auto second = std::count(sample.classes.begin(), sample.classes.end(), 1);
    CHECK_EQUAL(sum[0], 1000 + (static_cast<Stat>(second) << 32));
    // A fractional tree gives rows other weights, which a count cannot hold.
    CHECK(make_statistics(sample.target, true, true, true).layout == Layout::by_class);
}

TEST(integer_weights_are_their_own_steps) {
    Sample sample(4, 6, 2, 1, 1);
    sample.weights = {0, 1, 2, 3, 4503599627370000.0, 7};
    sample.attach();
    const Statistics s = make_statistics(sample.target, false, false, true);
    CHECK_EQUAL(s.weight_unit, 1.0);
    for (Size r = 0; r < 6; ++r) CHECK_EQUAL(s.row_weight(r), static_cast<Stat>(sample.weights[r]));
}

TEST(extreme_values_are_scaled_into_range) {
    const double sizes[] = {1e-260, 1e-100, 1.0, 1e100, 1e300, 1e308, DBL_MAX};
    for (double size : sizes)
        for (Size n : {1, 2, 1000, 40000})
            for (bool centred : {true, false}) {
                Sample sample(5, n, 0, 2, 0);
                std::mt19937_64 g(n);
                for (double& y : sample.values)
                    y = (g() % 2 ? 1.0 : -1.0) * size * (1.0 - static_cast<double>(g() % 1000) / 2000);
                sample.attach();
                const Statistics s = make_statistics(sample.target, false, false, centred);
                check_no_overflow(s);
                for (Size o = 0; o < 2; ++o) {
                    CHECK(std::isfinite(s.value_shift[o]));
                    CHECK(std::isfinite(s.value_unit[o]) && s.value_unit[o] > 0);
                    for (Size r = 0; r < n; ++r) {
                        // Halved, because the difference itself may be too large for a double.
                        const double half = sample.values[r * 2 + o] / 2 - s.value_shift[o] / 2;
                        const double word = static_cast<double>(s.row(r)[o + 1]) * (s.value_unit[o] / 2);
                        CHECK_CLOSE(word / size, half / size, 0x1.0p-50 * static_cast<double>(n));
                    }
                }
            }
}

TEST(equal_values_have_no_spread) {
    for (double y : {0.0, 1.0, -3.7, 1e300, -1e300, 5e-324}) {
        Sample sample(6, 100, 0, 1, 2);
        std::fill(sample.values.begin(), sample.values.end(), y);
        const Statistics s = make_statistics(sample.target, false, false, true);
        check_no_overflow(s);
        double channel[2] = {0, 0};
        s.decode(sum_of(s, all_rows(100)).data(), channel);
        CHECK(std::isfinite(channel[1]) && std::abs(channel[1]) <= 1e-12 * std::abs(y) * channel[0]);
    }
}

TEST(subnormal_values_are_harmless) {
    Sample sample(7, 50, 0, 1, 0);
    for (Size r = 0; r < 50; ++r) sample.values[r] = static_cast<double>(r) * 5e-324;
    for (bool centred : {true, false}) {
        const Statistics s = make_statistics(sample.target, false, false, centred);
        check_no_overflow(s);
        double channel[2] = {0, 0};
        s.decode(sum_of(s, all_rows(50)).data(), channel);
        CHECK(std::isfinite(channel[1]) && std::abs(channel[1]) < 1e-280);
    }
}

TEST(weights_of_any_size_keep_their_ratios) {
    for (int exponent : {-900, -300, -40, 0, 40, 300, 1000})
        for (int n_classes : {0, 2}) {
            Sample plain(8, 400, n_classes, 1, 2);
            Sample scaled = plain;
            for (double& w : scaled.weights) w = std::ldexp(w, exponent);
            if (n_classes == 0 && exponent > 900)  // w·y must itself be a number
                for (double& y : scaled.values) y /= 8;
            const Statistics a = make_statistics(plain.target, true, false, true);
            const Statistics b = make_statistics(scaled.target, true, false, true);
            check_no_overflow(b);
            for (Size r = 0; r < 400; ++r) CHECK_EQUAL(a.row_weight(r), b.row_weight(r));
            CHECK_EQUAL(std::ldexp(a.weight_unit, exponent), b.weight_unit);
        }
}

TEST(a_positive_weight_never_vanishes) {
    Sample sample(9, 4, 2, 1, 2);
    sample.weights = {1e300, 1e-300, 0.0, 5e-324};
    sample.attach();
    const Statistics s = make_statistics(sample.target, true, false, true);
    check_no_overflow(s);
    CHECK(s.row_weight(1) == 1 && s.row_weight(3) == 1);
    CHECK_EQUAL(s.row_weight(2), 0);
}

TEST(fractions_of_a_row_add_up) {
    for (int n_classes : {0, 2, 4})
        for (int n_outputs : {1, 2}) {
            const Sample sample(10, 60, n_classes, n_outputs, 2);
            const Statistics s = make_statistics(sample.target, false, true, true);
            for (Size r = 0; r < 60; ++r) {
                const Stat full = s.row_weight(r), third = full / 3;
                std::vector<Stat> entire(static_cast<Size>(s.width), 0), parts = entire, once = entire;
                s.add(entire.data(), r);
                s.add_fraction(once.data(), r, full);
                CHECK(once == entire);
                s.add_fraction(parts.data(), r, third);
                CHECK_CLOSE(s.weight_steps(parts.data()), third, 1.0 + 1e-15 * static_cast<double>(full));
                s.add_fraction(parts.data(), r, full - third);
                for (Size w = 0; w < parts.size(); ++w)
                    CHECK_CLOSE(parts[w], entire[w], 2.0 + 1e-15 * std::abs(static_cast<double>(entire[w])));
            }
        }
}

CHECK_MAIN
