// The rounds of AdaBoost with stumps that vote: each finds the best stump, weighs it by its error, and
// multiplies the weights of the rows that it misclassifies.
#pragma once

#include <vector>

#include "boost/stump_booster.hpp"

namespace spinney {

/// What the rounds need beside the stumps.
struct StumpRounds {
    Size n_rounds = 1;
    int n_classes = 2;
    double learning_rate = 1.0;
    double share = 1.0;  // of the log-odds that is a stump's weight: 1 in SAMME, ½ in Discrete AdaBoost
    double min_total = 0, max_total = 0;  // as in StumpBooster::reweight
    int fresh = 0;
};

/// Stumps with their weights and errors.  (n_rounds,) each
struct BoostedStumps {
    std::vector<Stump> stumps;
    std::vector<double> weights, errors;
};

/// Make rounds until one has no errors or is no better than chance. A first stump that is no better than
/// chance is kept with weight 0; a later one is not.
BoostedStumps boost_stumps(StumpBooster& booster, const StumpRounds& rounds, Interrupt& interrupt);

}  // namespace spinney
