// Splits of one feature: the sweep, the subsets and the multiway split against every possible split.
#include "split/categories.hpp"
#include "split/choose_feature.hpp"
#include "split/sorted_groups.hpp"
#include "split/sweep.hpp"
#include "tests/check.hpp"
#include "tests/every_split.hpp"

using namespace spinney;
using naive::check_best;
using naive::in;
using naive::Part;

namespace {

/// A node and the searches on it.
struct OneNode : naive::OneNode {
    using naive::OneNode::OneNode;
    CategorySums sums;
    std::uint64_t address = 0;

    /// Call f(scorer, search, groups) as a grower would.
    template <class F>
    void with(F&& f) {
        with_layout(s.layout, [&]<Layout L>() {
            CopiedRowStats statistics;
            statistics.gather(s, {rows, {}});
            SearchScratch scratch;
            with_groups<L>(scratch, column, rows, statistics.view(), s, [&](auto& groups) {
                FeatureSearch q{
                    s, options, column, 0, total.data(), has_missing() ? missing.data() : nullptr, limits};
                q.address = address;
                with_split_scorer(options.criterion, s, total.data(), limits,
                                  [&](ScorerBase& scorer) { f(scorer, q, groups); });
            });
        });
    }

    Candidate sweep() {
        Candidate out;
        with([&](auto& scorer, const FeatureSearch& q, auto& groups) {
            out = sweep_numeric(scorer, q, groups, [](auto&&...) {});
        });
        return out;
    }
    Candidate subset() {
        Candidate out;
        with([&](auto& scorer, const FeatureSearch& q, auto& groups) {
            collect(sums, groups, s.width);
            out = best_category_set(scorer, q, sums);
        });
        return out;
    }
    Candidate multiway() {
        Candidate out;
        with([&](auto& scorer, const FeatureSearch& q, auto& groups) {
            collect(sums, groups, s.width);
            out = multiway_split(scorer, q, sums);
        });
        return out;
    }
};

struct Kind {
    CriterionName criterion;
    int n_classes, n_outputs;
};
constexpr Kind kKinds[] = {{CriterionName::gini, 2, 1},          {CriterionName::entropy, 2, 1},
                           {CriterionName::gini, 4, 1},          {CriterionName::entropy, 3, 1},
                           {CriterionName::gini, 3, 2},          {CriterionName::entropy, 2, 3},
                           {CriterionName::error, 2, 1},         {CriterionName::error, 4, 1},
                           {CriterionName::squared_error, 0, 1}, {CriterionName::squared_error, 0, 2},
                           {CriterionName::poisson, 0, 1},       {CriterionName::poisson, 0, 2}};

/// Nodes of every kind: f(node, whether one mean orders the categories).
template <class F>
void for_each_node(int times, Size n, std::uint32_t n_bins, ColumnKind column, F&& f) {
    std::mt19937_64 g(n + n_bins);
    for (const Kind& kind : kKinds)
        for (int round = 0; round < check::rounds(times); ++round) {
            OneNode node(g(), n + g() % n, n_bins, kind.n_classes, kind.n_outputs, static_cast<int>(g() % 3),
                         g() % 2, kind.criterion, column);
            if (node.rows.empty()) continue;
            f(node, kind.n_outputs == 1 && kind.n_classes <= 2);
        }
}

void check_sweep(OneNode& node) {
    const Candidate c = node.sweep();
    check_best(node, c, node.best_gain(node.every_threshold()),
               [&](Code code) { return code <= c.threshold_bin; });
    if (!c.found()) return;
    const auto codes = node.codes();
    const auto after = std::upper_bound(codes.begin(), codes.end(), c.threshold_bin);
    CHECK_EQUAL(c.threshold,
                after == codes.end() ? DBL_MAX : (c.threshold_bin * 10.0 + 4.0 + *after * 10.0) / 2);
}

}  // namespace

TEST(sweep_finds_the_best_of_all_thresholds) {
    for (std::uint32_t n_bins : {1u, 2u, 7u, 40u})
        for_each_node(6, 20, n_bins, ColumnKind::numeric, [](OneNode& node, bool) { check_sweep(node); });
}

