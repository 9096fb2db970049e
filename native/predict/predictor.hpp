// Prediction with an ensemble; a tree is an ensemble of one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/thread_pool.hpp"
#include "predict/ensemble_view.hpp"
#include "predict/input_table.hpp"
#include "predict/node_walk.hpp"

namespace spinney {

/// Which trees to sum, and how.
struct SumPlan {
    Size first_tree = 0, n_trees = 0;
    Size n_stages = 1;  // the trees are divided into equal stages; the sums after each are written
    const double* weights = nullptr;  // (all trees,), null: 1
    const double* start = nullptr;    // (n_rows, n_columns), null: 0

    double weight(Size t) const { return weights ? weights[t] : 1.0; }
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
    ~Predictor();

    Size n_features() const;
    Size n_trees() const;
    Size n_outputs() const;
    Size width() const;
    Size n_columns() const;  // of sums
    const std::vector<std::uint32_t>& used_features() const;

    /// Write the sums after each stage.  out (n_stages, n_rows, n_columns)
    void sum(double* out, const InputTable& table, const SumPlan& plan, int n_threads,
             Interrupt* interrupt = nullptr);

    /// Write the leaf of each row in the first n_trees trees: for a fractional row the one with the largest
    /// fraction, the first of ties.  out (n_rows, n_trees)
    void apply(std::int32_t* out, const InputTable& table, Size n_trees, int n_threads,
               Interrupt* interrupt = nullptr);

    /// Write the values of the first tree.  out (n_rows, n_outputs, width)
    void values(double* out, const InputTable& table, int n_threads, Interrupt* interrupt = nullptr);

    /// Write the class with the largest value of the first tree, the first of ties.  out (n_rows, n_outputs)
    void classes(std::int64_t* out, const InputTable& table, int n_threads, Interrupt* interrupt = nullptr);

    /// List the nodes of all trees that each row visits.
    DecisionPath decision_path(const InputTable& table, int n_threads, Interrupt* interrupt = nullptr);

  private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace spinney
