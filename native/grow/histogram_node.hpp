// Nodes of the histogram grower, the searches for their splits and the results.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <span>

#include "grow/growth_rules.hpp"
#include "grow/histogram.hpp"
#include "grow/histogram_pool.hpp"

namespace spinney::detail {

/// Rows from which a node has a histogram of all features.
inline constexpr Size kDense = 768;

/// A sum of row statistics, on the heap only if it is long: every node has one.
class SmallSum {
  public:
    SmallSum() = default;
    explicit SmallSum(Size n) : n_(n), heap_(n > inline_size ? new Stat[n]() : nullptr) {}
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

/// Search for the best split of a node. The interface hides the types of the criterion and the layout: a call
/// searches a whole node, so growth is compiled only once.
class NodeSearch {
  public:
    virtual ~NodeSearch() = default;

    /// Find the best split of a node with these rows. The node may get a histogram.
    virtual void find(NodeSplit& out, HistogramNode& node, std::span<const Row> rows) = 0;

    /// Add rows to the histogram of all features.
    virtual void build(Stat* histogram, std::span<const Row> rows) = 0;

    /// Add rows to a sum.
    virtual void add(Stat* sum, std::span<const Row> rows) const = 0;
};

/// Instantiated in histogram_search_*.cpp. The arguments must outlive the search.
template <Layout L, class Criterion>
struct NodeSearchOf {
    static std::unique_ptr<NodeSearch> make(const GrowContext& c, const HistogramData& data,
                                            HistogramPool& pool, int n_threads);
};

}  // namespace spinney::detail
