// What the growers share: the rules of stopping, the features to look at, and the bounds of monotone trees.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "split/choose_feature.hpp"
#include "data/code_starts.hpp"
#include "grow/grown_tree.hpp"
#include "grow/options.hpp"
#include "core/thread_pool.hpp"

namespace spinney {

/// What is fixed for the whole tree.
struct GrowContext {
    const CodeMatrix& x;
    const Target& target;
    const Statistics& s;
    const GrowOptions& options;
    const Moments& moments;
    Interrupt& interrupt;
    double all_weight = 0;                 // of the rows in the root
    std::span<const CodeStarts> starts{};  // (n_features,), where byte codes are cut at random
};

/// What every grower knows of a node that it has not yet divided.
struct NodeState {
    Node id = 0;  // in its fragment
    int depth = 0;
    std::uint64_t address = 0;  // of its random draws
    std::uint64_t path = 0;     // the same without the seed
    double lower = kImpossible, upper = -kImpossible;
    std::shared_ptr<const std::vector<bool>> used;  // features that may not be used again; null: none
};

inline double weight_of(const GrowContext& c, const Stat* sum) {
    return static_cast<double>(c.s.weight_steps(sum)) * c.s.weight_unit;
}

/// Do the sums hold one class only, in each output?
inline bool pure_classes(const GrowContext& c, const Stat* total) {
    if (c.s.layout == Layout::packed) {
        const Stat n = total[0] & 0xFFFFFFFFll, second = total[0] >> 32;
        return second == 0 || second == n;
    }
    const int step = c.s.layout == Layout::slots ? c.s.row_words : 1;
    for (int classes : c.target.n_classes) {
        int present = 0;
        for (int k = 0; k < classes; ++k) present += total[k * step] > 0;
        if (present > 1) return false;
        total += classes * step;
    }
    return true;
}

/// Have n rows, those that row_at(i) gives, the same y?
template <class RowAt>
bool pure_values(const GrowContext& c, Size n, RowAt&& row_at) {
    const auto m = static_cast<Size>(c.target.n_outputs);
    const double* first = c.target.values + row_at(0) * m;
    for (Size i = 1; i < n; ++i)
        if (!std::equal(first, first + m, c.target.values + row_at(i) * m)) return false;
    return true;
}

/// Must a node of n rows stay a leaf, whatever its features and its y?
inline bool must_stop(const GrowContext& c, const NodeState& node, const Stat* total, Size n) {
    const GrowOptions& o = c.options;
    return node.depth >= o.max_depth || n < o.min_samples_split || n < 2 * o.min_samples_leaf ||
           weight_of(c, total) < 2 * o.min_weight_leaf;
}

/// The limits of children, in the units of the sums.
inline Limits make_limits(const GrowContext& c, const NodeState& node) {
    const GrowOptions& o = c.options;
    Limits limits;
    limits.min_weight = std::max<Stat>(1, static_cast<Stat>(std::ceil(o.min_weight_leaf / c.s.weight_unit)));
    limits.min_count = o.min_samples_leaf <= 1 ? 0 : static_cast<Stat>(o.min_samples_leaf);
    limits.monotone = !o.monotonic_cst.empty();
    limits.lower = node.lower;
    limits.upper = node.upper;
    return limits;
}

/// The address, within a node's, of the draws of features.
inline constexpr std::uint64_t kFeatureDraws = 0xFEA7;

/// The order in which the node's features are looked at: all of them, or drawn without replacement.
inline std::vector<std::int32_t> feature_order(const GrowContext& c, const NodeState& node) {
    std::vector<std::int32_t> order;
    const auto d = static_cast<std::int32_t>(c.x.columns.size());
    order.reserve(static_cast<Size>(d));
    for (std::int32_t f = 0; f < d; ++f)
        if (!node.used || !(*node.used)[static_cast<Size>(f)]) order.push_back(f);
    if (static_cast<int>(order.size()) > c.options.max_features) {
        Draws draws(mix(node.address, kFeatureDraws));
        for (Size i = 0; i + 1 < order.size(); ++i)
            std::swap(order[i], order[i + draws.below(static_cast<std::uint32_t>(order.size() - i))]);
    }
    return order;
}

/// Look at features until max_features have been seen and at least one of them was not constant.
/// evaluate(features, out) fills one candidate a feature. The result is in ascending order of feature.
template <class Evaluate>
std::vector<Candidate> candidates_of(const GrowContext& c, const NodeState& node, Evaluate&& evaluate) {
    const auto order = feature_order(c, node);
    const Size most = std::min(order.size(), static_cast<Size>(std::max(1, c.options.max_features)));
    std::vector<Candidate> out(most);
    evaluate(std::span(order).first(most), std::span(out));
    Size seen = most;
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

/// Is the best candidate good enough to divide the node?
inline bool acceptable(const GrowOptions& o, const Candidate& best) {
    return best.found() && best.gain >= o.min_gain &&
           best.improvement + std::numeric_limits<double>::epsilon() >= o.min_impurity_decrease;
}

/// What two children answer: their means of y or probabilities of the second class. Only for monotone trees.
inline std::array<double, 2> child_answers(const GrowContext& c, const Candidate& best, const Stat* left,
                                           const Stat* right) {
    if (c.options.monotonic_cst.empty() || best.test == Test::multiway) return {};
    if (c.options.criterion == CriterionName::absolute_error) return best.answers;
    const auto answer = [&](const Stat* sum) {
        double channel[2];
        c.s.decode(sum, channel);
        return c.s.task == Task::regression ? channel[1] / channel[0] + c.s.value_shift[0]
                                            : channel[1] / (channel[0] + channel[1]);
    };
    return {answer(left), answer(right)};
}

/// The child's state after a division; monotone tests bound the answers of the two sides from each other.
inline NodeState child_state(const GrowContext& c, const NodeState& parent, const GrownNode& record,
                             int child, const std::array<double, 2>& answers) {
    NodeState out;
    out.id = record.first_child + child;
    out.depth = parent.depth + 1;
    out.address = mix(parent.address, static_cast<std::uint64_t>(child) + 1);
    out.path = mix(parent.path, static_cast<std::uint64_t>(child) + 1);
    out.lower = parent.lower;
    out.upper = parent.upper;
    out.used = parent.used;
    if (c.options.use_categories_once && record.test == Test::multiway) {
        auto used = out.used ? *out.used : std::vector<bool>(c.x.columns.size(), false);
        used[static_cast<Size>(record.feature)] = true;
        out.used = std::make_shared<const std::vector<bool>>(std::move(used));
    }
    if (c.options.monotonic_cst.empty() || record.test != Test::numeric) return out;
    const int direction = c.options.monotonic_cst[static_cast<Size>(record.feature)];
    if (direction == 0) return out;
    const double middle = answers[0] / 2 + answers[1] / 2;
    if ((direction > 0) == (child == 0))
        out.upper = std::min(out.upper, middle);
    else
        out.lower = std::max(out.lower, middle);
    return out;
}

/// Write down what is known of a node when it is met; leaves also need their moments. `sum`, where it is
/// given, holds them already.
inline void record_node(const GrowContext& c, Fragment& f, const NodeState& state, const NodeRows& rows,
                        bool leaf, const Stat* sum = nullptr) {
    GrownNode& n = f.nodes[static_cast<Size>(state.id)];
    n.n_samples = static_cast<std::uint32_t>(rows.rows.size());
    if (!c.options.monotonic_cst.empty()) f.set_bounds(state.id, state.lower, state.upper);
    if (!leaf && c.moments.mergeable()) return;
    double* out = f.moments.data() + static_cast<Size>(state.id) * static_cast<Size>(c.moments.size());
    if (sum)
        c.moments.of_sum(out, sum);
    else
        c.moments.of_rows(out, rows);
}

/// Say where the values will go that the node has not met, missing ones or categories: to the child with more
/// rows, unless it learned a side for missing values. Fractional rows share missing values out.
inline void place_unmet(Candidate& best, Size left, Size right, bool fractional) {
    const std::int32_t larger = left > right ? 0 : 1;
    best.unseen_left = (best.missing < 0 ? larger : best.missing) == 0;
    if (fractional)
        best.missing = -1;
    else if (best.missing < 0)
        best.missing = larger;
}

/// Divide the node of greatest improvement until there are max_leaf_nodes leaves.
/// search(node) finds node.best or makes the node a leaf; divide(node) gives its children; leave(node) makes
/// a leaf of a node that could have been divided.
template <class Work, class Search, class Divide, class Leave>
void best_first(const GrowContext& c, Work root, Search&& search, Divide&& divide, Leave&& leave) {
    const auto worse = [](const Work& a, const Work& b) {
        if (a.best.improvement != b.best.improvement) return a.best.improvement < b.best.improvement;
        return a.state.id > b.state.id;
    };
    std::vector<Work> heap;
    const auto meet = [&](Work node) {
        search(node);
        if (!node.best.found()) return;
        heap.push_back(std::move(node));
        std::push_heap(heap.begin(), heap.end(), worse);
    };
    meet(std::move(root));
    Size leaves = 1;
    while (!heap.empty() && leaves < c.options.max_leaf_nodes) {
        c.interrupt.poll();
        std::pop_heap(heap.begin(), heap.end(), worse);
        Work node = std::move(heap.back());
        heap.pop_back();
        auto children = divide(node);
        leaves += children.size() - 1;
        for (auto& child : children) meet(std::move(child));
    }
    for (const Work& node : heap) leave(node);
}

}  // namespace spinney