TEST(sweep_keeps_the_limits_of_children) {
    std::mt19937_64 g(1);
    for_each_node(12, 20, 12, ColumnKind::numeric, [&](OneNode& node, bool) {
        if (g() % 2) node.limits.min_count = static_cast<Stat>(1 + g() % 8);
        if (g() % 2)
            node.limits.min_weight = node.s.weight_steps(node.total.data()) / static_cast<Stat>(2 + g() % 8);
        check_sweep(node);
    });
}

TEST(sweep_keeps_monotonic_constraints) {
    std::mt19937_64 g(2);
    for_each_node(12, 30, 12, ColumnKind::numeric, [&](OneNode& node, bool one_mean) {
        if (!one_mean) return;
        node.limits.monotone = true;
        node.limits.direction = g() % 2 ? 1 : -1;
        if (g() % 2) {
            const double middle = node.child_value(node.sides([](Code) { return true; }, 0)[0]);
            node.limits.lower = middle * 0.8 + 1e-7;
            node.limits.upper = middle * 1.2 - 1e-7;
        }
        check_sweep(node);
    });
}

TEST(the_lowest_of_equal_thresholds_wins) {
    // Classes 0 1 … 1 0: the first and the last threshold are equally good; far apart, so that they are
    // scored in different batches of lanes.
    for (std::uint32_t n_bins : {4u, 30u}) {
        OneNode node(3, n_bins, n_bins, 2, 1, 0, false, CriterionName::gini);
        for (std::uint32_t r = 0; r < n_bins; ++r) {
            node.column.bytes[r] = static_cast<std::uint8_t>(r);
            node.sample.classes[r] = r > 0 && r + 1 < n_bins;
        }
        node.s = make_statistics(node.sample.target, true, false, true);
        node.sum_up();
        CHECK_EQUAL(node.sweep().threshold_bin, 0u);
    }
}

TEST(sweep_reports_every_threshold) {
    OneNode node(4, 60, 20, 2, 1, 0, true, CriterionName::gini);
    const Size n_thresholds = node.codes().size() - 1;
    CHECK(node.has_missing());
    Size reported = 0;
    double best = kImpossible;
    node.with([&](auto& scorer, const FeatureSearch& q, auto& groups) {
        const Candidate c = sweep_numeric(
            scorer, q, groups, [&](auto&& threshold, double quality, std::int32_t missing, auto&& copy) {
                Stat left = 0;
                copy(&left);
                CHECK_EQUAL(scorer(&left), quality);
                CHECK(missing == 0 || missing == 1);
                CHECK(threshold() > 0);
                best = std::max(best, quality);
                ++reported;
            });
        CHECK_CLOSE(c.gain, (best - scorer.quality(q.total)) / scorer.weight(q.total), 1e-15);
    });
    CHECK_EQUAL(reported, 2 * n_thresholds + 1);
}

TEST(lanes_have_the_bits_of_single_scores) {
    std::mt19937_64 g(5);
    for_each_node(4, 40, 10, ColumnKind::numeric, [&](OneNode& node, bool one_mean) {
        node.limits.min_count = static_cast<Stat>(g() % 4);
        node.limits.min_weight = 1 + node.s.weight_steps(node.total.data()) / 9;
        node.limits.monotone = one_mean && g() % 2;
        node.limits.direction = 1;
        const auto width = static_cast<Size>(node.s.width);
        node.with([&](auto& scorer, const FeatureSearch&, auto&) {
            std::vector<Stat> left_sums(width * kRegister), one(width);
            std::vector<std::vector<Stat>> lefts;
            for (Size k = 0; k < kRegister; ++k) {
                std::fill(one.begin(), one.end(), 0);
                for (Row r : node.rows)
                    if (g() % 8 <= k) node.s.add(one.data(), r);
                for (Size w = 0; w < width; ++w) left_sums[w * kRegister + k] = one[w];
                lefts.push_back(one);
            }
            std::array<double, kRegister> out;
            scorer.score_all(left_sums.data(), out.data());
            for (Size k = 0; k < kRegister; ++k) CHECK_EQUAL(out[k], scorer(lefts[k].data()));
        });
    });
}

