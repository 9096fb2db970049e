// A fitted tree as prediction reads it: checked once, then copied into nodes that are quick to walk.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/types.hpp"

namespace spinney {

enum class TestKind : std::uint8_t { leaf, numeric, category_set, multiway, linear };

/// The arrays of TreeArrays, borrowed; see ARCHITECTURE.md for what each means.
struct TreeView {
    std::span<const std::uint8_t> kind;
    std::span<const std::int32_t> feature;
    std::span<const double> threshold;
    std::span<const std::int32_t> first_child, n_children, missing;
    std::span<const double> weight;
    std::span<const std::int64_t> set_begin;
    std::span<const std::uint64_t> set_bits;
    std::span<const std::int64_t> branch_begin;
    std::span<const std::int32_t> branch;
    std::span<const std::int64_t> term_begin;
    std::span<const std::int32_t> term_feature;
    std::span<const double> term_coefficient, term_fill;
    Size n_features = 0;
};

namespace detail {

inline void require(bool sound, const char* what, Size node) {
    if (!sound) throw std::invalid_argument("tree node " + std::to_string(node) + ": " + what);
}

inline void check_pool(std::span<const std::int64_t> begin, Size pool, Size n_nodes, const char* what) {
    require(begin.size() == n_nodes + 1 && begin[0] == 0, what, 0);
    for (Size t = 0; t < n_nodes; ++t) require(begin[t] <= begin[t + 1], what, t);
    require(static_cast<Size>(begin[n_nodes]) == pool, what, n_nodes);
}

inline void check_node(const TreeView& tree, Size t) {
    const auto n = static_cast<std::int64_t>(tree.kind.size());
    const auto n_features = static_cast<std::int64_t>(tree.n_features);
    require(tree.kind[t] <= static_cast<std::uint8_t>(TestKind::linear), "unknown kind", t);
    const auto kind = static_cast<TestKind>(tree.kind[t]);
    if (kind == TestKind::leaf) return;
    const std::int64_t first = tree.first_child[t], children = tree.n_children[t];
    // Children come after their parent, so a walk always ends.
    require(first > static_cast<std::int64_t>(t) && children > 0 && first + children <= n,
            "children out of range", t);
    require(kind == TestKind::multiway || children == 2, "a two-way test needs two children", t);
    require(tree.missing[t] >= -1 && tree.missing[t] < children, "missing child out of range", t);
    if (kind != TestKind::linear) {
        require(tree.feature[t] >= 0 && tree.feature[t] < n_features, "feature out of range", t);
    }
    if (kind == TestKind::multiway) {
        for (auto i = tree.branch_begin[t]; i < tree.branch_begin[t + 1]; ++i) {
            const auto child = tree.branch[static_cast<Size>(i)];
            require(child >= -1 && child < children, "branch out of range", t);
        }
    }
    if (kind == TestKind::linear) {
        for (auto i = tree.term_begin[t]; i < tree.term_begin[t + 1]; ++i) {
            const auto j = tree.term_feature[static_cast<Size>(i)];
            require(j >= 0 && j < n_features, "term feature out of range", t);
        }
    }
}

}  // namespace detail

/// Throw std::invalid_argument unless a walk down the tree stays inside its arrays and ends.
inline void check_tree(const TreeView& tree) {
    const Size n = tree.kind.size();
    detail::require(n > 0, "a tree has at least one node", 0);
    const bool lengths = tree.feature.size() == n && tree.threshold.size() == n &&
                         tree.first_child.size() == n && tree.n_children.size() == n &&
                         tree.missing.size() == n && tree.weight.size() == n &&
                         tree.term_coefficient.size() == tree.term_feature.size() &&
                         tree.term_fill.size() == tree.term_feature.size();
    detail::require(lengths && n < 0x7fffffff && tree.n_features < 0x7fffffff, "arrays differ in length", 0);
    detail::check_pool(tree.set_begin, tree.set_bits.size(), n, "set_begin out of range");
    detail::check_pool(tree.branch_begin, tree.branch.size(), n, "branch_begin out of range");
    detail::check_pool(tree.term_begin, tree.term_feature.size(), n, "term_begin out of range");
    for (Size t = 0; t < n; ++t) detail::check_node(tree, t);
}

/// A numeric two-way test in 16 bytes: four to a cache line. A leaf is a test that always leads back to
/// itself.
struct alignas(16) PackedNode {
    double threshold;
    std::uint32_t feature_missing;  // feature << 1 | (a missing value goes to child 1)
    Node child;                     // child 0; child 1 follows it

