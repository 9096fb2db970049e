// The tree as the growers leave it, and its flattening into breadth-first arrays.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/spill.hpp"
#include "core/thread_pool.hpp"
#include "data/code_matrix.hpp"
#include "grow/flat_tree.hpp"
#include "split/candidate.hpp"
#include "split/node_values.hpp"

namespace spinney {

/// A node within a fragment. Kept small: there is one for every node of the trees under construction.
struct GrownNode {
    double threshold = std::numeric_limits<double>::quiet_NaN();
    std::int32_t feature = -1;
    std::int32_t missing = -1;
    Node first_child = -1;
    std::int32_t n_children = 0;
    std::int32_t detail = -1;    // index into the fragment's sets, branches or terms
    std::int32_t fragment = -1;  // ≥ 0: the subtree of this node was grown separately, as that fragment
    std::uint32_t n_samples = 0;
    std::int32_t values = -1;  // ≥ 0: its first entry in the fragment's node_values or class_weights
    SplitKind kind = SplitKind::leaf;
};

/// A class of a leaf. Most leaves have few of many classes.
struct ClassWeight {
    double weight;
    std::uint32_t code;
    std::uint32_t n_more;  // entries of the same leaf that follow
};

/// Part of a tree grown by one thread; node 0 is its root.
struct Fragment {
    std::vector<GrownNode> nodes;
    std::vector<double> node_values;         // (…, NodeValues::size()): of leaves, or of all if not mergeable
    std::vector<ClassWeight> class_weights;  // of leaves instead, if NodeValues::exact()
    std::vector<std::vector<std::uint64_t>> sets;
    std::vector<std::vector<std::int32_t>> branches;
    std::vector<std::vector<LinearTerm>> terms;
    std::vector<LedgerRow> ledger;
    std::vector<std::array<double, 2>> bounds;  // (n_nodes,) of node values; empty: unbounded

    void set_bounds(Node node, double lower, double upper) {
        bounds.resize(nodes.size(), {kImpossible, -kImpossible});
        bounds[static_cast<Size>(node)] = {lower, upper};
    }

    /// Remove all nodes, keeping the memory.
    void clear() {
        nodes.clear();
        node_values.clear();
        class_weights.clear();
        sets.clear();
        branches.clear();
        terms.clear();
        ledger.clear();
        bounds.clear();
    }

    /// Append n consecutive nodes and return the first.
    Node add(int n) {
        const Node first = static_cast<Node>(nodes.size());
        nodes.resize(nodes.size() + static_cast<Size>(n));
        return first;
    }

    /// Write a split into its node and append the children.
    void set_split(Node node, const Candidate& c, const CodeMatrix& x);

    /// Make room for the values of a node, once.  -> (size,)
    double* add_values(Node node, int size) {
        std::int32_t& first = nodes[static_cast<Size>(node)].values;
        if (first < 0) {
            first = static_cast<std::int32_t>(node_values.size() / static_cast<Size>(size));
            node_values.resize(node_values.size() + static_cast<Size>(size));
        }
        return node_values.data() + static_cast<Size>(first) * static_cast<Size>(size);
    }

    /// Store the classes of a leaf.  weights (n,): of all classes
    void add_classes(Node node, std::span<const double> weights);
};

/// Memory that a tree leaves to the next one of the same thread: new pages take longer than a small tree.
struct GrowMemory {
    std::vector<Fragment> fragments;
    FlatTree tree;
    std::vector<double> moments;  // (n_nodes, NodeValues::size())
};

/// A node of a fragment.
struct NodeRef {
    std::int32_t fragment;
    Node node;
    std::int32_t values;  // GrownNode::values
};

/// Number the nodes of all fragments breadth first (fragment 0 contains the root) and write their splits and
/// ledger. Returns the origin of each node; the result does not depend on the division into fragments.
RowVector<NodeRef> lay_out(FlatTree& out, const std::vector<Fragment>& fragments,
                           Interrupt* interrupt = nullptr);

/// Lay out the fragments, which are consumed, and compute the values of all nodes.
void flatten(GrowMemory& memory, const NodeValues& node_values, const Target& target,
             Interrupt* interrupt = nullptr);
inline FlatTree flatten(std::vector<Fragment> fragments, const NodeValues& node_values,
                        const Target& target) {
    GrowMemory memory{std::move(fragments), {}, {}};
    flatten(memory, node_values, target);
    return std::move(memory.tree);
}

}  // namespace spinney
