#include "explain/explained_tree.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace spinney {

void ExplainedTree::read(const EnsembleView& trees, Size tree, NodeCursor cursor,
                         std::span<const std::uint32_t> column_of,
                         std::span<const std::uint32_t> feature_of) {
    trees_ = &trees;
    begin_ = trees.begin(tree);
    column_of_ = column_of;
    feature_of_ = feature_of;
    n_values = trees.n_values();
    n_leaves = max_depth = max_features = 0;
    splits.clear();
    leaf_values.clear();
    read_sources(trees, tree, cursor);
    pending_.assign(1, {0, -1, 1, -1, false});
    while (!pending_.empty()) {
        const Pending at = pending_.back();
        pending_.pop_back();
        add(at);
    }
    find_base();
}

void ExplainedTree::read_sources(const EnsembleView& trees, Size tree, NodeCursor cursor) {
    sources_.resize(trees.size(tree));
    cursor.enter_tree();
    for (Source& source : sources_) {
        const SplitKind kind = trees.split(cursor.node);
        if (kind == SplitKind::linear)
            throw std::invalid_argument("oblique splits have no contribution per feature");
        source = {cursor.first_child, cursor.n_children(trees),
                  kind == SplitKind::multiway ? cursor.n_multiway : cursor.n_sets};
        cursor.advance(trees);
    }
}

/// The part of a node's training weight that is in a child, as fractional instances are divided.
double ExplainedTree::share_of(Size node, Node child) const {
    const Source& source = sources_[node];
    const double weight = trees_->weight[begin_ + node];
    if (!(weight > 0)) return 1.0 / source.n_children;
    return trees_->weight[begin_ + static_cast<Size>(source.first_child + child)] / weight;
}

void ExplainedTree::link(const Pending& at, std::int32_t child) {
    if (at.parent < 0) return;
    ExplainedSplit& parent = splits[static_cast<Size>(at.parent)];
    (at.on_left ? parent.left : parent.right) = child;
}

void ExplainedTree::add_leaf(const Pending& at) {
    const double* value = trees_->value.data() + (begin_ + at.node) * n_values;
    leaf_values.insert(leaf_values.end(), value, value + n_values);
    link(at, -1 - static_cast<std::int32_t>(n_leaves++));
}

void ExplainedTree::add(const Pending& at) {
    const SplitKind kind = trees_->split(begin_ + at.node);
    const Source& source = sources_[at.node];
    // A category without a branch stays at a multiway node, which no training row does.
    const bool stays = kind == SplitKind::multiway && at.child == source.n_children;
    if (kind == SplitKind::leaf || stays) return add_leaf(at);
    const auto child = [&](Node c) { return static_cast<Size>(source.first_child + c); };
    if (kind == SplitKind::multiway) {
        const Node c = std::max(at.child, 0);
        const double rest = at.child < 0 ? 1 : at.rest;
        return add_split({at.node, c, rest, at.parent, at.on_left}, {child(c), -1, 1, 0, true},
                         {at.node, c + 1, rest - share_of(at.node, c), 0, false});
    }
    add_split(at, {child(0), -1, 1, 0, true}, {child(1), -1, 1, 0, false});
}

/// Find the nearest split above on the same feature, and the shares of the feature's edges down to here.
void ExplainedTree::find_above(ExplainedSplit& split, const Pending& at) const {
    bool on_left = at.on_left;
    if (at.parent >= 0) {
        const ExplainedSplit& parent = splits[static_cast<Size>(at.parent)];
        split.depth = parent.depth + 1;
        split.slot = parent.n_slots;
    }
    for (std::int32_t i = at.parent; i >= 0; i = splits[static_cast<Size>(i)].parent) {
        const ExplainedSplit& above = splits[static_cast<Size>(i)];
        if (above.feature == split.feature) {
            split.up = i;
            split.up_on_left = on_left;
            split.slot = above.slot;
            split.up_share = above.up_share * (on_left ? above.share : 1 - above.share);
            if (above.fractional != split.fractional)
                throw std::invalid_argument("one path has several rules for missing values of a feature");
            break;
        }
        on_left = above.on_left;
    }
    const std::uint32_t before = at.parent < 0 ? 0 : splits[static_cast<Size>(at.parent)].n_slots;
    split.n_slots = std::max(before, split.slot + 1);
}