TEST(random_thresholds_are_valid_and_differ) {
    for (bool gaps : {false, true}) {
        OneNode node(6, 200, 30, 3, 1, 2, gaps, CriterionName::gini);
        node.options.splitter = Splitter::random;
        std::set<Code> bins;
        std::set<double> thresholds;
        const auto codes = node.codes();
        for (std::uint64_t k = 0; k < 500; ++k) {
            node.address = mix(k, 7);
            const Candidate c = node.sweep();
            CHECK(c.found());
            CHECK(c.threshold_bin < codes.back());
            const Code after = *std::upper_bound(codes.begin(), codes.end(), c.threshold_bin);
            CHECK(c.threshold >= node.column.max_of(c.threshold_bin) &&
                  c.threshold < node.column.min_of(after));
            const auto sets = node.sides([&](Code code) { return code <= c.threshold_bin; }, c.missing);
            CHECK_CLOSE(c.gain, naive::gain(node.sample, sets, CriterionName::gini), 1e-10);
            bins.insert(c.threshold_bin);
            thresholds.insert(c.threshold);
            CHECK_EQUAL(c.threshold, node.sweep().threshold);  // the same address, the same draw
        }
        CHECK_EQUAL(bins.size(), codes.size() - 1);
        CHECK(thresholds.size() > 300);
    }
}

TEST(subsets_are_the_best_where_that_is_promised) {
    // At most eight categories, or one mean to order them by.
    std::mt19937_64 g(7);
    for (std::uint32_t n_bins : {1u, 2u, 5u, 8u, 10u})
        for_each_node(3, 30, n_bins, ColumnKind::categorical, [&](OneNode& node, bool one_mean) {
            if (n_bins > 8 && !one_mean) return;
            if (n_bins <= 8 && g() % 2) node.limits.min_count = static_cast<Stat>(2 + g() % 8);
            const Candidate c = node.subset();
            check_best(node, c, node.best_gain(node.every_subset()),
                       [&](Code code) { return in(c.bins, code); });
            if (!c.found()) return;
            CHECK(c.seen == node.codes());
            CHECK(std::is_sorted(c.bins.begin(), c.bins.end()));
        });
}

TEST(subsets_of_many_categories_and_classes_are_good) {
    // No promise of the optimum, but of a valid split that is at least as good as one category alone.
    for_each_node(3, 60, 14, ColumnKind::categorical, [&](OneNode& node, bool one_mean) {
        if (one_mean) return;
        const Candidate c = node.subset();
        CHECK(c.found());
        const auto sets = node.sides([&](Code code) { return in(c.bins, code); }, c.missing);
        CHECK_CLOSE(c.gain, naive::gain(node.sample, sets, node.options.criterion), 1e-10);
        CHECK(c.gain > 0);
    });
}

TEST(one_against_the_rest) {
    for_each_node(4, 30, 9, ColumnKind::categorical, [&](OneNode& node, bool) {
        node.options.categorical_split = CategorySplit::one_vs_rest;
        const auto codes = node.codes();
        std::vector<std::set<Code>> lefts{std::set<Code>(codes.begin(), codes.end())};
        for (Code c : codes) lefts.push_back({c});
        const Candidate c = node.subset();
        check_best(node, c, node.best_gain(lefts), [&](Code code) { return in(c.bins, code); });
    });
}

TEST(random_subsets_are_valid_and_differ) {
    OneNode node(8, 200, 10, 3, 1, 2, true, CriterionName::gini, ColumnKind::categorical);
    node.options.splitter = Splitter::random;
    std::set<std::vector<Code>> seen;
    for (std::uint64_t k = 0; k < 200; ++k) {
        node.address = mix(k, 9);
        const Candidate c = node.subset();
        CHECK(c.found());
        const auto sets = node.sides([&](Code code) { return in(c.bins, code); }, c.missing);
        CHECK_CLOSE(c.gain, naive::gain(node.sample, sets, CriterionName::gini), 1e-10);
        seen.insert(c.bins);
    }
    CHECK(seen.size() > 50);  // known against missing is tried each time, and often better
}

