#include "boost/stump_rounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "simd/elementary.hpp"

namespace spinney {

namespace {

/// Weights are multiples of 2^-40, so that sums of scores are exact in any order.
constexpr double kGrid = 0x1p40;
/// Edges below this are rounding noise.
constexpr double kMinEdge = 1e-10;

double log_of(double x) {
    log_array(&x, &x, 1);
    return x;
}

double exp_of(double x) {
    exp_array(&x, &x, 1);
    return x;
}

/// The weight of a stump with this error.
double weight_of(double error, const StumpRounds& rounds) {
    constexpr double least = std::numeric_limits<double>::epsilon();
    error = std::min(std::max(error, least), 1.0 - least);
    const double odds = log_of((1.0 - error) / error) + log_of(std::max(rounds.n_classes - 1, 1));
    return std::rint(rounds.share * (rounds.learning_rate * odds) * kGrid) / kGrid;
}

}  // namespace

BoostedStumps boost_stumps(StumpBooster& booster, const StumpRounds& rounds, Interrupt& interrupt) {
    const double chance = 1.0 - 1.0 / rounds.n_classes;
    BoostedStumps out;
    while (out.stumps.size() < rounds.n_rounds) {
        const Stump& stump = booster.learn(interrupt);
        const double error = static_cast<double>(stump.wrong) / static_cast<double>(stump.total);
        const bool perfect = error <= 0, useless = !perfect && error >= chance - kMinEdge;
        if (useless && !out.stumps.empty()) break;
        const double weight = useless ? 0.0 : weight_of(error, rounds);
        out.stumps.push_back(stump);
        out.weights.push_back(weight);
        out.errors.push_back(error);
        if (perfect || useless) break;
        booster.reweight(exp_of(weight / rounds.share), rounds.min_total, rounds.max_total, rounds.fresh,
                         interrupt);
    }
    return out;
}

}  // namespace spinney
