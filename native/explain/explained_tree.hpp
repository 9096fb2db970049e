// One tree as explanations read it: binary splits in depth-first order, with the share of the training weight
// on each side.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predict/ensemble_view.hpp"

namespace spinney {

/// How a row is sent left or right.
enum class TestKind : std::uint8_t { numeric, category_set, category };

/// A binary split. Multiway splits are chains of them, one category set per child, on the same feature.
struct ExplainedSplit {
    double threshold = 0;
    double share = 0;     // of the training weight that goes left, given that the split is reached
    double up_share = 1;  // product of the shares of the edges above that test the same feature
    std::uint32_t column = 0, feature = 0;  // what is read; whose contribution it is. Compact numbers.
    std::int32_t left = 0, right = 0;       // a split, or −1 − leaf
    std::int32_t up = -1;                   // the nearest split above on the same feature
    std::uint32_t depth = 0;
    std::uint32_t slot = 0, n_slots = 0;       // the feature among those of the path; how many of them so far
    std::uint32_t set_begin = 0, set_end = 0;  // words of the sets; `category`: branches with child `branch`
    std::int32_t branch = 0;
    TestKind kind = TestKind::numeric;
    bool missing_left = false;  // unless fractional
    bool fractional = false;    // a missing value goes both ways, by share
    bool on_left = false;       // this is the left child of `parent`
    bool up_on_left = false;    // and it is below the left child of `up`
    std::int32_t parent = -1;
};

/// A tree of an ensemble. Reused from tree to tree: `read` replaces everything.
class ExplainedTree {
  public:
    std::vector<ExplainedSplit> splits;  // depth-first, left before right; empty for a single leaf
    std::vector<double> leaf_values;     // (n_leaves, n_values)
    std::vector<double> base;            // (n_values,): the mean by training weight
    Size n_values = 1, n_leaves = 0, max_depth = 0;
    Size max_features = 0;  // largest number of distinct features on a path

    /// Read the tree that begins at the cursor.  column_of, feature_of (n_features,): compact numbers
    void read(const EnsembleView& trees, Size tree, NodeCursor cursor,
              std::span<const std::uint32_t> column_of, std::span<const std::uint32_t> feature_of);

    /// Whether a value goes left; not for missing values of fractional splits.
    bool goes_left(const ExplainedSplit& split, double x) const {
        if (split.kind == TestKind::numeric)
            return split.missing_left ? !(x > split.threshold) : x <= split.threshold;
        return x == x && x >= 0 ? category_goes_left(split, x) : split.missing_left;
    }

  private:
    static constexpr std::uint32_t max_split_depth = 4096;  // some walks are recursive

    /// A node of the fitted tree, with its children and its entry in the pools.
    struct Source {
        Node first_child, n_children;
        Size pool;
    };
    /// A node, or the rest of a multiway split from one child on, to be added below a split.
    struct Pending {
        Size node;
        Node child;   // −1: the node itself
        double rest;  // share of the children that are left
        std::int32_t parent;
        bool on_left;
    };

    bool category_goes_left(const ExplainedSplit& split, double x) const;
    void read_sources(const EnsembleView& trees, Size tree, NodeCursor cursor);
    void add(const Pending& at);
    void add_leaf(const Pending& at);
    void add_split(const Pending& at, Pending left, Pending right);
    void find_above(ExplainedSplit& split, const Pending& at) const;
    void link(const Pending& at, std::int32_t child);
    void find_base();
    double share_of(Size node, Node child) const;

    const EnsembleView* trees_ = nullptr;
    Size begin_ = 0;
    std::span<const std::uint32_t> column_of_, feature_of_;
    std::vector<Source> sources_;
    std::vector<Pending> pending_;
    std::vector<double> means_;
};

}  // namespace spinney
