// One tree as nodes over raw values, for every kind of split; rows with missing values may be fractional.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predict/ensemble_view.hpp"
#include "predict/input_table.hpp"

namespace spinney {

/// The nodes that rows visit, as compressed sparse rows: row i visits indices[indptr[i]..indptr[i+1]] with
/// these fractions of its weight.
struct DecisionPath {
    std::vector<std::int64_t> indptr, indices;
    std::vector<double> fractions;
};

/// A numeric split with a missing direction in 16 bytes, four per cache line. A leaf is its own child.
struct alignas(16) NumericNode {
    double threshold;
    std::uint32_t feature_missing;  // feature << 1 | (missing values go to child 1)
    Node child;                     // child 0; child 1 follows it

    std::uint32_t feature() const { return feature_missing >> 1; }

    Node next(double x) const {
        const bool missing_right = (feature_missing & 1) != 0;
        return child + static_cast<Node>((x > threshold) | ((x != x) & missing_right));
    }
};

/// Any split; `begin` and `end` delimit its entries in the pool of its kind.
struct AnyNode {
    double threshold;
    double fraction;  // of the weight of its parent
    Node first_child;
    std::int32_t n_children, missing, feature;
    std::uint32_t begin, end;
    SplitKind kind;
};

/// Some rows of a table with contiguous values: borrowed if they are so in the table, else copied.
class RowBlock {
  public:
    static constexpr Size max_rows = 128;

    /// Rows of a block: a copy of many columns is made of fewer rows, to stay in the cache.
    static Size rows_at_once(Size n_features);

    /// features: those that are copied, if any
    void read(const InputTable& table, std::span<const std::uint32_t> features, Size begin, Size n);

    Size size() const { return n_; }
    bool is_float() const { return is_float_; }
    const char* row(Size i) const { return begin_ + static_cast<std::ptrdiff_t>(i) * stride_; }

  private:
    const char* begin_ = nullptr;
    std::ptrdiff_t stride_ = 0;
    Size n_ = 0;
    bool is_float_ = false;  // else double
    std::vector<double> copy_;
};

/// A tree whose values are borrowed.
class NodeTree {
  public:
    /// Lay out the tree at the cursor, and advance the cursor to the next.
    NodeTree(const EnsembleView& trees, Size tree, NodeCursor& cursor);

    /// Write the value of each row.  out (n, n_values)
    void values(double* out, const RowBlock& rows) const;

    /// Write the leaf of each row: the one with the largest fraction, the first of ties.  out (n,) in steps
    /// of `step`
    void apply(std::int32_t* out, Size step, const RowBlock& rows) const;

    /// The class with the largest value per node and output, the first of ties.  n_classes (n_outputs,) ->
    /// (n_nodes, n_outputs)
    std::vector<std::int64_t> best_classes(std::span<const std::int64_t> n_classes) const;

    /// Write the class of each row.  out (n, n_outputs); best: what `best_classes` returned
    void classes(std::int64_t* out, std::span<const std::int64_t> best,
                 std::span<const std::int64_t> n_classes, const RowBlock& rows) const;

    /// Append the nodes that one row visits, in ascending order and numbered from `first_node` on.
    void add_path(DecisionPath& out, std::int64_t first_node, const RowBlock& rows, Size row) const;

  private:
    struct Visit {
        Node node;
        double fraction;
    };
    struct Scratch;
    struct Term {
        double coefficient, fill;
        std::int32_t feature;
    };

    void lay_out_numeric(const EnsembleView& trees, NodeCursor& cursor);
    void lay_out_any(const EnsembleView& trees, NodeCursor& cursor);
    const double* value_of(Node node) const { return value_ + static_cast<Size>(node) * n_values_; }
    void write_best(std::int64_t* out, const double* value, std::span<const std::int64_t> n_classes) const;
    void mix(double* out, std::span<const Visit> ends) const;
    template <class T>
    void walk_numeric(Node* leaves, const RowBlock& rows) const;
    template <class T>
    Node choose_child(const AnyNode& node, const char* row) const;
    template <bool Path, class T>
    void walk_any(Scratch& out, const char* row) const;
    template <class Leaf, class Mixed>
    void for_each_row(const RowBlock& rows, Leaf&& leaf, Mixed&& mixed) const;

    Size n_nodes_, n_values_, width_;
    const double* value_;
    std::vector<NumericNode> numeric_;  // if all splits are numeric and have a missing direction, else nodes_
    std::vector<AnyNode> nodes_;
    std::vector<std::uint64_t> set_bits_;
    std::vector<std::int32_t> branch_;
    std::vector<Term> terms_;
};

}  // namespace spinney
