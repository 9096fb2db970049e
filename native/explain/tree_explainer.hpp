// SHAP values of the trees of an ensemble: blocks of rows, threads, and results in the caller's layout.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/thread_pool.hpp"
#include "explain/explained_tree.hpp"
#include "explain/gauss_legendre.hpp"
#include "predict/ensemble_view.hpp"
#include "predict/input_table.hpp"

namespace spinney {

/// Points that replace the values of some columns.  values (features, n_points)
struct GridPoints {
    std::span<const std::uint32_t> features;
    const double* values = nullptr;
    Size n_points = 0;
};

/// The bits of all results depend neither on the number of threads nor on the vector level.
class TreeExplainer {
  public:
    /// per_round: 0 if every tree has values of all outputs, else tree t adds to output t % per_round.
    /// owner (n_features of the trees,): the feature, below n_owners, that gets a column's contributions
    TreeExplainer(const EnsembleView& trees, Size per_round, std::vector<std::uint32_t> owner, Size n_owners);

    Size n_features() const { return trees_.n_features; }
    Size n_owners() const { return n_owners_; }
    Size n_outputs() const { return per_round_ ? per_round_ : trees_.n_values(); }
    const std::vector<std::uint32_t>& used_features() const { return used_; }

    /// The mean prediction by training weight.  (n_outputs,)
    const std::vector<double>& base() const { return base_; }

    /// Path-dependent SHAP values.  out (n_rows, n_owners, n_outputs)
    void values(double* out, const InputTable& table, int n_threads, Interrupt* interrupt) const;

    /// Path-dependent interaction values.  out (n_rows, n_owners, n_owners, n_outputs)
    void interactions(double* out, const InputTable& table, int n_threads, Interrupt* interrupt) const;

    /// SHAP values with the features of background rows in place of absent ones, averaged over these rows.
    /// out (n_rows, n_owners, n_outputs); base (n_outputs,)
    void interventional(double* out, double* base, const InputTable& table, const InputTable& background,
                        int n_threads, Interrupt* interrupt) const;

    /// The outputs of all rows at each point of a grid: of each row, out (n_rows, n_points, n_outputs), or
    /// their sum, out (n_points, n_outputs).
    void responses(double* out, bool individual, const InputTable& table, const GridPoints& grid,
                   int n_threads, Interrupt* interrupt) const;

  private:
    struct Block;
    template <bool Pairs>
    void run(double* out, const InputTable& table, int n_threads, Interrupt* interrupt) const;
    Size output_of(Size tree) const { return per_round_ ? tree % per_round_ : 0; }
    void read_tree(ExplainedTree& to, Size tree) const {
        to.read(trees_, tree, cursors_[tree], column_of_, compact_of_);
    }
    void write_values(double* out, const Block& block) const;
    void write_pairs(double* out, const Block& block) const;

    EnsembleView trees_;
    Size per_round_, n_owners_;
    std::vector<NodeCursor> cursors_;        // where each tree begins
    std::vector<std::uint32_t> used_;        // columns that are read, ascending
    std::vector<std::uint32_t> column_of_;   // (n_features,): index into used_
    std::vector<std::uint32_t> owners_;      // features with contributions, ascending
    std::vector<std::uint32_t> compact_of_;  // (n_features,): index into owners_
    std::vector<double> base_;
    std::vector<Quadrature> rules_;  // by number of points
};

}  // namespace spinney
