// Scores of gains under attribute costs.
#include "split/options.hpp"
#include "tests/check.hpp"

using namespace spinney;

TEST(without_a_rule_costs_do_not_matter) {
    GrowOptions o;
    CHECK_EQUAL(cost_adjusted(o, 0.25, 3), 0.25);  // costs is empty: it must not be read
}

TEST(scores_follow_their_formulas) {
    GrowOptions o;
    o.feature_costs = {1.0, 4.0};
    o.cost_rule = CostRule::tan;
    CHECK_EQUAL(cost_adjusted(o, 0.5, 1), 0.5 * 0.5 / 4.0);
    o.cost_rule = CostRule::tan_linear;
    CHECK_EQUAL(cost_adjusted(o, 0.5, 1), 0.5 / 4.0);
    o.cost_rule = CostRule::nunez;
    o.omega = 0.5;
    CHECK_CLOSE(cost_adjusted(o, 0.5, 1), (std::pow(2.0, 0.5) - 1.0) / std::sqrt(5.0), 1e-15);
    o.omega = 0.0;
    CHECK_CLOSE(cost_adjusted(o, 0.5, 1), std::pow(2.0, 0.5) - 1.0, 1e-15);
}

TEST(scores_fall_with_the_cost_and_rise_with_the_gain) {
    for (auto rule : {CostRule::tan, CostRule::tan_linear, CostRule::nunez}) {
        GrowOptions o;
        o.cost_rule = rule;
        for (double gain = 0.1; gain < 2; gain += 0.1)
            for (double cost = 0.5; cost < 10; cost += 0.5) {
                CHECK(score_at_cost(o, gain, cost) > score_at_cost(o, gain, cost + 0.5));
                CHECK(score_at_cost(o, gain, cost) < score_at_cost(o, gain + 0.1, cost));
            }
    }
}

CHECK_MAIN
