// Rules that the growers share: stopping, the features to search, monotonic bounds, best-first growth.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "grow/grown_tree.hpp"
#include "split/choose_feature.hpp"
#include "split/context.hpp"
#include "split/scorer.hpp"

namespace spinney {

/// Whether the sums contain a single class in each output.
inline bool pure_classes(const GrowContext& c, const Stat* total) {
    if (c.s.layout == Layout::packed) {
        const Stat n = total[0] & kLowHalf, second = total[0] >> 32;
        return second == 0 || second == n;
    }
    const int step = c.s.layout == Layout::by_class ? c.s.row_width : 1;
    for (int classes : c.target.n_classes) {
        int present = 0;
        for (int k = 0; k < classes; ++k) present += total[k * step] > 0;
        if (present > 1) return false;
        total += classes * step;
    }
    return true;
}

/// Whether the n rows row_at(i) have the same y.
template <class RowAt>
bool pure_values(const GrowContext& c, Size n, RowAt&& row_at) {
    const auto m = static_cast<Size>(c.target.n_outputs);
    const double* first = c.target.values + row_at(0) * m;
    for (Size i = 1; i < n; ++i)
        if (!std::equal(first, first + m, c.target.values + row_at(i) * m)) return false;
    return true;
}

/// Whether a node of n rows must stay a leaf regardless of its features and targets.
inline bool must_stop(const GrowContext& c, const NodeState& node, const Stat* total, Size n) {
    const GrowOptions& o = c.options;
    return node.depth >= o.max_depth || n < o.min_samples_split || n < 2 * o.min_samples_leaf ||
           (o.min_weight_leaf > 0 && weight_of(c, total) < 2 * o.min_weight_leaf);
}

/// Search features until max_features have been searched and at least one of them was not constant.
/// evaluate(features, out) fills in one candidate per feature. The result is in ascending order of feature.
template <class Evaluate>
std::vector<Candidate> collect_candidates(const GrowContext& c, const NodeState& node, Evaluate&& evaluate) {
    const auto order = feature_order(c, node);
    const Size n_first = std::min(order.size(), static_cast<Size>(std::max(1, c.options.max_features)));
    std::vector<Candidate> out(n_first);
    evaluate(std::span(order).first(n_first), std::span(out));
    Size seen = n_first;
    while (seen < order.size() &&
           std::all_of(out.begin(), out.end(), [](const auto& k) { return k.constant; })) {
        out.emplace_back();
        evaluate(std::span(order).subspan(seen++, 1), std::span(out).last(1));
    }
    const auto ascending = [](const auto& a, const auto& b) { return a.feature < b.feature; };
    if (!std::is_sorted(out.begin(), out.end(), ascending))
        std::stable_sort(out.begin(), out.end(), ascending);
    return out;
}

/// Whether the best candidate is good enough to split the node.
inline bool is_acceptable(const GrowOptions& o, double gain, double improvement) {
    return gain >= o.min_gain &&
           improvement + std::numeric_limits<double>::epsilon() >= o.min_impurity_decrease;
}
inline bool is_acceptable(const GrowOptions& o, const Candidate& best) {
    return best.found() && is_acceptable(o, best.gain, best.improvement);
}

/// Values of two children with monotonic constraints: means of y or probabilities of the second class.
inline std::array<double, 2> child_values(const GrowContext& c, const Candidate& best, const Stat* left,
                                          const Stat* right) {
    if (c.options.monotonic_cst.empty() || best.kind == SplitKind::multiway) return {};
    if (c.options.criterion == CriterionName::absolute_error) return best.child_values;
    const auto value = [&](const Stat* sum) {
        double channel[2] = {};
        c.s.decode(sum, channel);
        return c.s.task == Task::regression ? channel[1] / channel[0] + c.s.value_shift[0]
                                            : channel[1] / (channel[0] + channel[1]);
    };
    return {value(left), value(right)};
}

/// State of a child after a split; a split on a constrained feature bounds the values of both sides.
inline NodeState child_state(const GrowContext& c, const NodeState& parent, const GrownNode& record,
                             int child, const std::array<double, 2>& child_values) {
    NodeState out;
    out.id = record.first_child + child;
    out.depth = parent.depth + 1;
    out.address = mix(parent.address, static_cast<std::uint64_t>(child) + 1);
    out.path = mix(parent.path, static_cast<std::uint64_t>(child) + 1);
    out.lower = parent.lower;
    out.upper = parent.upper;
    out.used = parent.used;
    if (c.options.use_categories_once && record.kind == SplitKind::multiway) {
        auto used = out.used ? *out.used : std::vector<bool>(c.x.columns.size(), false);
        used[static_cast<Size>(record.feature)] = true;
        out.used = std::make_shared<const std::vector<bool>>(std::move(used));
    }
    if (c.options.monotonic_cst.empty() || record.kind != SplitKind::numeric) return out;
    const int direction = c.options.monotonic_cst[static_cast<Size>(record.feature)];
    if (direction == 0) return out;
    const double middle = child_values[0] / 2 + child_values[1] / 2;
    if ((direction > 0) == (child == 0))
        out.upper = std::min(out.upper, middle);
    else
        out.lower = std::max(out.lower, middle);
    return out;
}

/// Store the classes of a leaf, which follow from `sum` if given.
[[gnu::noinline]] inline void record_classes(const GrowContext& c, Fragment& f, Node leaf,
                                             const NodeRows& rows, const Stat* sum) {
    Buffer<double, 128> weights(static_cast<Size>(c.node_values.size()));
    if (sum)
        c.node_values.from_sum(weights.data(), sum);
    else
        c.node_values.from_rows(weights.data(), rows);
    f.add_classes(leaf, {weights.data(), static_cast<Size>(c.node_values.size())});
}

/// Record a node once it was searched; leaves also need their node values, which follow from `sum` if given.
inline void record_node(const GrowContext& c, Fragment& f, const NodeState& state, const NodeRows& rows,
                        bool leaf, const Stat* sum = nullptr) {
    GrownNode& n = f.nodes[static_cast<Size>(state.id)];
    n.n_samples = static_cast<std::uint32_t>(rows.rows.size());
    if (!c.options.monotonic_cst.empty()) f.set_bounds(state.id, state.lower, state.upper);
    if (!leaf && c.node_values.mergeable()) return;
    if (c.node_values.exact()) return record_classes(c, f, state.id, rows, sum);
    c.node_values.from_rows(f.add_values(state.id, c.node_values.size()), rows);
}

/// Set the child of values that are not in the node, missing ones or categories: the child with more rows,
/// unless a missing direction was learned. With fractional instances missing values go to all children.
inline void assign_unseen(Candidate& best, Size left, Size right, bool fractional) {
    const std::int32_t larger = left > right ? 0 : 1;
    best.unseen_left = (best.missing < 0 ? larger : best.missing) == 0;
    if (fractional)
        best.missing = -1;
    else if (best.missing < 0)
        best.missing = larger;
}

/// Rows that depth-first growth visits between two polls of the interrupt: a poll reads the clock, which
/// takes as long as a small node.
inline constexpr Size kRowsPerPoll = 4096;

/// Depth-first growth. expand(node, stack) searches a node and pushes its children. Nodes of fewer rows than
/// `deferred_below` are returned, linked as fragments 1, 2, ….
template <class Work, class Expand>
std::vector<Work> depth_first(const GrowContext& c, Fragment& f, Work first, Size deferred_below,
                              Expand&& expand) {
    std::vector<Work> stack, deferred;
    stack.push_back(std::move(first));
    Size visited = kRowsPerPoll;
    while (!stack.empty()) {
        Work node = std::move(stack.back());
        stack.pop_back();
        visited += node.size() + 16;  // a node costs something besides its rows
        if (visited >= kRowsPerPoll) {
            c.interrupt.poll();
            visited = 0;
        }
        if (node.size() >= deferred_below) {
            expand(node, stack);
            continue;
        }
        deferred.push_back(std::move(node));
        f.nodes[static_cast<Size>(deferred.back().state.id)].fragment =
            static_cast<std::int32_t>(deferred.size());
    }
    return deferred;
}

/// Grow the subtrees of deferred nodes, each by one thread as a fragment: grow(fragment, node, thread).
template <class Work, class Grow>
void grow_deferred(const GrowContext& c, std::vector<Fragment>& fragments, std::vector<Work> deferred,
                   Grow&& grow) {
    fragments.resize(1 + deferred.size());
    Pool::shared().parallel_for(
        c.options.n_threads, deferred.size(),
        [&](Size i, int thread) {
            fragments[i + 1].add(1);
            deferred[i].state.id = 0;
            grow(fragments[i + 1], std::move(deferred[i]), thread);
        },
        &c.interrupt);
}

/// Best-first (leaf-wise) growth: split the node of largest improvement until there are max_leaf_nodes
/// leaves. search(node) finds node.best or makes the node a leaf; split(node) returns its children;
/// finalize_leaf(node) makes a leaf of a node that could still be split.
template <class Work, class Search, class Split, class Finalize>
void best_first(const GrowContext& c, Work root, Search&& search, Split&& split, Finalize&& finalize_leaf) {
    const auto worse = [](const Work& a, const Work& b) {
        if (a.best.improvement != b.best.improvement) return a.best.improvement < b.best.improvement;
        return a.state.id > b.state.id;
    };
    std::vector<Work> frontier;  // a heap
    const auto enqueue = [&](Work node) {
        search(node);
        if (!node.best.found()) return;
        frontier.push_back(std::move(node));
        std::push_heap(frontier.begin(), frontier.end(), worse);
    };
    const auto pop_best = [&] {
        std::pop_heap(frontier.begin(), frontier.end(), worse);
        Work node = std::move(frontier.back());
        frontier.pop_back();
        return node;
    };
    enqueue(std::move(root));
    Size leaves = 1;
    while (!frontier.empty() && leaves < c.options.max_leaf_nodes) {
        c.interrupt.poll();
        Work node = pop_best();
        auto children = split(node);
        leaves += children.size() - 1;
        for (auto& child : children) enqueue(std::move(child));
    }
    for (const Work& node : frontier) finalize_leaf(node);
}

}  // namespace spinney
