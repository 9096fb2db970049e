// Best split of the rows of a node along a projection, and the best change of its direction.
#pragma once

#include <memory>
#include <span>

#include "split/candidate.hpp"
#include "split/node_values.hpp"

namespace spinney {

/// A split of projected rows; not found while `gain` is kImpossible.
struct ProjectedSplit {
    double gain = kImpossible;
    double quality = kImpossible;  // by SplitScorer
    double threshold = 0;          // rows up to it go left
    double left_weight = 0;

    bool found() const { return gain > kImpossible; }
};

/// Splits rows by a projection. The interface hides the types of the criterion and the layout: a call is a
/// whole sweep, so the search for directions is compiled only once.
class ProjectionSplitter {
  public:
    virtual ~ProjectionSplitter() = default;

    /// Best split of values (n,), compared in single precision: fast, for ranking directions.
    virtual ProjectedSplit split(std::span<const double> values) = 0;

    /// Best split of values (n,), compared exactly.
    virtual ProjectedSplit split_exactly(std::span<const double> values) = 0;

    /// Best a when rows go left where base + a·tilt ≤ 0, returned as `threshold`.  base, tilt (n,)
    virtual ProjectedSplit tilt(std::span<const double> base, std::span<const double> tilt) = 0;
};

/// Splitter of the rows of a node. Absolute error, which has no sums, is approximated by squared error.
/// The arguments must outlive it.
std::unique_ptr<ProjectionSplitter> make_projection_splitter(CriterionName criterion, const Statistics& s,
                                                             const NodeRows& node, const Stat* total,
                                                             const Limits& limits);

}  // namespace spinney
