#include "predict/node_walk.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace spinney {

namespace {

constexpr Node ends_here = -1, is_missing = -2;

/// The value of a feature in a row of Ts.
template <class T>
double value_at(const char* row, std::uint32_t feature) {
    T value;  // memcpy: an input array need not be aligned
    std::memcpy(&value, row + static_cast<Size>(feature) * sizeof(T), sizeof(T));
    return static_cast<double>(value);
}

/// Call f with a number of the type of the values.
template <class F>
void with_type(const RowBlock& rows, F&& f) {
    rows.is_float() ? f(float{}) : f(double{});
}

}  // namespace

/// Memory of a call, reused from row to row.
struct NodeTree::Scratch {
    std::vector<Visit> waiting, ends, reached;
};

// ---- rows ----

Size RowBlock::rows_at_once(Size n_features) {
    return std::clamp<Size>(16384 / std::max<Size>(n_features, 1), 8, max_rows);
}

void RowBlock::read(const InputTable& table, std::span<const std::uint32_t> features, Size begin, Size n) {
    n_ = n;
    if (table.row_major && !table.columns.empty()) {
        const InputColumn& column = table.columns[0];
        is_float_ = column.type == InputColumn::Type::f32;
        stride_ = column.stride;
        begin_ = static_cast<const char*>(column.data) + static_cast<std::ptrdiff_t>(begin) * stride_;
        return;
    }
    is_float_ = false;
    const Size d = table.columns.size();
    copy_.resize(std::max(copy_.size(), n * d));
    for (const std::uint32_t j : features) read_values(copy_.data() + j, d, table.columns[j], begin, n);
    begin_ = reinterpret_cast<const char*>(copy_.data());
    stride_ = static_cast<std::ptrdiff_t>(d * sizeof(double));
}

// ---- layout ----

NodeTree::NodeTree(const EnsembleView& trees, Size tree, NodeCursor& cursor)
    : n_nodes_(trees.size(tree)),
      n_values_(trees.n_values()),
      width_(trees.width),
      value_(trees.value.data() + cursor.node * n_values_) {
    bool numeric = true;
    for (Size i = cursor.node; i < cursor.node + n_nodes_; ++i) {
        const SplitKind kind = trees.split(i);
        numeric &= kind == SplitKind::leaf || (kind == SplitKind::numeric && trees.missing(i) >= 0);
    }
    cursor.enter_tree();
    numeric ? lay_out_numeric(trees, cursor) : lay_out_any(trees, cursor);
}

void NodeTree::lay_out_numeric(const EnsembleView& trees, NodeCursor& cursor) {
    numeric_.resize(n_nodes_);
    for (Size t = 0; t < n_nodes_; ++t, cursor.advance(trees)) {
        const Size i = cursor.node;
        if (trees.split(i) == SplitKind::leaf) {
            numeric_[t] = {std::numeric_limits<double>::infinity(), 0, static_cast<Node>(t)};
            continue;
        }
        const auto feature = static_cast<std::uint32_t>(trees.feature[i]);
        numeric_[t] = {trees.threshold[i], feature << 1 | (trees.missing(i) == 1 ? 1u : 0u),
                       cursor.first_child};
    }
}

void NodeTree::lay_out_any(const EnsembleView& trees, NodeCursor& cursor) {
    const Size first = cursor.node;
    const auto set = trees.set_begin[cursor.n_sets], branch = trees.branch_begin[cursor.n_multiway],
               term = trees.term_begin[cursor.n_linear];
    nodes_.resize(n_nodes_);
    nodes_[0].fraction = 1;
    for (Size t = 0; t < n_nodes_; ++t, cursor.advance(trees)) {
        const Size i = cursor.node;
        AnyNode& node = nodes_[t];
        const SplitKind kind = trees.split(i);
        node = {trees.threshold[i],
                node.fraction,
                cursor.first_child,
                cursor.n_children(trees),
                trees.missing(i),
                trees.feature[i],
                0,
                0,
                kind};
        const auto pool = [&](std::span<const std::int64_t> begin, Size entry, std::int64_t offset) {
            node.begin = static_cast<std::uint32_t>(begin[entry] - offset);
            node.end = static_cast<std::uint32_t>(begin[entry + 1] - offset);
        };
        if (kind == SplitKind::category_set) pool(trees.set_begin, cursor.n_sets, set);
        if (kind == SplitKind::multiway) pool(trees.branch_begin, cursor.n_multiway, branch);
        if (kind == SplitKind::linear) pool(trees.term_begin, cursor.n_linear, term);
        for (Node c = 0; c < node.n_children; ++c) {
            const auto child = static_cast<Size>(node.first_child + c);
            const double weight = trees.weight[i];
            nodes_[child].fraction =
                weight > 0 ? trees.weight[first + child] / weight : 1.0 / node.n_children;
        }
    }
    set_bits_.assign(trees.set_bits.begin() + set, trees.set_bits.begin() + trees.set_begin[cursor.n_sets]);
    branch_.assign(trees.branch.begin() + branch,
                   trees.branch.begin() + trees.branch_begin[cursor.n_multiway]);
    for (auto i = term; i < trees.term_begin[cursor.n_linear]; ++i) {
        const auto at = static_cast<Size>(i);
        terms_.push_back({trees.term_coefficient[at], trees.term_fill[at], trees.term_feature[at]});
    }
}

