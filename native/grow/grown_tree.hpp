// The tree as the growers leave it, and its flattening into breadth-first arrays.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "core/thread_pool.hpp"
#include "data/code_matrix.hpp"
#include "grow/flat_tree.hpp"
#include "split/moments.hpp"
#include "split/sweep.hpp"

namespace spinney {

struct LinearTerm {
    std::int32_t feature;
    double coefficient, fill;
};

/// A node within a fragment; there is one for every node of the trees under way, so it is kept short.
struct GrownNode {
    double threshold = std::numeric_limits<double>::quiet_NaN();
    std::int32_t feature = -1;
    std::int32_t missing = -1;
    Node first_child = -1;
    std::int32_t n_children = 0;
    std::int32_t detail = -1;    // place in the fragment's sets, branches or terms
    std::int32_t fragment = -1;  // ≥ 0: this node's subtree was grown apart, as that fragment
    std::uint32_t n_samples = 0;
    Test test = Test::leaf;
};

/// A part of a tree grown by one thread; node 0 is its root.
struct Fragment {
    std::vector<GrownNode> nodes;
    std::vector<double>
        moments;  // (n_nodes, moments.size()): filled at leaves, or everywhere if not mergeable
    std::vector<std::vector<std::uint64_t>> sets;
    std::vector<std::vector<std::int32_t>> branches;
    std::vector<std::vector<LinearTerm>> terms;
    std::vector<LedgerRow> ledger;
    std::vector<std::array<double, 2>> bounds;  // (n_nodes,) between which values are held; empty: no node's

    void set_bounds(Node node, double lower, double upper) {
        bounds.resize(nodes.size(), {kImpossible, -kImpossible});
        bounds[static_cast<Size>(node)] = {lower, upper};
    }

    /// Append n nodes in a row and give the first.
    Node add(int n, int moment_size) {
        const Node first = static_cast<Node>(nodes.size());
        nodes.resize(nodes.size() + static_cast<Size>(n));
        moments.resize(nodes.size() * static_cast<Size>(moment_size), 0.0);
        return first;
    }

    /// Write a chosen test into its node; its children are appended.
    void set_test(Node node, const Candidate& c, const CodeColumn& column, int moment_size) {
        GrownNode n = nodes[static_cast<Size>(node)];
        n.test = c.test;
        n.feature = c.feature;
        n.threshold = c.threshold;
        n.missing = c.missing;
        n.n_children = c.test == Test::multiway ? static_cast<std::int32_t>(c.bins.size()) : 2;
        if (c.test == Test::category_set) {
            n.detail = static_cast<std::int32_t>(sets.size());
            sets.push_back(category_bits(c, column));
        } else if (c.test == Test::multiway) {
            n.detail = static_cast<std::int32_t>(branches.size());
            branches.push_back(category_branches(c, column));
        }
        n.first_child = add(n.n_children, moment_size);
        nodes[static_cast<Size>(node)] = n;
    }