void ExplainedTree::add_split(const Pending& at, Pending left, Pending right) {
    const Size node = begin_ + at.node;
    const Source& source = sources_[at.node];
    const SplitKind kind = trees_->split(node);
    const auto feature = static_cast<Size>(trees_->feature[node]);
    const Node missing = trees_->missing(node);
    ExplainedSplit split;
    split.column = column_of_[feature];
    split.feature = feature_of_[feature];
    split.threshold = trees_->threshold[node];
    split.fractional = missing < 0;
    split.missing_left = missing == std::max(at.child, 0);
    split.parent = at.parent;
    split.on_left = at.on_left;
    split.share = std::clamp(share_of(at.node, std::max(at.child, 0)), 0.0, 1.0);
    if (kind == SplitKind::multiway) {
        split.kind = TestKind::category;
        split.branch = at.child;
        split.set_begin = static_cast<std::uint32_t>(trees_->branch_begin[source.pool]);
        split.set_end = static_cast<std::uint32_t>(trees_->branch_begin[source.pool + 1]);
        const bool last = at.child + 1 == source.n_children;
        split.share = last ? 1 : at.rest > 0 ? std::clamp(split.share / at.rest, 0.0, 1.0) : 0.5;
    } else if (kind == SplitKind::category_set) {
        split.kind = TestKind::category_set;
        split.set_begin = static_cast<std::uint32_t>(trees_->set_begin[source.pool]);
        split.set_end = static_cast<std::uint32_t>(trees_->set_begin[source.pool + 1]);
    }
    find_above(split, at);
    if (split.depth > max_split_depth) throw std::invalid_argument("a tree is too deep to be explained");
    const auto here = static_cast<std::int32_t>(splits.size());
    splits.push_back(split);
    link(at, here);
    max_depth = std::max<Size>(max_depth, split.depth + 1);
    max_features = std::max<Size>(max_features, split.n_slots);
    left.parent = right.parent = here;
    pending_.push_back(right);
    pending_.push_back(left);
}

bool ExplainedTree::category_goes_left(const ExplainedSplit& split, double x) const {
    // The limit is beyond every set and keeps the conversion defined.
    const std::uint64_t code = x < 4294967296.0 ? static_cast<std::uint64_t>(x) : ~0ull;
    const Size n = split.set_end - split.set_begin;
    if (split.kind == TestKind::category)
        return code < n && trees_->branch[split.set_begin + code] == split.branch;
    return code / 64 < n && (trees_->set_bits[split.set_begin + code / 64] >> code % 64 & 1);
}

/// The means by training weight, from the last split to the first: children come after their parents.
void ExplainedTree::find_base() {
    if (splits.empty()) {
        base.assign(leaf_values.begin(), leaf_values.end());
        return;
    }
    means_.resize(splits.size() * n_values);
    for (Size i = splits.size(); i-- > 0;) {
        const ExplainedSplit& split = splits[i];
        const auto of = [&](std::int32_t child) {
            return child < 0 ? &leaf_values[static_cast<Size>(-1 - child) * n_values]
                             : &means_[static_cast<Size>(child) * n_values];
        };
        const double *left = of(split.left), *right = of(split.right);
        for (Size k = 0; k < n_values; ++k)
            means_[i * n_values + k] = right[k] + split.share * (left[k] - right[k]);
    }
    base.assign(means_.begin(), means_.begin() + static_cast<std::ptrdiff_t>(n_values));
}

}  // namespace spinney