    std::uint32_t feature() const { return feature_missing >> 1; }

    Node next(double x) const {
        const bool missing_right = (feature_missing & 1) != 0;
        return child + static_cast<Node>((x > threshold) | ((x != x) & missing_right));
    }
};

/// Any test; `begin` and `end` are its part of the pool that belongs to its kind.
struct AnyNode {
    double threshold;
    double share;  // of its parent's weight
    Node first_child;
    std::int32_t n_children, missing, feature;
    std::uint32_t begin, end;
    TestKind kind;
};

/// One tree, copied. `packed` is filled when all tests are numeric and send missing values one way, else
/// `nodes`.
struct TreeLayout {
    std::vector<PackedNode> packed;
    std::vector<AnyNode> nodes;
    std::vector<std::uint64_t> set_bits;
    std::vector<std::int32_t> branch;
    struct Term {
        double coefficient, fill;
        std::int32_t feature;
    };
    std::vector<Term> terms;
    std::vector<std::uint32_t> used_features;  // rising
    Size n_features = 0, n_nodes = 0;

    TreeLayout() = default;
    explicit TreeLayout(const TreeView& tree) {
        check_tree(tree);
        n_features = tree.n_features;
        n_nodes = tree.kind.size();
        note_features(tree);
        if (is_simple(tree)) {
            pack(tree);
        } else {
            copy(tree);
        }
    }

    bool simple() const { return !packed.empty(); }
    Size size() const { return n_nodes; }

  private:
    static bool is_simple(const TreeView& tree) {
        for (Size t = 0; t < tree.kind.size(); ++t) {
            const auto kind = static_cast<TestKind>(tree.kind[t]);
            if (kind != TestKind::leaf && (kind != TestKind::numeric || tree.missing[t] < 0)) return false;
        }
        return true;
    }

    void note_features(const TreeView& tree) {
        std::vector<bool> used(tree.n_features, false);
        for (Size t = 0; t < tree.kind.size(); ++t) {
            const auto kind = static_cast<TestKind>(tree.kind[t]);
            if (kind != TestKind::leaf && kind != TestKind::linear)
                used[static_cast<Size>(tree.feature[t])] = true;
        }
        for (auto j : tree.term_feature) used[static_cast<Size>(j)] = true;
        for (Size j = 0; j < used.size(); ++j) {
            if (used[j]) used_features.push_back(static_cast<std::uint32_t>(j));
        }
    }

    void pack(const TreeView& tree) {
        packed.resize(n_nodes);
        for (Size t = 0; t < n_nodes; ++t) {
            if (static_cast<TestKind>(tree.kind[t]) == TestKind::leaf) {
                packed[t] = {std::numeric_limits<double>::infinity(), 0, static_cast<Node>(t)};
                continue;
            }
            const auto feature = static_cast<std::uint32_t>(tree.feature[t]);
            packed[t] = {tree.threshold[t], feature << 1 | (tree.missing[t] == 1 ? 1u : 0u),
                         tree.first_child[t]};
        }
    }

    void copy(const TreeView& tree) {
        nodes.resize(n_nodes);
        for (Size t = 0; t < n_nodes; ++t) {
            const auto kind = static_cast<TestKind>(tree.kind[t]);
            AnyNode& node = nodes[t];
            node = {tree.threshold[t],
                    node.share,
                    tree.first_child[t],
                    tree.n_children[t],
                    tree.missing[t],
                    tree.feature[t],
                    0,
                    0,
                    kind};
            const auto* begin = kind == TestKind::category_set ? &tree.set_begin[t]
                                : kind == TestKind::multiway   ? &tree.branch_begin[t]
                                                               : &tree.term_begin[t];
            node.begin = static_cast<std::uint32_t>(begin[0]);
            node.end = static_cast<std::uint32_t>(begin[1]);
            if (kind == TestKind::leaf) node.n_children = 0;
            for (Node c = 0; c < node.n_children; ++c) {
                const Size child = static_cast<Size>(node.first_child + c);
                const bool weighted = tree.weight[t] > 0;
                nodes[child].share = weighted ? tree.weight[child] / tree.weight[t] : 1.0 / node.n_children;
            }
        }
        set_bits.assign(tree.set_bits.begin(), tree.set_bits.end());
        branch.assign(tree.branch.begin(), tree.branch.end());
        terms.resize(tree.term_feature.size());
        for (Size i = 0; i < terms.size(); ++i) {
            terms[i] = {tree.term_coefficient[i], tree.term_fill[i], tree.term_feature[i]};
        }
    }
};

}  // namespace spinney
