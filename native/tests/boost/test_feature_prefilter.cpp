// Tests which features boosting leaves out before the first tree: exactly those that cannot be split.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "boost/booster.hpp"
#include "boost/feature_prefilter.hpp"
#include "tests/check.hpp"

using namespace spinney;

namespace {

/// Columns with one code in all rows but f − 1, f or f + 1 of them, at the begin, at the end or anywhere.
CodeMatrix rare_codes(Size n_rows, Size n_columns) {
    std::mt19937 random(static_cast<unsigned>(n_rows));
    CodeMatrix x;
    x.n_rows = n_rows;
    x.columns.resize(n_columns);
    for (Size f = 0; f < n_columns; ++f) {
        x.columns[f].n_bins = 3;
        x.columns[f].has_missing = true;
        x.columns[f].lo = {0.0, 1.0, 2.0};
        auto& codes = x.columns[f].bytes;
        codes.assign(n_rows, 1);
        for (Size i = 0; i < std::min(n_rows, f); ++i)
            codes[f % 3 == 0 ? i : n_rows - 1 - i] = static_cast<std::uint8_t>(random() % 4);
        if (f % 3 == 2) std::shuffle(codes.begin(), codes.end(), random);
    }
    return x;
}

}  // namespace

TEST(features_that_cannot_be_split_are_left_out) {
    std::mt19937 random(1);
    for (const Size n_rows : {1, 20, 39, 40, 700})
        for (const bool weighted : {false, true})
            for (const double min_samples_leaf : {1.0, 1.5, 7.0, 20.0, 1e30}) {
                const CodeMatrix x = rare_codes(n_rows, 60);
                const std::vector<double> y(n_rows, 0.0);
                std::vector<double> weights(n_rows, 1.0);
                for (Size r = 1; weighted && r < n_rows; ++r) weights[r] = random() % 3 == 0 ? 0.0 : 1.0;
                BoostTarget target;
                target.set(y.data(), 1, weights.data(), n_rows);
                BoostOptions options;
                options.min_samples_leaf = min_samples_leaf;
                const auto found = splittable_features(x, options, target);
                for (Size f = 0; f < x.columns.size(); ++f) {
                    std::array<double, 256> counts{};
                    for (Size r = 0; r < n_rows; ++r) counts[x.columns[f].bytes[r]] += weights[r];
                    double total = 0, most = 0;
                    for (const double count : counts) total += count, most = std::max(most, count);
                    const bool splittable = total - most >= min_samples_leaf || min_samples_leaf <= 1;
                    CHECK_EQUAL(static_cast<bool>(found[f]), splittable);
                }
            }
}

TEST(weights_that_are_not_counts_leave_no_feature_out) {
    const CodeMatrix x = rare_codes(100, 5);
    const std::vector<double> y(100, 0.0), weights(100, 30.0);
    BoostTarget target;
    target.set(y.data(), 1, weights.data(), 100);
    BoostOptions options;
    options.min_samples_leaf = 20;
    for (const auto kept : splittable_features(x, options, target)) CHECK(kept);
}

TEST(trees_of_features_that_are_left_out_and_of_a_table_without_them_are_the_same) {
    const CodeMatrix all = rare_codes(500, 200);
    CodeMatrix rest = all;
    for (Size f = 0; f < 20; ++f) {  // these cannot be split: their codes can be any that cannot
        auto& codes = rest.columns[f].bytes;
        std::fill(codes.begin(), codes.end(), std::uint8_t{0});
    }
    std::vector<double> y(500);
    for (Size r = 0; r < 500; ++r) y[r] = all.columns[10].bytes[r] + 0.1 * all.columns[150].bytes[r];
    const std::vector<double> scores(500, 0.0);
    BoostOptions options;
    options.max_leaf_nodes = 8;
    options.min_samples_leaf = 20;
    std::vector<std::vector<double>> found;
    for (const CodeMatrix* x : {&all, static_cast<const CodeMatrix*>(&rest)}) {
        const auto booster = make_booster(*x, options);
        booster->set_rows(y.data(), 1, nullptr, scores.data(), 1);
        Interrupt interrupt;
        const auto trees = booster->run({LossName::squared, {}}, 5, interrupt);
        CHECK_EQUAL(trees.size(), 5);
        CHECK(trees[0].feature[0] >= 20);
        found.push_back(booster->scores()[0]);
    }
    CHECK(found[0] == found[1]);
}

TEST(a_table_without_a_feature_that_can_be_split_gives_leaves) {
    const CodeMatrix x = rare_codes(50, 10);
    const std::vector<double> y(50, 2.0), scores(50, 0.0);
    BoostOptions options;
    options.min_samples_leaf = 20;
    options.learning_rate = 1;
    for (const int n_threads : {1, 3}) {
        options.n_threads = n_threads;
        const auto booster = make_booster(x, options);
        booster->set_rows(y.data(), 1, nullptr, scores.data(), 1);
        Interrupt interrupt;
        const auto trees = booster->run({LossName::squared, {}}, 1, interrupt);
        CHECK_EQUAL(trees[0].feature.size(), 1);
        for (const double score : booster->scores()[0]) CHECK_EQUAL(score, 2.0);
    }
}

CHECK_MAIN