TEST(multiway_splits_have_the_gain_and_the_information_of_their_sets) {
    for_each_node(4, 40, 6, ColumnKind::categorical, [&](OneNode& node, bool) {
        if (node.has_missing() || node.options.criterion == CriterionName::poisson) return;
        const Candidate c = node.multiway();
        const auto codes = node.codes();
        CHECK_EQUAL(c.found(), codes.size() > 1);
        if (!c.found()) return;
        std::vector<std::vector<Part>> sets(codes.size());
        for (Row r : node.rows)
            sets[static_cast<Size>(std::lower_bound(codes.begin(), codes.end(), node.column.at(r)) -
                                   codes.begin())]
                .push_back({r, node.sample.target.weight(r)});
        double all = 0, information = 0;
        for (const auto& set : sets) all += naive::weight_of(set);
        for (const auto& set : sets) {
            const double p = naive::weight_of(set) / all;
            information -= p * std::log2(p);
        }
        CHECK(c.bins == codes);
        CHECK_CLOSE(c.gain, naive::gain(node.sample, sets, node.options.criterion), 1e-10);
        CHECK_CLOSE(c.gain_ratio, c.gain / information, 1e-9);
    });
}

TEST(multiway_splits_need_two_children_that_are_large_enough) {
    OneNode node(9, 40, 2, 2, 1, 0, false, CriterionName::entropy, ColumnKind::categorical);
    std::fill(node.column.bytes.begin(), node.column.bytes.end(), std::uint8_t{0});
    node.column.bytes[0] = node.column.bytes[1] = node.column.bytes[2] = 1;
    node.limits.min_weight = 3;
    CHECK(node.multiway().found());
    node.limits.min_weight = 4;
    CHECK(!node.multiway().found());
}

TEST(gain_ratio_is_compared_among_features_with_at_least_average_gain) {
    const auto candidate = [](double gain, double ratio) {
        Candidate c;
        c.kind = SplitKind::numeric;
        c.gain = c.score = gain;
        c.gain_ratio = ratio;
        return c;
    };
    GrowOptions o;
    const std::vector<Candidate> some{candidate(0.1, 0.9), candidate(0.4, 0.5), candidate(0.5, 0.3)};
    CHECK_EQUAL(choose(some, o, 0), 2);  // by gain
    o.score = SplitScore::gain_ratio;
    CHECK_EQUAL(choose(some, o, 0), 1);  // the first has less than the average of 1/3
    CHECK_EQUAL(choose({candidate(0.2, 0.1), candidate(0.2, 0.3)}, o, 0), 1);  // both are exactly average
    CHECK_EQUAL(choose({candidate(0.2, 0.3), candidate(0.2, 0.3 * (1 + 1e-14))}, o, 0),
                0);  // equal in theory
    CHECK_EQUAL(choose({Candidate{}, candidate(0.2, 0.3)}, o, 0), 1);
    CHECK_EQUAL(choose({Candidate{}, Candidate{}}, o, 0), -1);
    CHECK_EQUAL(choose({}, o, 0), -1);
    // A feature without any split does not pull the average down.
    CHECK_EQUAL(choose({Candidate{}, candidate(0.1, 0.9), candidate(0.3, 0.2)}, o, 0), 2);
    o.cost_rule = CostRule::tan;  // costs replace the ratio
    CHECK_EQUAL(choose(some, o, 0), 2);
}

TEST(midpoint_separates_any_two_neighbours) {
    const double ascending[] = {
        -DBL_MAX, -1e308, -1.0,   -5e-324, 0.0, 5e-324, 1e-323, 1.0, std::nextafter(1.0, 2.0),
        3.0,      1e308,  DBL_MAX};
    for (Size i = 0; i + 1 < std::size(ascending); ++i)
        for (Size j = i + 1; j < std::size(ascending); ++j) {
            const double t = midpoint(ascending[i], ascending[j]);
            CHECK(t >= ascending[i] && t < ascending[j]);
        }
    CHECK_EQUAL(midpoint(1.0, 3.0), 2.0);
    CHECK_EQUAL(midpoint(-1.0, 1.0), 0.0);
}

TEST(a_constant_feature_says_so) {
    OneNode one(10, 30, 1, 2, 1, 0, false, CriterionName::gini);
    CHECK(one.sweep().constant && !one.sweep().found());
    CHECK(one.subset().constant && one.multiway().constant);
    OneNode gaps(11, 30, 1, 2, 1, 0, true, CriterionName::gini);  // known against missing is a split
    CHECK(!gaps.sweep().constant && gaps.sweep().found());
    CHECK_EQUAL(gaps.sweep().threshold, DBL_MAX);
    CHECK(!gaps.subset().constant && gaps.subset().found());
}

CHECK_MAIN
