// Scorers of every layout and criterion, for searches that know neither.
#include "split/scorer.hpp"

namespace spinney::detail {

void with_split_scorer(CriterionName criterion, const Statistics& s, const Stat* total, const Limits& limits,
                       const std::function<void(ScorerBase&)>& f) {
    with_criterion(criterion, s, [&]<Layout L, class Criterion>() {
        SplitScorer<L, Criterion> scorer(s, total, limits);
        f(scorer);
    });
}

}  // namespace spinney::detail
