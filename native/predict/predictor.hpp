// Prediction with an ensemble; a tree is an ensemble of one.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "core/thread_pool.hpp"
#include "predict/bitvector_traversal.hpp"
#include "predict/blocked_traversal.hpp"
#include "predict/node_walk.hpp"
#include "predict/packed_nodes.hpp"

namespace spinney {

/// Which trees to sum, and how.
struct SumPlan {
    Size first_tree = 0, n_trees = 0;
    Size n_stages = 1;  // the trees are divided into equal stages; the sums after each are written
    const double* start = nullptr;  // (n_rows, n_columns), null: 0
};

/// Predicts with the trees of an ensemble; any number of threads may share one.
///
/// With `per_round` = 0 a tree adds all values of a leaf to a row of n_outputs · width sums; else tree t adds
/// its one value to column t % per_round. Sums are in the order of the trees: all layouts give the same bits.
/// Each layout is built at its first use: bit vectors for blocks of rows and small trees, level blocks for
/// many rows and deep trees, packed nodes for few rows, plain nodes for all other kinds of splits and for
/// `values`, `classes`, `decision_path` and the leaves of a single tree.
class Predictor {
  public:
    /// The arrays of `trees` must outlive this.  n_classes (n_outputs,): the part of `width` that each output
    /// uses; empty: all of it
    Predictor(const EnsembleView& trees, Size per_round, std::vector<std::int64_t> n_classes = {});

    Size n_features() const { return trees_.n_features; }
    Size n_trees() const { return trees_.n_trees(); }
    Size n_outputs() const { return trees_.n_outputs; }
    Size width() const { return trees_.width; }
    Size n_columns() const { return per_round_ > 0 ? per_round_ : trees_.n_values(); }  // of sums
    const std::vector<std::uint32_t>& used_features() const { return traits_.used_features; }

    /// Write the sums after each stage.  out (n_stages, n_rows, n_columns)
    void sum(double* out, const InputTable& table, const SumPlan& plan, int n_threads,
             Interrupt* interrupt = nullptr);

    /// Write the leaf of each row in each tree: for a fractional row the one with the largest fraction, the
    /// first of ties.  out (n_rows, n_trees)
    void apply(std::int32_t* out, const InputTable& table, int n_threads, Interrupt* interrupt = nullptr);

    /// Write the values of the first tree.  out (n_rows, n_outputs, width)
    void values(double* out, const InputTable& table, int n_threads, Interrupt* interrupt = nullptr);

    /// Write the class with the largest value of the first tree, the first of ties.  out (n_rows, n_outputs)
    void classes(std::int64_t* out, const InputTable& table, int n_threads, Interrupt* interrupt = nullptr);

    /// List the nodes of all trees that each row visits.
    DecisionPath decision_path(const InputTable& table, int n_threads, Interrupt* interrupt = nullptr);

  private:
    // One per layout: prepares some rows, then adds trees or finds leaves.
    struct BitvectorWalker;
    struct BlockedWalker;
    struct PackedWalker;
    struct NodeWalker;

    void choose_layouts(int n_threads);
    void make_nodes();
    template <class F>
    void run(const InputTable& table, int n_threads, Interrupt* interrupt, F&& f);
    template <class Walker, class F>
    void run_walker(const InputTable& table, int n_threads, Interrupt* interrupt, F&& f) const;
    template <class F>
    void for_row_blocks(const InputTable& table, int n_threads, Interrupt* interrupt, F&& f);
    template <class ValueOf>
    void add_tree(double* sums, Size t, Size n, ValueOf&& value_of) const;

    EnsembleView trees_;
    EnsembleTraits traits_;
    Size per_round_;
    std::once_flag chosen_, bitvectors_made_, blocked_made_, packed_made_, nodes_made_, best_made_;
    bool with_packed_ = false, with_bitvectors_ = false, with_blocked_ = false;
    std::optional<EnsembleCodes> codes_;
    std::optional<BitvectorTrees> bitvectors_;
    std::optional<BlockedTrees> blocked_;
    std::optional<PackedTrees> packed_;
    std::vector<NodeTree> nodes_;                 // (n_trees,)
    std::vector<std::int64_t> n_classes_, best_;  // of the first tree
};

}  // namespace spinney
