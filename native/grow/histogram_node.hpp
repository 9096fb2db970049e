// Nodes on their way through the fast grower, and what a search says of one.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "grow/grow_common.hpp"
#include "grow/histogram_pool.hpp"

namespace spinney::detail {

/// A sum; a short one needs no memory of its own, for there is one in every node.
class NodeSum {
  public:
    NodeSum() = default;
    explicit NodeSum(Size n) : n_(n), more_(n > few ? new Stat[n]() : nullptr) {}
    NodeSum(const NodeSum& other) : NodeSum(other.n_) { std::copy_n(other.data(), n_, data()); }
    NodeSum& operator=(const NodeSum& other) { return *this = NodeSum(other); }
    NodeSum(NodeSum&&) = default;
    NodeSum& operator=(NodeSum&&) = default;
    Stat* data() { return more_ ? more_.get() : few_.data(); }
    const Stat* data() const { return more_ ? more_.get() : few_.data(); }
    Size size() const { return n_; }

  private:
    static constexpr Size few = 3;
    Size n_ = 0;
    std::array<Stat, few> few_{};
    std::unique_ptr<Stat[]> more_;
};

/// A node to be divided: a range of the row list.
struct HistogramWork {
    NodeState state;
    Size begin = 0, end = 0;
    NodeSum total;
    std::unique_ptr<Stat[]> histogram;  // null: none yet
    Size size() const { return end - begin; }
};

/// A threshold that is worked out when the node is divided: the values of a column's codes are spread over
/// memory.
inline constexpr double kNotYet = kImpossible;

/// How a node is best divided.
struct Division {
    Candidate best;
    NodeSum left;      // what goes to child 0; empty: not known
    double drawn = 0;  // where a random cut fell, or kNotYet

    /// Nothing found yet, in the same memory.
    void clear() {
        best.test = Test::leaf;
        best.score = kImpossible;
        best.feature = best.missing = -1;
        best.bins.clear();
        best.seen.clear();
        left = {};
    }
};

/// What the searches of one node share.
template <Layout L, class Criterion>
struct NodeSearch {
    Limits limits;  // of the feature at hand
    Judge<L, Criterion> judge;
    double base = 0, weight = 0, share = 0;

    explicit NodeSearch(const GrowContext& c) : limits(make_limits(c, {})), judge(c.s, nullptr, limits) {}

    /// Turn to a node.
    void begin(const GrowContext& c, const NodeState& state, const Stat* total) {
        limits.lower = state.lower;
        limits.upper = state.upper;
        judge.set_total(total);
        base = judge.quality(total);
        weight = judge.weight(total);
        share = weight / c.all_weight;
    }
};

}  // namespace spinney::detail