  private:
    /// Categories of child 0.
    static std::vector<std::uint64_t> category_bits(const Candidate& c, const CodeColumn& column) {
        std::vector<std::uint64_t> bits((column.bin_of_category.size() + 63) / 64, 0);
        const auto holds = [](const std::vector<Code>& codes, Code code) {
            return std::binary_search(codes.begin(), codes.end(), code);
        };
        for (Size category = 0; category < column.bin_of_category.size(); ++category) {
            const Code bin = column.bin_of_category[category];
            if (holds(c.bins, bin) || (c.unseen_left && !holds(c.seen, bin)))
                bits[category / 64] |= std::uint64_t{1} << (category % 64);
        }
        // Codes beyond the words go to child 1, so words without a bit need not be kept at the end.
        while (!bits.empty() && bits.back() == 0) bits.pop_back();
        return bits;
    }
    static std::vector<std::int32_t> category_branches(const Candidate& c, const CodeColumn& column) {
        std::vector<std::int32_t> child(column.bin_of_category.size(), -1);
        for (Size category = 0; category < child.size(); ++category) {
            const auto at = std::lower_bound(c.bins.begin(), c.bins.end(), column.bin_of_category[category]);
            if (at != c.bins.end() && *at == column.bin_of_category[category])
                child[category] = static_cast<std::int32_t>(at - c.bins.begin());
        }
        return child;
    }
};

/// A node of a fragment.
struct Place {
    std::int32_t fragment;
    Node node;
};

/// Bring the ledgers of all fragments together, by the nodes' numbers in the whole tree.
inline void write_ledger(std::vector<LedgerRow>& out, const std::vector<Fragment>& fragments,
                         const std::vector<Place>& order) {
    if (std::all_of(fragments.begin(), fragments.end(), [](const auto& f) { return f.ledger.empty(); }))
        return;
    std::vector<std::vector<std::int32_t>> number(fragments.size());
    for (Size f = 0; f < fragments.size(); ++f) number[f].assign(fragments[f].nodes.size(), -1);
    for (Size i = 0; i < order.size(); ++i)
        number[static_cast<Size>(order[i].fragment)][static_cast<Size>(order[i].node)] =
            static_cast<std::int32_t>(i);
    for (Size f = 0; f < fragments.size(); ++f)
        for (LedgerRow row : fragments[f].ledger) {
            row.node = number[f][static_cast<Size>(row.node)];
            out.push_back(row);
        }
    std::stable_sort(out.begin(), out.end(),
                     [](const LedgerRow& a, const LedgerRow& b) { return a.node < b.node; });
}

/// How far ahead nodes are asked for: they were grown in another order than they are read in.
inline constexpr Size kAhead = 16;

/// Look now and then whether the user has stopped the work.
inline void poll_at(Size node, Interrupt* interrupt) {
    if (interrupt && node % 4096 == 0) interrupt->poll();
}

/// Number the nodes of all fragments breadth first (fragment 0 holds the root) and write their tests and
/// ledger. Gives where each node came from; the result does not depend on how the tree was cut into
/// fragments.
inline std::vector<Place> lay_out(FlatTree& out, const std::vector<Fragment>& fragments,
                                  Interrupt* interrupt = nullptr) {
    const auto resolve = [&](Place p) {
        const auto f = fragments[static_cast<Size>(p.fragment)].nodes[static_cast<Size>(p.node)].fragment;
        return f >= 0 ? Place{f, 0} : p;
    };
    Size n_nodes = 1;  // each fragment's root stands for a node of another one
    for (const Fragment& f : fragments) n_nodes += f.nodes.size() - 1;
    out.resize(n_nodes);
    const auto begin = [&](std::vector<std::int64_t>& offsets, auto pool) {
        if (std::all_of(fragments.begin(), fragments.end(),
                        [&](const Fragment& f) { return (f.*pool).empty(); }))
            return false;
        offsets.reserve(n_nodes + 1);
        offsets.push_back(0);
        return true;
    };
    const bool sets = begin(out.set_begin, &Fragment::sets),
               branches = begin(out.branch_begin, &Fragment::branches),
               terms = begin(out.term_begin, &Fragment::terms);
    std::vector<Place> order(n_nodes);
    order[0] = resolve({0, 0});
    Size n_placed = 1;
    for (Size i = 0; i < n_nodes; ++i) {
        poll_at(i, interrupt);
        const Place p = order[i], later = order[std::min(i + kAhead, n_placed - 1)];
        __builtin_prefetch(
            &fragments[static_cast<Size>(later.fragment)].nodes[static_cast<Size>(later.node)]);
        const Fragment& f = fragments[static_cast<Size>(p.fragment)];
        const GrownNode& n = f.nodes[static_cast<Size>(p.node)];
        out.kind[i] = static_cast<std::uint8_t>(n.test);
        out.feature[i] = n.feature;
        out.threshold[i] = n.threshold;
        out.missing[i] = n.missing;
        out.first_child[i] = n.n_children ? static_cast<std::int32_t>(n_placed) : -1;
        out.n_children[i] = n.n_children;
        out.n_samples[i] = n.n_samples;
        for (int c = 0; c < n.n_children; ++c) order[n_placed++] = resolve({p.fragment, n.first_child + c});
        if (n.test == Test::category_set) {
            const auto& bits = f.sets[static_cast<Size>(n.detail)];
            out.set_bits.insert(out.set_bits.end(), bits.begin(), bits.end());
        } else if (n.test == Test::multiway) {
            const auto& branch = f.branches[static_cast<Size>(n.detail)];
            out.branch.insert(out.branch.end(), branch.begin(), branch.end());
        } else if (n.test == Test::linear) {
            for (const auto& t : f.terms[static_cast<Size>(n.detail)]) {
                out.term_feature.push_back(t.feature);
                out.term_coefficient.push_back(t.coefficient);
                out.term_fill.push_back(t.fill);
            }
        }
        if (sets) out.set_begin.push_back(static_cast<std::int64_t>(out.set_bits.size()));
        if (branches) out.branch_begin.push_back(static_cast<std::int64_t>(out.branch.size()));
        if (terms) out.term_begin.push_back(static_cast<std::int64_t>(out.term_feature.size()));
    }
    write_ledger(out.ledger, fragments, order);
    return order;
}

/// Lay out the fragments and work out what each node keeps. The fragments are used up on the way.
inline FlatTree flatten(std::vector<Fragment> fragments, const Moments& moments, const Target& target,
                        Interrupt* interrupt = nullptr) {
    FlatTree out;
    out.n_outputs = target.n_outputs;
    out.width = target.task == Task::classification ? target.max_classes() : 1;
    const std::vector<Place> order = lay_out(out, fragments, interrupt);
    for (Fragment& f : fragments) f.nodes = {};  // room for what comes
    const Size n = order.size(), m = static_cast<Size>(moments.size()),
               values = static_cast<Size>(out.n_outputs * out.width);
    out.weight.resize(n);
    out.impurity.resize(n);
    out.value.assign(n * values, 0.0);
    const auto moments_of = [&](Size i) {
        const Place p = order[i];
        return fragments[static_cast<Size>(p.fragment)].moments.data() + static_cast<Size>(p.node) * m;
    };
    for (Size i = n; i-- > 0;) {
        poll_at(i, interrupt);
        __builtin_prefetch(moments_of(i - std::min(i, kAhead)), 1);
        double* own = moments_of(i);
        if (moments.mergeable())
            for (int c = 0; c < out.n_children[i]; ++c)
                moments.merge(own, moments_of(static_cast<Size>(out.first_child[i] + c)));
        out.weight[i] = moments.weight(own);
        out.impurity[i] = moments.impurity(own);
        const Fragment& f = fragments[static_cast<Size>(order[i].fragment)];
        const auto at = static_cast<Size>(order[i].node);
        const auto [lower, upper] =
            at < f.bounds.size() ? f.bounds[at] : std::array{kImpossible, -kImpossible};
        moments.value(out.value.data() + i * values, out.width, own, lower, upper);
    }
    return out;
}

}  // namespace spinney
