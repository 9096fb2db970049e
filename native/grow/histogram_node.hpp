// Nodes of the histogram grower and the results of their searches.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "grow/growth_rules.hpp"
#include "grow/histogram_pool.hpp"
#include "split/scorer.hpp"

namespace spinney::detail {

/// A sum of row statistics, on the heap only if it is long: every node has one.
class SmallSum {
  public:
    SmallSum() = default;
    explicit SmallSum(Size n) : n_(n), heap_(n > inline_size ? new Stat[n]() : nullptr) {}
    SmallSum(const SmallSum& other) : SmallSum(other.n_) { std::copy_n(other.data(), n_, data()); }
    SmallSum& operator=(const SmallSum& other) { return *this = SmallSum(other); }
    SmallSum(SmallSum&&) = default;
    SmallSum& operator=(SmallSum&&) = default;
    Stat* data() { return heap_ ? heap_.get() : inline_.data(); }
    const Stat* data() const { return heap_ ? heap_.get() : inline_.data(); }
    Size size() const { return n_; }

  private:
    static constexpr Size inline_size = 3;
    Size n_ = 0;
    std::array<Stat, inline_size> inline_{};
    std::unique_ptr<Stat[]> heap_;
};

/// A node to be split: a range of the row list.
struct HistogramNode {
    NodeState state;
    Size begin = 0, end = 0;
    SmallSum total;
    std::unique_ptr<Stat[]> histogram;  // null: none yet
    Size size() const { return end - begin; }
};

/// A threshold that is computed when the node is split: the values of a column's codes are scattered in
/// memory.
inline constexpr double kUnset = kImpossible;

/// The best split of a node.
struct NodeSplit {
    Candidate best;
    SmallSum left;     // sum of child 0; empty: not known
    double drawn = 0;  // random threshold, or kUnset

    /// Reset, keeping the memory.
    void clear() {
        best.kind = SplitKind::leaf;
        best.score = kImpossible;
        best.feature = best.missing = -1;
        best.bins.clear();
        best.seen.clear();
        left = {};
    }
};

/// What the searches of one node share.
template <Layout L, class Criterion>
struct NodeScorer {
    Limits limits;  // of the current feature
    SplitScorer<L, Criterion> scorer;
    double base = 0, weight = 0, weight_fraction = 0;

    explicit NodeScorer(const GrowContext& c) : limits(make_limits(c, {})), scorer(c.s, nullptr, limits) {}

    /// Switch to a node.
    void begin(const GrowContext& c, const NodeState& state, const Stat* total) {
        limits.lower = state.lower;
        limits.upper = state.upper;
        scorer.set_total(total);
        base = scorer.quality(total);
        weight = scorer.weight(total);
        weight_fraction = weight / c.all_weight;
    }
};

}  // namespace spinney::detail