// ---- walks ----

/// Find the leaf of each row of a block. Eight rows are walked at once to hide memory latency; those at a
/// leaf stay there.  leaves (n,)
template <class T>
void NodeTree::walk_numeric(Node* leaves, const RowBlock& rows) const {
    constexpr Size lanes = 8;
    const Size n = rows.size();
    const NumericNode* const nodes = numeric_.data();
    if (n_nodes_ == 1) return std::fill_n(leaves, n, Node{0}), void();
    for (Size begin = 0; begin < n; begin += lanes) {
        const Size here = std::min(lanes, n - begin);
        const char* row[lanes];
        Node at[lanes] = {};
        // Lanes without a row repeat the first.
        for (Size k = 0; k < lanes; ++k) row[k] = rows.row(begin + (k < here ? k : 0));
        if (here == 1) {
            for (Node next; (next = nodes[at[0]].next(value_at<T>(row[0], nodes[at[0]].feature()))) != at[0];)
                at[0] = next;
            leaves[begin] = at[0];
            continue;
        }
        for (Node moved = 1; moved != 0;) {
            moved = 0;
#pragma GCC unroll 8
            for (Size k = 0; k < lanes; ++k) {
                const NumericNode& node = nodes[at[k]];
                const Node next = node.next(value_at<T>(row[k], node.feature()));
                moved |= next ^ at[k];
                at[k] = next;
            }
        }
        std::copy_n(at, here, leaves + begin);
    }
}

/// The child (0-based) that a row goes to, `ends_here` or `is_missing`.
template <class T>
Node NodeTree::choose_child(const AnyNode& node, const char* row) const {
    if (node.kind == SplitKind::leaf) return ends_here;
    if (node.kind == SplitKind::linear) {
        double sum = 0;
        for (std::uint32_t i = node.begin; i < node.end; ++i) {
            const Term& term = terms_[i];
            const double x = value_at<T>(row, static_cast<std::uint32_t>(term.feature));
            sum += term.coefficient * (x == x ? x : term.fill);
        }
        return sum <= node.threshold ? 0 : 1;
    }
    const double x = value_at<T>(row, static_cast<std::uint32_t>(node.feature));
    if (x != x) return is_missing;
    if (node.kind == SplitKind::numeric) return x <= node.threshold ? 0 : 1;
    if (x < 0) return is_missing;
    // The limit is beyond every set and keeps the conversion defined.
    const std::uint64_t code = x < 4294967296.0 ? static_cast<std::uint64_t>(x) : ~0ull;
    if (node.kind == SplitKind::category_set) {
        const std::uint64_t word = code / 64;
        return word < node.end - node.begin && (set_bits_[node.begin + word] >> code % 64 & 1) ? 0 : 1;
    }
    return code < node.end - node.begin ? branch_[node.begin + code] : ends_here;
}

/// Walk one row down any tree. `ends` gets the nodes that predict, in order; with Path, `reached` all nodes
/// on the way.
template <bool Path, class T>
void NodeTree::walk_any(Scratch& out, const char* row) const {
    out.waiting.assign(1, {0, 1.0});
    out.ends.clear();
    out.reached.clear();
    while (!out.waiting.empty()) {
        Visit visit = out.waiting.back();
        out.waiting.pop_back();
        for (;;) {
            if (Path) out.reached.push_back(visit);
            const AnyNode& node = nodes_[static_cast<Size>(visit.node)];
            Node child = choose_child<T>(node, row);
            if (child == ends_here) {
                out.ends.push_back(visit);
                break;
            }
            if (child == is_missing) child = node.missing;
            if (child >= 0) {
                visit.node = node.first_child + child;
                continue;
            }
            for (Node c = 0; c < node.n_children; ++c) {
                const Node to = node.first_child + c;
                out.waiting.push_back({to, visit.fraction * nodes_[static_cast<Size>(to)].fraction});
            }
            break;
        }
    }
    const auto by_node = [](const Visit& a, const Visit& b) { return a.node < b.node; };
    if (out.ends.size() > 1) {  // only then is anything out of order
        std::sort(out.ends.begin(), out.ends.end(), by_node);
        std::sort(out.reached.begin(), out.reached.end(), by_node);
    }
}

