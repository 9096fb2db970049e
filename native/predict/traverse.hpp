// Sends rows down fitted trees: the walks over one tree and one block of rows, and the Predictor that drives
// them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/types.hpp"
#include "data/code_matrix.hpp"
#include "core/thread_pool.hpp"
#include "predict/tree_layout.hpp"

namespace spinney {

/// The rows to predict. `row_major` says that each row's values lie side by side, so that rows need not be
/// copied.
struct InputTable {
    std::span<const InputColumn> columns;  // (n_features,); data may be null where no tree looks
    Size n_rows = 0;
    bool row_major = false;
};

/// A block of rows that a walk reads: value j of row i is at begin + i * stride + j * sizeof(T).
template <class T>
struct RowBlock {
    const char* begin;
    std::ptrdiff_t stride;

    const char* row(Size i) const { return begin + static_cast<std::ptrdiff_t>(i) * stride; }
    static double at(const char* row, std::uint32_t feature) {
        T value;  // memcpy: an input array need not be aligned
        std::memcpy(&value, row + static_cast<Size>(feature) * sizeof(T), sizeof(T));
        return static_cast<double>(value);
    }
};

/// Read a column as numbers, NaN for a missing value.  out (n,) in steps of `step`
inline void read_column(double* out, Size step, const InputColumn& column, Size begin, Size n) {
    const char* at =
        static_cast<const char*>(column.data) + static_cast<std::ptrdiff_t>(begin) * column.stride;
    const auto read = [&]<class T>(T) {
        for (Size i = 0; i < n; ++i, at += column.stride) {
            T value;
            std::memcpy(&value, at, sizeof(T));
            out[i * step] = static_cast<double>(value);
            if (std::is_same_v<T, std::int32_t> && value < 0) {
                out[i * step] = std::numeric_limits<double>::quiet_NaN();
            }
        }
    };
    switch (column.type) {
        case InputColumn::Type::f32:
            return read(float{});
        case InputColumn::Type::f64:
            return read(double{});
        case InputColumn::Type::category:
            return read(std::int32_t{});
    }
}

/// A part of a row's weight that has come to a node.
struct Visit {
    Node node;
    double share;
};

/// Find the leaf of each row of a block. Several rows are under way at once, so that one's waiting for memory
/// is another's time to compare; those at a leaf stay there.  leaves (n,)
template <class T>
void walk_packed(Node* leaves, const std::vector<PackedNode>& packed, const RowBlock<T>& rows, Size n) {
    constexpr Size lanes = 8;
    const PackedNode* const nodes = packed.data();
    if (packed.size() == 1) return std::fill_n(leaves, n, Node{0}), void();
    for (Size begin = 0; begin < n; begin += lanes) {
        const Size here = std::min(lanes, n - begin);
        const char* row[lanes];
        Node at[lanes] = {};
        // Lanes without a row of their own follow the first.
        for (Size k = 0; k < lanes; ++k) row[k] = rows.row(begin + (k < here ? k : 0));
        if (here == 1) {
            for (Node next; (next = nodes[at[0]].next(rows.at(row[0], nodes[at[0]].feature()))) != at[0];)
                at[0] = next;
            leaves[begin] = at[0];
            continue;
        }
        for (Node moved = 1; moved != 0;) {
            moved = 0;
#pragma GCC unroll 8
            for (Size k = 0; k < lanes; ++k) {
                const PackedNode& node = nodes[at[k]];
                const Node next = node.next(rows.at(row[k], node.feature()));
                moved |= next ^ at[k];
                at[k] = next;
            }
        }
        std::copy_n(at, here, leaves + begin);
    }
}

namespace detail {

inline constexpr Node ends_here = -1, is_missing = -2;

/// The child (0-based) that a row goes to, `ends_here` or `is_missing`.
template <class T>
Node choose_child(const TreeLayout& tree, const AnyNode& node, const char* row) {
    if (node.kind == TestKind::leaf) return ends_here;
    if (node.kind == TestKind::linear) {
        double sum = 0;
        for (std::uint32_t i = node.begin; i < node.end; ++i) {
            const auto& term = tree.terms[i];
            const double x = RowBlock<T>::at(row, static_cast<std::uint32_t>(term.feature));
            sum += term.coefficient * (x == x ? x : term.fill);
        }
        return sum <= node.threshold ? 0 : 1;
    }
    const double x = RowBlock<T>::at(row, static_cast<std::uint32_t>(node.feature));
    if (x != x) return is_missing;
    if (node.kind == TestKind::numeric) return x <= node.threshold ? 0 : 1;
    if (x < 0) return is_missing;
    // Beyond every list there is; also keeps the conversion defined.
    const std::uint64_t code = x < 4294967296.0 ? static_cast<std::uint64_t>(x) : ~0ull;
    if (node.kind == TestKind::category_set) {
        const std::uint64_t word = code / 64;
        return word < node.end - node.begin && (tree.set_bits[node.begin + word] >> code % 64 & 1) ? 0 : 1;
    }
    return code < node.end - node.begin ? tree.branch[node.begin + code] : ends_here;
}

}  // namespace detail

/// What a walk with shares needs; kept by a thread from row to row.
struct VisitScratch {
    std::vector<Visit> waiting, ends, reached;
};

/// Send one row down any tree. `ends` gets the nodes that answer, in order; with Path, `reached` all nodes on
/// the way.
template <bool Path, class T>
void walk_any(VisitScratch& out, const TreeLayout& tree, const char* row) {
    out.waiting.assign(1, {0, 1.0});
    out.ends.clear();
    out.reached.clear();
    while (!out.waiting.empty()) {
        Visit visit = out.waiting.back();
        out.waiting.pop_back();
        for (;;) {
            if (Path) out.reached.push_back(visit);
            const AnyNode& node = tree.nodes[static_cast<Size>(visit.node)];
            Node child = detail::choose_child<T>(tree, node, row);
            if (child == detail::ends_here) {
                out.ends.push_back(visit);
                break;
            }
            if (child == detail::is_missing) child = node.missing;
            if (child >= 0) {
                visit.node = node.first_child + child;
                continue;
            }
            for (Node c = 0; c < node.n_children; ++c) {
                const Node to = node.first_child + c;
                out.waiting.push_back({to, visit.share * tree.nodes[static_cast<Size>(to)].share});
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

/// The compressed rows of a decision path: row i visits indices[indptr[i]..indptr[i+1]] with those shares.
struct DecisionPath {
    std::vector<std::int64_t> indptr, indices;
    std::vector<double> shares;
};

/// Predicts with one tree; immutable, so any number of threads may use one at once.
class Predictor {
  public:
    /// value (n_nodes, n_outputs, width); n_classes (n_outputs,), the part of width that each output uses
    Predictor(const TreeView& tree, std::span<const double> value, Size n_outputs, Size width,
              std::span<const std::int64_t> n_classes)
        : tree_(tree), value_(value.begin(), value.end()), n_outputs_(n_outputs), width_(width) {
        if (value.size() != tree_.size() * n_outputs * width || width == 0 || n_classes.size() != n_outputs) {
            throw std::invalid_argument("value must be (n_nodes, n_outputs, width), n_classes (n_outputs,)");
        }
        for (auto k : n_classes) {
            if (k < 1 || static_cast<Size>(k) > width)
                throw std::invalid_argument("n_classes exceeds the width");
        }
        n_classes_.assign(n_classes.begin(), n_classes.end());
        best_.resize(tree_.size() * n_outputs);
        for (Size t = 0; t < tree_.size(); ++t) best_classes(&best_[t * n_outputs], value_of(t));
    }

    Size n_features() const { return tree_.n_features; }
    Size n_outputs() const { return n_outputs_; }
    Size n_values() const { return n_outputs_ * width_; }
    Size width() const { return width_; }
    const std::vector<std::uint32_t>& used_features() const { return tree_.used_features; }

    /// Write each row's value.  out (n_rows, n_outputs, width)
    void values(double* out, const InputTable& table, int n_threads, Interrupt* interrupt = nullptr) const {
        const Size k = n_values();
        for_each_row(
            table, n_threads, interrupt,
            [&](Size row, Node leaf) { std::copy_n(value_of(static_cast<Size>(leaf)), k, out + row * k); },
            [&](Size row, std::span<const Visit> ends) { mix(out + row * k, ends); });
    }

    /// Write the node that answers for each row: of several the one with the largest share, if tied the
    /// first.  out (n_rows,)
    void apply(std::int64_t* out, const InputTable& table, int n_threads,
               Interrupt* interrupt = nullptr) const {
        for_each_row(
            table, n_threads, interrupt, [&](Size row, Node leaf) { out[row] = leaf; },
            [&](Size row, std::span<const Visit> ends) {
                const auto less = [](const Visit& a, const Visit& b) { return a.share < b.share; };
                out[row] = std::max_element(ends.begin(), ends.end(), less)->node;
            });
    }

    /// Write the class with the largest value, if tied the first.  out (n_rows, n_outputs)
    void classes(std::int64_t* out, const InputTable& table, int n_threads,
                 Interrupt* interrupt = nullptr) const {
        const Size k = n_outputs_;
        for_each_row(
            table, n_threads, interrupt,
            [&](Size row, Node leaf) {
                for (Size o = 0; o < k; ++o) out[row * k + o] = best_[static_cast<Size>(leaf) * k + o];
            },
            [&](Size row, std::span<const Visit> ends) {
                std::vector<double> value(n_values());
                mix(value.data(), ends);
                best_classes(out + row * k, value.data());
            });
    }

    /// List the nodes each row visits, with the share of the row that does.
    DecisionPath decision_path(const InputTable& table, int n_threads, Interrupt* interrupt = nullptr) const {
        std::vector<DecisionPath> parts((table.n_rows + rows_of_task - 1) / rows_of_task);
        for_each_block(table, n_threads, interrupt, [&](auto rows, Size begin, Size n, State& state) {
            DecisionPath& part = parts[begin / rows_of_task];
            for (Size i = 0; i < n; ++i) {
                reach(state.visits, rows, i);
                for (const Visit& visit : state.visits.reached) {
                    part.indices.push_back(visit.node);
                    part.shares.push_back(visit.share);
                }
                part.indptr.push_back(static_cast<std::int64_t>(part.indices.size()));
            }
        });
        DecisionPath path;
        path.indptr.push_back(0);
        for (const DecisionPath& part : parts) {
            const auto before = path.indptr.back();
            for (auto end : part.indptr) path.indptr.push_back(before + end);
            path.indices.insert(path.indices.end(), part.indices.begin(), part.indices.end());
            path.shares.insert(path.shares.end(), part.shares.begin(), part.shares.end());
        }
        return path;
    }

  private:
    static constexpr Size rows_of_task = 1024, max_block = 128;

    struct State {
        std::vector<double> copy;  // (rows, n_features) of a block whose rows do not lie side by side
        VisitScratch visits;
    };

    const double* value_of(Size node) const { return value_.data() + node * n_values(); }

    void best_classes(std::int64_t* out, const double* value) const {
        for (Size o = 0; o < n_outputs_; ++o) {
            const double* begin = value + o * width_;
            out[o] = std::max_element(begin, begin + n_classes_[o]) - begin;
        }
    }

    void mix(double* out, std::span<const Visit> ends) const {
        std::fill_n(out, n_values(), 0.0);
        for (const Visit& end : ends) {
            const double* value = value_of(static_cast<Size>(end.node));
            for (Size k = 0; k < n_values(); ++k) out[k] += end.share * value[k];
        }
    }

    // Calls f(rows, begin, n, state) for blocks of rows, reading the input in place where it can be.
    template <class F>
    void for_each_block(const InputTable& table, int n_threads, Interrupt* interrupt, F&& f) const {
        const Size n_tasks = (table.n_rows + rows_of_task - 1) / rows_of_task;
        // A wide copy is made of fewer rows, to stay in the cache.
        const Size block = std::clamp<Size>(16384 / std::max<Size>(n_features(), 1), 8, max_block);
        const auto task = [&](Size t, int) {
            State state;
            const Size end = std::min(table.n_rows, (t + 1) * rows_of_task);
            for (Size begin = t * rows_of_task; begin < end; begin += block) {
                const Size n = std::min(block, end - begin);
                if (!table.row_major || table.columns.empty()) {
                    f(copy_rows(state.copy, table, begin, n), begin, n, state);
                    continue;
                }
                const InputColumn& first = table.columns[0];
                const char* data =
                    static_cast<const char*>(first.data) + static_cast<std::ptrdiff_t>(begin) * first.stride;
                if (first.type == InputColumn::Type::f32) {
                    f(RowBlock<float>{data, first.stride}, begin, n, state);
                } else {
                    f(RowBlock<double>{data, first.stride}, begin, n, state);
                }
            }
        };
        if (n_tasks == 1) return task(0, 0);
        Pool::shared().parallel_for(n_threads, n_tasks, task, interrupt);
    }

    RowBlock<double> copy_rows(std::vector<double>& copy, const InputTable& table, Size begin, Size n) const {
        const Size d = std::max<Size>(n_features(), 1);
        if (copy.size() < n * d) copy.resize(n * d);
        for (auto j : tree_.used_features) read_column(copy.data() + j, d, table.columns[j], begin, n);
        return {reinterpret_cast<const char*>(copy.data()), static_cast<std::ptrdiff_t>(d * sizeof(double))};
    }

    // Calls leaf(row, node) for a row that ends at one node, mixed(row, ends) for one that ends at several.
    template <class Leaf, class Mixed>
    void for_each_row(const InputTable& table, int n_threads, Interrupt* interrupt, Leaf&& leaf,
                      Mixed&& mixed) const {
        for_each_block(table, n_threads, interrupt,
                       [&]<class T>(RowBlock<T> rows, Size begin, Size n, State& state) {
                           if (tree_.simple()) {
                               Node leaves[max_block];
                               walk_packed(leaves, tree_.packed, rows, n);
                               for (Size i = 0; i < n; ++i) leaf(begin + i, leaves[i]);
                               return;
                           }
                           for (Size i = 0; i < n; ++i) {
                               walk_any<false, T>(state.visits, tree_, rows.row(i));
                               const std::span<const Visit> ends = state.visits.ends;
                               const bool whole = ends.size() == 1 && ends[0].share == 1.0;
                               whole ? leaf(begin + i, ends[0].node) : mixed(begin + i, ends);
                           }
                       });
    }

    template <class T>
    void reach(VisitScratch& out, const RowBlock<T>& rows, Size i) const {
        const char* row = rows.row(i);
        if (!tree_.simple()) return walk_any<true, T>(out, tree_, row);
        out.reached.assign(1, {0, 1.0});
        if (tree_.size() == 1) return;
        for (Node at = 0;;) {
            const PackedNode& node = tree_.packed[static_cast<Size>(at)];
            const Node next = node.next(rows.at(row, node.feature()));
            if (next == at) return;
            out.reached.push_back({next, 1.0});
            at = next;
        }
    }

    TreeLayout tree_;
    std::vector<double> value_;
    Size n_outputs_, width_;
    std::vector<std::int64_t> n_classes_, best_;
};

}  // namespace spinney
