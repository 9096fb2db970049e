// Fragments and their flattening into breadth-first arrays.
#include "grow/grown_tree.hpp"

#include <algorithm>
#include <cstring>

#include "simd/vectors.hpp"

namespace spinney {

namespace {

/// Bits of the categories of child 0.
std::vector<std::uint64_t> category_bits(const Candidate& c, const CodeColumn& column) {
    std::vector<std::uint64_t> bits((column.bin_of_category.size() + 63) / 64, 0);
    const auto holds = [](const std::vector<Code>& codes, Code code) {
        return std::binary_search(codes.begin(), codes.end(), code);
    };
    for (Size category = 0; category < column.bin_of_category.size(); ++category) {
        const Code bin = column.bin_of_category[category];
        if (holds(c.bins, bin) || (c.unseen_left && !holds(c.seen, bin)))
            bits[category / 64] |= std::uint64_t{1} << (category % 64);
    }
    // Categories beyond the stored words go to child 1, so trailing zero words are dropped.
    while (!bits.empty() && bits.back() == 0) bits.pop_back();
    return bits;
}
std::vector<std::int32_t> category_branches(const Candidate& c, const CodeColumn& column) {
    std::vector<std::int32_t> child(column.bin_of_category.size(), -1);
    for (Size category = 0; category < child.size(); ++category) {
        const auto at = std::lower_bound(c.bins.begin(), c.bins.end(), column.bin_of_category[category]);
        if (at != c.bins.end() && *at == column.bin_of_category[category])
            child[category] = static_cast<std::int32_t>(at - c.bins.begin());
    }
    return child;
}

/// Merge the ledgers of all fragments, with the node numbers of the whole tree.
void write_ledger(std::vector<LedgerRow>& out, const std::vector<Fragment>& fragments,
                  const RowVector<NodeRef>& order) {
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

/// Nodes from which a tree does not leave its memory to the next one.
constexpr Size kManyNodes = Size{1} << 18;

/// Prefetch distance: nodes were grown in another order than they are read in.
constexpr Size kAhead = 16;

/// Check now and then whether the user has interrupted the fit.
void poll_at(Size node, Interrupt* interrupt) {
    if (interrupt && node % 4096 == 0) interrupt->poll();
}

}  // namespace

void Fragment::set_split(Node node, const Candidate& c, const CodeMatrix& x) {
    GrownNode n = nodes[static_cast<Size>(node)];
    n.kind = c.kind;
    n.feature = c.feature;
    n.threshold = c.threshold;
    n.missing = c.missing;
    n.n_children = c.kind == SplitKind::multiway ? static_cast<std::int32_t>(c.bins.size()) : 2;
    const auto keep = [&](auto& list, auto detail) {
        n.detail = static_cast<std::int32_t>(list.size());
        list.push_back(std::move(detail));
    };
    if (c.kind == SplitKind::category_set) {
        keep(sets, category_bits(c, x.columns[static_cast<Size>(c.feature)]));
    } else if (c.kind == SplitKind::multiway) {
        keep(branches, category_branches(c, x.columns[static_cast<Size>(c.feature)]));
    } else if (c.kind == SplitKind::linear) {
        keep(terms, c.terms);
    }
    n.first_child = add(n.n_children);
    nodes[static_cast<Size>(node)] = n;
}

void Fragment::add_classes(Node node, std::span<const double> weights) {
    nodes[static_cast<Size>(node)].values = static_cast<std::int32_t>(class_weights.size());
    const Size first = class_weights.size();
    for (Size k = 0; k < weights.size(); ++k)
        if (weights[k] > 0) class_weights.push_back({weights[k], static_cast<std::uint32_t>(k), 0});
    if (class_weights.size() == first) nodes[static_cast<Size>(node)].values = -1;
    for (Size i = first; i < class_weights.size(); ++i)
        class_weights[i].n_more = static_cast<std::uint32_t>(class_weights.size() - 1 - i);
}

RowVector<NodeRef> lay_out(FlatTree& out, const std::vector<Fragment>& fragments, Interrupt* interrupt) {
    const auto resolve = [&](NodeRef p) {
        while (true) {  // the root of a fragment may be another fragment, too
            const auto f = fragments[static_cast<Size>(p.fragment)].nodes[static_cast<Size>(p.node)].fragment;
            if (f < 0) return p;
            p = {f, 0, -1};
        }
    };
    Size n_nodes = 1;  // the root of each fragment is a node of another one
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
    RowVector<NodeRef> order(n_nodes);
    order[0] = resolve({0, 0, -1});
    Size n_numbered = 1;
    for (Size i = 0; i < n_nodes; ++i) {
        poll_at(i, interrupt);
        const NodeRef p = order[i], later = order[std::min(i + kAhead, n_numbered - 1)];
        __builtin_prefetch(
            &fragments[static_cast<Size>(later.fragment)].nodes[static_cast<Size>(later.node)]);
        const Fragment& f = fragments[static_cast<Size>(p.fragment)];
        const GrownNode& n = f.nodes[static_cast<Size>(p.node)];
        order[i].values = n.values;
        out.kind[i] = static_cast<std::uint8_t>(n.kind);
        out.feature[i] = n.feature;
        out.threshold[i] = n.threshold;
        out.missing[i] = n.missing;
        out.first_child[i] = n.n_children ? static_cast<std::int32_t>(n_numbered) : -1;
        out.n_children[i] = n.n_children;
        out.n_samples[i] = n.n_samples;
        for (int c = 0; c < n.n_children; ++c)
            order[n_numbered++] = resolve({p.fragment, n.first_child + c, -1});
        if (n.kind == SplitKind::category_set) {
            const auto& bits = f.sets[static_cast<Size>(n.detail)];
            out.set_bits.insert(out.set_bits.end(), bits.begin(), bits.end());
        } else if (n.kind == SplitKind::multiway) {
            const auto& branch = f.branches[static_cast<Size>(n.detail)];
            out.branch.insert(out.branch.end(), branch.begin(), branch.end());
        } else if (n.kind == SplitKind::linear) {
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

namespace {

/// Call f(entry) for the classes of a leaf.
template <class F>
void for_each_class(const Fragment& f, std::int32_t first, F&& entry) {
    if (first < 0) return;
    const ClassWeight* own = f.class_weights.data() + first;
    for (const ClassWeight* last = own + own->n_more; own <= last; ++own) entry(*own);
}

/// Divide N class weights by w and add the squares of the shares to `sum` in the order of the classes.
template <Size N>
[[gnu::always_inline]] inline double* divide(double* classes, double w, double& sum) {
    typename VectorOf<double, N>::type shares;
    std::memcpy(&shares, classes, sizeof shares);
    if constexpr (N == kLanes)
        if (!any_nonzero(shares)) return classes + N;  // most nodes have few of many classes
    shares /= w;
    std::memcpy(classes, &shares, sizeof shares);
    for (Size k = 0; k < N; ++k) sum += shares[k] * shares[k];
    return classes + N;
}

/// Turn the class weights of a node (n,) into shares of their sum w. Returns its Gini impurity.
double to_shares(double* classes, Size n, double w) {
    double sum = 0;
    double* end = classes + n;
    if (!(w > 0)) {
        std::fill(classes, end, 1.0 / static_cast<double>(n));
        return 0.0;
    }
    while (end - classes >= static_cast<long>(kLanes)) classes = divide<kLanes>(classes, w, sum);
    if (end - classes >= 4) classes = divide<4>(classes, w, sum);
    if (end - classes >= 2) classes = divide<2>(classes, w, sum);
    if (end - classes >= 1) divide<1>(classes, w, sum);
    return std::max(0.0, 1.0 - sum);
}

/// Values, weights and impurities of a tree of NodeValues::of_shares. The class weights of a node are summed
/// in the place of its value, and become shares once its parent has them: children have their places side by
/// side, so all is read and written in one direction.
void describe_shares(FlatTree& out, const std::vector<Fragment>& fragments, const RowVector<NodeRef>& order,
                     Interrupt* interrupt) {
    const auto n_classes = static_cast<Size>(out.width);
    const auto classes_of = [&](Size i) { return out.value.data() + i * n_classes; };
    const auto finish = [&](Size i) { out.impurity[i] = to_shares(classes_of(i), n_classes, out.weight[i]); };
    for (Size i = order.size(); i-- > 0;) {
        poll_at(i, interrupt);
        double *own = classes_of(i), weight = 0;
        std::fill_n(own, n_classes, 0.0);
        if (out.n_children[i] == 0)
            for_each_class(fragments[static_cast<Size>(order[i].fragment)], order[i].values,
                           [&](const ClassWeight& entry) {
                               own[entry.code] = entry.weight;
                               weight += entry.weight;
                           });
        for (int c = 0; c < out.n_children[i]; ++c) {
            const auto child = static_cast<Size>(out.first_child[i] + c);
            const double* added = classes_of(child);
            for (Size k = 0; k < n_classes; ++k) own[k] += added[k];
            weight += out.weight[child];
            finish(child);
        }
        out.weight[i] = weight;
    }
    finish(0);
}

/// The same of any tree.
void describe_nodes(FlatTree& out, std::vector<double>& moments, const std::vector<Fragment>& fragments,
                    const RowVector<NodeRef>& order, const NodeValues& node_values, Interrupt* interrupt) {
    const Size m = static_cast<Size>(node_values.size()), width = out.value.size() / order.size();
    moments.resize(order.size() * m);
    for (Size i = order.size(); i-- > 0;) {
        poll_at(i, interrupt);
        double* own = moments.data() + i * m;
        std::fill_n(own, m, 0.0);
        const Fragment& f = fragments[static_cast<Size>(order[i].fragment)];
        const std::int32_t first = order[i].values;
        if (node_values.exact())
            for_each_class(f, first, [&](const ClassWeight& entry) { own[entry.code] = entry.weight; });
        else if (first >= 0)
            std::copy_n(f.node_values.data() + static_cast<Size>(first) * m, m, own);
        if (node_values.mergeable())
            for (int c = 0; c < out.n_children[i]; ++c)
                node_values.merge(own, moments.data() + static_cast<Size>(out.first_child[i] + c) * m);
        const auto at = static_cast<Size>(order[i].node);
        const auto [lower, upper] =
            at < f.bounds.size() ? f.bounds[at] : std::array{kImpossible, -kImpossible};
        out.weight[i] = node_values.weight(own);
        out.impurity[i] =
            node_values.describe(out.value.data() + i * width, out.width, own, out.weight[i], lower, upper);
    }
}

}  // namespace

void flatten(GrowMemory& memory, const NodeValues& node_values, const Target& target, Interrupt* interrupt) {
    FlatTree& out = memory.tree;
    std::vector<Fragment>& fragments = memory.fragments;
    out.clear_lists();
    out.n_outputs = target.n_outputs;
    out.width = target.task == Task::classification ? target.max_classes() : 1;
    const RowVector<NodeRef> order = lay_out(out, fragments, interrupt);
    if (order.size() > kManyNodes)
        for (Fragment& f : fragments) f.nodes = {};  // free memory for the arrays
    const Size n = order.size();
    out.weight.resize(n);
    out.impurity.resize(n);
    out.value.resize(n * static_cast<Size>(out.n_outputs * out.width));
    const bool bounded =
        std::any_of(fragments.begin(), fragments.end(), [](const Fragment& f) { return !f.bounds.empty(); });
    if (node_values.of_shares() && !bounded)
        describe_shares(out, fragments, order, interrupt);
    else
        describe_nodes(out, memory.moments, fragments, order, node_values, interrupt);
}

namespace {

template <class T>
void concatenate(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
}

/// Append the offsets of the nodes of another tree; no offsets stand for zeros.
void concatenate_offsets(std::vector<std::int64_t>& to, Size n_nodes, const std::vector<std::int64_t>& from,
                         Size n_other) {
    if (to.empty() && from.empty()) return;
    to.resize(n_nodes + 1, 0);
    const std::int64_t end = to.back();
    for (Size i = 1; i <= n_other; ++i) to.push_back(end + (from.empty() ? 0 : from[i]));
}

}  // namespace

void FlatTree::append(const FlatTree& other) {
    if (kind.empty()) {
        n_outputs = other.n_outputs;
        width = other.width;
    }
    const Size n = kind.size(), n_other = other.kind.size();
    concatenate_offsets(set_begin, n, other.set_begin, n_other);
    concatenate_offsets(branch_begin, n, other.branch_begin, n_other);
    concatenate_offsets(term_begin, n, other.term_begin, n_other);
    concatenate(kind, other.kind);
    for (const auto array : {&FlatTree::feature, &FlatTree::first_child, &FlatTree::n_children,
                             &FlatTree::missing, &FlatTree::branch, &FlatTree::term_feature})
        concatenate(this->*array, other.*array);
    for (const auto array : {&FlatTree::threshold, &FlatTree::weight, &FlatTree::impurity, &FlatTree::value,
                             &FlatTree::term_coefficient, &FlatTree::term_fill})
        concatenate(this->*array, other.*array);
    concatenate(n_samples, other.n_samples);
    concatenate(set_bits, other.set_bits);
}

}  // namespace spinney