/// Call leaf(row, node) for a row that ends in one leaf, mixed(row, ends) for a fractional one.
template <class Leaf, class Mixed>
void NodeTree::for_each_row(const RowBlock& rows, Leaf&& leaf, Mixed&& mixed) const {
    with_type(rows, [&]<class T>(T) {
        if (!numeric_.empty()) {
            Node leaves[RowBlock::max_rows];
            walk_numeric<T>(leaves, rows);
            for (Size i = 0; i < rows.size(); ++i) leaf(i, leaves[i]);
            return;
        }
        Scratch scratch;
        for (Size i = 0; i < rows.size(); ++i) {
            walk_any<false, T>(scratch, rows.row(i));
            const std::span<const Visit> ends = scratch.ends;
            const bool whole = ends.size() == 1 && ends[0].fraction == 1.0;
            whole ? leaf(i, ends[0].node) : mixed(i, ends);
        }
    });
}

// ---- results ----

void NodeTree::mix(double* out, std::span<const Visit> ends) const {
    std::fill_n(out, n_values_, 0.0);
    for (const Visit& end : ends) {
        const double* value = value_of(end.node);
        for (Size k = 0; k < n_values_; ++k) out[k] += end.fraction * value[k];
    }
}

void NodeTree::values(double* out, const RowBlock& rows) const {
    const Size k = n_values_;
    for_each_row(
        rows, [&](Size row, Node leaf) { std::copy_n(value_of(leaf), k, out + row * k); },
        [&](Size row, std::span<const Visit> ends) { mix(out + row * k, ends); });
}

void NodeTree::apply(std::int32_t* out, Size step, const RowBlock& rows) const {
    for_each_row(
        rows, [&](Size row, Node leaf) { out[row * step] = leaf; },
        [&](Size row, std::span<const Visit> ends) {
            const auto less = [](const Visit& a, const Visit& b) { return a.fraction < b.fraction; };
            out[row * step] = std::max_element(ends.begin(), ends.end(), less)->node;
        });
}

void NodeTree::write_best(std::int64_t* out, const double* value,
                          std::span<const std::int64_t> n_classes) const {
    for (Size o = 0; o < n_classes.size(); ++o, value += width_)
        out[o] = std::max_element(value, value + n_classes[o]) - value;
}

std::vector<std::int64_t> NodeTree::best_classes(std::span<const std::int64_t> n_classes) const {
    std::vector<std::int64_t> out(n_nodes_ * n_classes.size());
    for (Size t = 0; t < n_nodes_; ++t)
        write_best(&out[t * n_classes.size()], value_of(static_cast<Node>(t)), n_classes);
    return out;
}

void NodeTree::classes(std::int64_t* out, std::span<const std::int64_t> best,
                       std::span<const std::int64_t> n_classes, const RowBlock& rows) const {
    const Size k = n_classes.size();
    for_each_row(
        rows,
        [&](Size row, Node leaf) {
            for (Size o = 0; o < k; ++o) out[row * k + o] = best[static_cast<Size>(leaf) * k + o];
        },
        [&](Size row, std::span<const Visit> ends) {
            std::vector<double> value(n_values_);
            mix(value.data(), ends);
            write_best(out + row * k, value.data(), n_classes);
        });
}

void NodeTree::add_path(DecisionPath& out, std::int64_t first_node, const RowBlock& rows, Size i) const {
    const auto append = [&](const Visit& visit) {
        out.indices.push_back(first_node + visit.node);
        out.fractions.push_back(visit.fraction);
    };
    const char* row = rows.row(i);
    with_type(rows, [&]<class T>(T) {
        if (numeric_.empty()) {
            Scratch scratch;
            walk_any<true, T>(scratch, row);
            for (const Visit& visit : scratch.reached) append(visit);
            return;
        }
        append({0, 1.0});
        for (Node at = 0, next; n_nodes_ > 1; at = next) {
            const NumericNode& node = numeric_[static_cast<Size>(at)];
            next = node.next(value_at<T>(row, node.feature()));
            if (next == at) break;
            append({next, 1.0});
        }
    });
}

}  // namespace spinney
