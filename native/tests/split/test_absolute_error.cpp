// Absolute error: the loss of a growing set, and the best split, against computing every median again.
#include "split/absolute_error.hpp"
#include "tests/check.hpp"
#include "tests/every_split.hpp"

using namespace spinney;
using naive::check_best;
using naive::in;
using naive::OneNode;

namespace {

Candidate search(const OneNode& node, std::uint64_t address = 0) {
    AbsoluteErrorNode absolute;
    const NodeRows rows{node.rows, {}};
    absolute.prepare(node.sample.target, node.s, rows, node.limits.monotone);
    return absolute.search(node.column, 0, rows, node.limits, node.options, 1.0, address);
}

OneNode make_node(std::mt19937_64& g, Size n, std::uint32_t n_bins, int n_outputs, ColumnKind kind) {
    return {g(),          n + g() % n,
            n_bins,       0,
            n_outputs,    static_cast<int>(g() % 3),
            g() % 2 == 0, CriterionName::absolute_error,
            kind};
}

void check_numeric(const OneNode& node) {
    const Candidate c = search(node);
    check_best(node, c, node.best_gain(node.every_threshold()),
               [&](Code code) { return code <= c.threshold_bin; });
    if (!c.found()) return;
    const auto codes = node.codes();
    const auto after = std::upper_bound(codes.begin(), codes.end(), c.threshold_bin);
    CHECK_EQUAL(c.threshold,
                after == codes.end() ? DBL_MAX : (c.threshold_bin * 10.0 + 4.0 + *after * 10.0) / 2);
}

}  // namespace

TEST(loss_of_a_growing_set) {
    std::mt19937_64 g(1);
    for (int round = 0; round < check::rounds(60); ++round) {
        const Size n_ranks = 1 + g() % 40;
        std::vector<double> value(n_ranks);
        for (Size r = 0; r < n_ranks; ++r)
            value[r] = static_cast<double>(r) * 1.5 - 7 + static_cast<double>(g() % 10) / 10;
        const bool unit = g() % 2;
        MedianLoss loss(n_ranks);
        std::vector<std::pair<double, double>> pairs;
        for (int i = 0; i < 80; ++i) {
            const Size rank = g() % n_ranks;
            const double w = unit ? 1.0 : static_cast<double>(1 + g() % 7) / 4;
            loss.add(rank, w, value[rank]);
            pairs.emplace_back(value[rank], w);
            const double median = weighted_median(pairs);
            double sum = 0;
            for (const auto& [y, weight] : pairs) sum += weight * std::abs(y - median);
            CHECK_CLOSE(loss.loss(value), sum, 1e-10);
            CHECK_CLOSE(loss.median(value), median, 1e-12);
        }
        loss = MedianLoss(n_ranks);
        loss.add(0, 2.0, value[0]);
        CHECK_CLOSE(loss.loss(value), 0.0, 1e-12);
        CHECK_EQUAL(loss.median(value), value[0]);
    }
}

TEST(thresholds_are_the_best_of_all) {
    std::mt19937_64 g(2);
    for (std::uint32_t n_bins : {1u, 2u, 9u, 60u})
        for (int n_outputs : {1, 2})
            for (int round = 0; round < check::rounds(24); ++round)
                check_numeric(make_node(g, 20, n_bins, n_outputs, ColumnKind::numeric));
}

TEST(thresholds_keep_the_limits_of_children) {
    std::mt19937_64 g(3);
    for (int round = 0; round < check::rounds(120); ++round) {
        OneNode node = make_node(g, 20, 12, 1, ColumnKind::numeric);
        node.limits.min_count = static_cast<Stat>(g() % 8);
        if (g() % 2) {
            // A weight that no sum of weights is likely to meet exactly.
            node.limits.min_weight = node.s.weight_steps(node.total.data()) / 5;
            node.options.min_weight_leaf = static_cast<double>(node.limits.min_weight) * node.s.weight_unit;
        }
        check_numeric(node);
    }
}

TEST(thresholds_keep_monotonic_medians) {
    std::mt19937_64 g(4);
    for (int round = 0; round < check::rounds(120); ++round) {
        OneNode node = make_node(g, 20, 12, 1, ColumnKind::numeric);
        node.limits.monotone = true;
        node.limits.direction = g() % 2 ? 1 : -1;
        check_numeric(node);
    }
}

TEST(sets_of_few_categories_are_the_best_of_all) {
    std::mt19937_64 g(5);
    for (std::uint32_t n_bins : {1u, 2u, 4u, 6u})
        for (int n_outputs : {1, 2})
            for (int round = 0; round < check::rounds(16); ++round) {
                const OneNode node = make_node(g, 20, n_bins, n_outputs, ColumnKind::categorical);
                const Candidate c = search(node);
                check_best(node, c, node.best_gain(node.every_subset()),
                           [&](Code code) { return in(c.bins, code); });
                if (c.found()) CHECK(c.seen == node.codes());
            }
}

TEST(sets_of_many_categories_are_valid) {
    std::mt19937_64 g(6);
    for (int round = 0; round < check::rounds(24); ++round) {
        const OneNode node = make_node(g, 60, 20, 1, ColumnKind::categorical);
        const Candidate c = search(node);
        CHECK(c.found());
        const auto sets = node.sides([&](Code code) { return in(c.bins, code); }, c.missing);
        CHECK_CLOSE(c.gain, naive::gain(node.sample, sets, CriterionName::absolute_error), 1e-10);
        CHECK(c.gain > 0);
    }
}

TEST(random_thresholds_are_valid_and_differ) {
    OneNode node(7, 100, 20, 0, 1, 2, false, CriterionName::absolute_error);
    node.options.splitter = Splitter::random;
    std::set<Code> bins;
    for (std::uint64_t k = 0; k < 300; ++k) {
        const Candidate c = search(node, mix(k, 1));
        CHECK(c.found());
        const auto sets = node.sides([&](Code code) { return code <= c.threshold_bin; }, c.missing);
        CHECK_CLOSE(c.gain, naive::gain(node.sample, sets, CriterionName::absolute_error), 1e-10);
        bins.insert(c.threshold_bin);
    }
    CHECK_EQUAL(bins.size(), node.codes().size() - 1);
}

TEST(huge_values_keep_their_order) {
    OneNode node(8, 40, 4, 0, 1, 0, false, CriterionName::absolute_error);
    for (Size r = 0; r < 40; ++r) node.sample.values[r] = node.column.at(r) < 2 ? 1e300 : -1e300;
    const Candidate c = search(node);
    CHECK_EQUAL(c.threshold_bin, 1u);
    CHECK(std::isfinite(c.gain) && c.gain > 0);
}

CHECK_MAIN
