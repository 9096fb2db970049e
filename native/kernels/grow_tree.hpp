// From codes and a target to a fitted tree: the way in for callers.
#pragma once

#include "grow_histogram.hpp"
#include "grow_ordered.hpp"

namespace spinney {

/// Grow one tree. `ordered` asks for the general grower; the other takes byte codes and additive criteria
/// only.
inline FlatTree grow_tree(const CodeMatrix& x, const Target& target, const GrowOptions& options, bool ordered,
                          Interrupt& interrupt) {
    const Statistics s = make_statistics(target, options.min_samples_leaf > 1, options.fractional,
                                         options.criterion != CriterionName::poisson);
    const Moments moments(target, s, options.criterion);
    std::vector<Row> rows;
    rows.reserve(x.n_rows);
    double weight = 0;
    for (Size r = 0; r < x.n_rows; ++r) {
        if (!(target.weight(r) > 0)) continue;
        rows.push_back(static_cast<Row>(r));
        weight += target.weight(r);
    }
    const GrowContext context{x, target, s, options, moments, interrupt, weight};
    if (!ordered && HistogramGrower::takes(context))
        return flatten(HistogramGrower(context).grow(std::move(rows)), moments, target);
    return flatten(OrderedGrower(context).grow(std::move(rows)), moments, target);
}

}  // namespace spinney
