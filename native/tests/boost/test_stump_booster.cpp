// Tests boosted stumps: histograms that follow the weights against a tree of depth 1 grown anew every round.
#include "boost/stump_booster.hpp"
#include "grow/grow_tree.hpp"
#include "tests/check.hpp"
#include "tests/tables.hpp"

using namespace spinney;
using tables::Table;

namespace {

constexpr double least = 0x1.0p44, most = 0x1.0p53;
constexpr int fresh = 48;

struct WeightedRows {
    CodeMatrix x;
    std::vector<std::int32_t> classes;
    std::vector<std::int64_t> copies;
    std::vector<double> sizes;
    int n_classes;
    CriterionName criterion = CriterionName::gini;

    WeightedRows(std::uint64_t seed, Size n, int k, std::uint32_t max_bins, bool missing)
        : x(Table(seed, n, 5, 2, missing).codes(max_bins)), n_classes(k) {
        std::mt19937_64 g(seed + 1);
        const auto& first = x.columns[0];
        for (Size r = 0; r < n; ++r) {
            const bool high = first.at(r) * 2 > first.n_bins;
            classes.push_back(static_cast<std::int32_t>(g() % 4 == 0 ? g() % static_cast<std::uint64_t>(k)
                                                                     : high % static_cast<unsigned>(k)));
            copies.push_back(static_cast<std::int64_t>(g() % 4));
            sizes.push_back(std::ldexp(1.0, 48) / static_cast<double>(2 * n));
        }
        copies[0] = copies[n - 1] = 1;
    }

    StumpBooster open(int n_threads) const {
        Interrupt none;
        GrowOptions options;
        options.criterion = criterion;
        options.n_threads = n_threads;
        return {x, {classes, n_classes, copies, sizes}, options, none};
    }
};

/// The stump as the general way in grows it.
FlatTree grow_stump(const WeightedRows& p, const std::vector<std::int64_t>& steps) {
    const std::vector<double> weights(steps.begin(), steps.end());
    Target target;
    target.n_rows = p.x.n_rows;
    target.n_classes = {p.n_classes};
    target.classes = p.classes.data();
    target.weights = weights.data();
    GrowOptions options;
    options.max_depth = 1;
    options.criterion = p.criterion;
    Interrupt none;
    return TreeGrower(p.x).grow(target, options, false, none);
}

void check_same(const Stump& found, const FlatTree& tree, int k) {
    CHECK_EQUAL(static_cast<int>(found.best.kind), tree.kind[0]);
    CHECK_EQUAL(found.best.feature, tree.feature[0]);
    if (found.best.kind == SplitKind::numeric) CHECK_EQUAL(found.best.threshold, tree.threshold[0]);
    CHECK(found.set_bits == tree.set_bits);
    const Size n = tree.kind.size();
    if (n > 1) CHECK_EQUAL(found.best.missing, tree.missing[0]);
    for (Size node = 0; node < n; ++node) {
        CHECK_EQUAL(found.n_samples[node], tree.n_samples[node]);
        for (Size c = 0; c < static_cast<Size>(k); ++c)
            CHECK_CLOSE(found.value[node * static_cast<Size>(k) + c],
                        tree.value[node * static_cast<Size>(k) + c], 1e-12);
    }
}

}  // namespace

TEST(every_round_finds_the_stump_that_a_tree_grown_anew_is) {
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(check::rounds(24)); ++seed) {
        const int k = seed % 3 == 0 ? 4 : 2;
        // Exact codes (0) of 700 rows are two bytes wide, which the tiles of bytes cannot hold.
        WeightedRows p(seed, seed % 2 ? 700 : 90, k, seed % 4 < 2 ? 255 : 0, seed % 5 != 0);
        if (seed % 3 == 1) p.criterion = CriterionName::error;
        StumpBooster one = p.open(1), three = p.open(3);
        Interrupt none;
        for (int round = 0; round < 30; ++round) {
            const auto steps = one.weights();
            const Stump& stump = one.learn(none);
            check_same(stump, grow_stump(p, steps), k);
            CHECK(three.learn(none).sums == stump.sums);
            // The sums are those of the rows, and so is the weight that the predictions get wrong.
            const auto predictions = one.predictions();
            Stat total = 0, wrong = 0;
            for (Size r = 0; r < p.x.n_rows; ++r) {
                total += steps[r];
                if (predictions[r] != p.classes[r]) wrong += steps[r];
            }
            CHECK_EQUAL(stump.total, total);
            CHECK_EQUAL(stump.wrong, wrong);
            const double factor = round == 20 ? 1e12 : 3.0;  // the one that a rescaling must follow
            one.reweight(factor, least, most, fresh, none);
            three.reweight(factor, least, most, fresh, none);
            CHECK(one.weights() == three.weights());
        }
    }
}

TEST(weights_grow_where_the_stump_was_wrong_and_stay_within_bounds) {
    const WeightedRows p(7, 500, 2, 255, false);
    StumpBooster booster = p.open(1);
    Interrupt none;
    for (int round = 0; round < 60; ++round) {
        booster.learn(none);
        const auto before = booster.weights();
        const auto predictions = booster.predictions();
        booster.reweight(2.0, least, most, fresh, none);
        const auto after = booster.weights();
        Stat total = 0;
        double scale = 0;
        for (Size r = 0; r < p.x.n_rows; ++r) {
            total += after[r];
            CHECK_EQUAL(after[r] > 0, p.copies[r] > 0);
            if (p.copies[r] > 0 && predictions[r] == p.classes[r])
                scale = static_cast<double>(after[r]) / static_cast<double>(before[r]);
        }
        CHECK(static_cast<double>(total) < most);
        for (Size r = 0; r < p.x.n_rows; ++r) {
            if (p.copies[r] == 0) continue;
            const double factor = scale * (predictions[r] == p.classes[r] ? 1.0 : 2.0);
            CHECK_CLOSE(static_cast<double>(after[r]) / static_cast<double>(before[r]) / factor, 1.0, 1e-6);
        }
    }
}

TEST(weights_of_many_rows_change_as_those_of_one_after_the_other) {
    for (const bool several : {false, true}) {
        WeightedRows p(11, 20000, 2, 255, true);
        if (!several) std::fill(p.copies.begin(), p.copies.end(), 1);
        StumpBooster booster = p.open(1);
        Interrupt none;
        std::vector<double> sizes = p.sizes;
        for (int round = 0; round < 5; ++round) {
            const Stump& stump = booster.learn(none);
            const auto predictions = booster.predictions();
            Stat total = 0;
            const auto weights = booster.weights();
            for (Size r = 0; r < p.x.n_rows; ++r) {
                CHECK_EQUAL(weights[r], p.copies[r] * std::llrint(sizes[r]));
                total += weights[r];
                if (predictions[r] != p.classes[r]) sizes[r] *= 1.5;
            }
            CHECK_EQUAL(stump.total, total);
            booster.reweight(1.5, least, most, fresh, none);
        }
    }
}

TEST(rows_all_of_one_class_give_a_leaf) {
    WeightedRows p(3, 50, 2, 255, true);
    std::fill(p.classes.begin(), p.classes.end(), 1);
    StumpBooster booster = p.open(1);
    Interrupt none;
    const Stump& stump = booster.learn(none);
    CHECK(!stump.best.found());
    CHECK_EQUAL(stump.prediction[0], 1);
    CHECK_EQUAL(stump.wrong, 0);
    CHECK_EQUAL(booster.predictions()[17], 1);
}

CHECK_MAIN
