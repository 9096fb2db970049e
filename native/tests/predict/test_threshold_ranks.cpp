// Ranks among thresholds: those of a plain count, wherever the thresholds lie.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "predict/threshold_ranks.hpp"
#include "tests/check.hpp"

using namespace spinney;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::uint32_t count_below(const std::vector<double>& thresholds, double x) {
    if (x != x) return missing_code;
    return static_cast<std::uint32_t>(
        std::count_if(thresholds.begin(), thresholds.end(), [&](double t) { return t < x; }));
}

/// The thresholds themselves, their neighbours, numbers between and beyond them, and none.
std::vector<double> places(const std::vector<double>& thresholds) {
    std::vector<double> out{-kInfinity, -1e308, -1.0, -0.0, 0.0, 5e-324, 1.0, 1e308, kInfinity, std::nan("")};
    for (Size i = 0; i < thresholds.size(); ++i) {
        out.push_back(thresholds[i]);
        out.push_back(std::nextafter(thresholds[i], -kInfinity));
        out.push_back(std::nextafter(thresholds[i], kInfinity));
        if (i > 0) out.push_back(thresholds[i] / 2 + thresholds[i - 1] / 2);
    }
    return out;
}

void check_ranks(std::vector<double> thresholds) {
    std::sort(thresholds.begin(), thresholds.end());
    thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
    FeatureCodes feature;
    const RankTable& table = feature.ranks = RankTable(thresholds);
    CHECK_EQUAL(table.size(), thresholds.size());
    const std::vector<double> x = places(thresholds);
    std::vector<std::uint32_t> codes(x.size());
    feature.code(codes.data(), {InputColumn::Type::f64, x.data(), sizeof(double), 0}, 0, x.size());
    for (Size i = 0; i < x.size(); ++i) {
        CHECK_EQUAL(codes[i], count_below(thresholds, x[i]));
        if (x[i] == x[i]) CHECK_EQUAL(table.rank(x[i]), codes[i]);
    }
}

std::vector<double> drawn(Size n, const std::function<double()>& draw) {
    std::vector<double> out(n);
    for (double& x : out) x = draw();
    return out;
}

}  // namespace

TEST(ranks_count_the_thresholds_below) {
    std::mt19937_64 generator(1);
    std::normal_distribution<double> normal;
    const std::vector<std::function<double()>> laws{
        [&] { return normal(generator); },
        [&] { return std::floor(50 * normal(generator)); },
        [&] { return 1e9 + normal(generator); },
        [&] { return std::exp(20 * normal(generator)); },      // too uneven for equal shares
        [&] { return 1e308 * std::tanh(normal(generator)); },  // too far apart to subtract
        [&] { return 1e-310 * normal(generator); },
    };
    for (const auto& law : laws)
        for (const Size n : {0, 1, 2, 3, 4, 5, 12, 13, 15, 16, 17, 30, 31, 32, 254, 255, 256, 300, 5000})
            check_ranks(drawn(n, law));
}

TEST(columns_of_any_type_and_stride) {
    const std::vector<double> thresholds{-0.5, 0.5, 1.5, 2.5};
    FeatureCodes feature;
    feature.ranks = RankTable(thresholds);
    const float numbers[] = {-1.0f, 9.0f, 1.0f, 9.0f, std::nanf(""), 9.0f, 3.0f, 9.0f};
    std::uint32_t codes[4];
    feature.code(codes, {InputColumn::Type::f32, numbers, 2 * sizeof(float), 0}, 0, 4);
    CHECK(std::ranges::equal(codes, std::vector<std::uint32_t>{0, 2, missing_code, 4}));
    const std::int32_t categories[] = {9, 0, -1, 2, 3};
    feature.code(codes, {InputColumn::Type::category, categories, sizeof(std::int32_t), 4}, 1, 4);
    CHECK(std::ranges::equal(codes, std::vector<std::uint32_t>{1, missing_code, 3, 4}));
    feature.categorical = true;
    feature.n_codes = 3;
    feature.code(codes, {InputColumn::Type::category, categories, sizeof(std::int32_t), 4}, 1, 4);
    CHECK(std::ranges::equal(codes, std::vector<std::uint32_t>{0, missing_code, 2, 3}));
}

CHECK_MAIN
